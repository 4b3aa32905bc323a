"""What clients of the toolset `llm` can read beside jobs: sessions, models, figures, cache use and a guide. No prompt, no answer."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from bide.api import Jobs
from bide.mcpserver.guidance import GUIDE, GUIDE_URI
from bide.mcpserver.resources import Resource
from bide.mcpserver.tool import Caller
from bide.mcpserver.toolsets import llmtext
from bide.mcpserver.toolsets.llmfields import CLIS
from bide.model.errors import BadRequest, ConversationNotFound

SCHEMES = ("cache_state", "cache-state", "skills", "sessions", "models", "metrics")
"""An underscore is not legal in a scheme, so that both spellings are read."""
_JSON = "application/json"
_METRICS = "metrics://performance"

LISTED = (
    Resource("cache_state://global", "Caches of LLM providers", "how well they served in the last day", _JSON),
    Resource("sessions://all", "Sessions", "your conversations with all CLIs", _JSON),
    *(Resource(f"sessions://{cli}", f"Sessions of {cli}", "your conversations with it", _JSON) for cli in CLIS),
    *(Resource(f"models://{cli}", f"Models of {cli}", "those known by name", _JSON) for cli in CLIS),
    Resource(_METRICS, "Performance", "counts, times and success rates of requests", _JSON),
    Resource(GUIDE_URI, "Asking other LLMs", "how to ask, wait and review", "text/markdown"),
)
TEMPLATES = {
    "cache_state://session/{id}": ("Caches of a conversation", "how well they served it", _JSON),
    "cache_state://prefix/{hash}": ("Caches of a stable prefix", "how well they served it", _JSON),
}


async def read(jobs: Jobs, caller: Caller, uri: str) -> tuple[str, str]:
    """Return the kind and the text of a resource. Raises BadRequest."""
    if uri == GUIDE_URI:
        return "text/markdown", GUIDE
    scheme, _, path = uri.partition("://")
    if uri == _METRICS:
        found = await jobs.llm.metrics()
    elif scheme == "sessions" and path in (*CLIS, "all"):
        found = await _sessions(jobs, caller.owner, path)
    elif scheme == "models" and path in CLIS:
        found = llmtext.models(await jobs.llm.models(path))[path]
    elif scheme in ("cache_state", "cache-state"):
        found = await _caches(jobs, caller, uri, path)
    else:
        raise _unknown(uri)
    return _JSON, json.dumps(found)


def _unknown(uri: str) -> BadRequest:
    rest = ("sessions://{all or a CLI}", "models://{CLI}", _METRICS, GUIDE_URI)
    names = ", ".join(["cache_state://global", *TEMPLATES, *rest])
    return BadRequest(detail=f"no resource {uri!r}; there are {names}", field="uri")


async def _sessions(jobs: Jobs, owner: str, which: str) -> dict[str, Any]:
    rows = await jobs.llm.conversations.list(owner=owner, cli=None if which == "all" else which)
    told: dict[str, Any] = {"total": len(rows), "sessions": [llmtext.session(one) for one in rows]}
    active = llmtext.active(rows)
    return (
        {**told, "activeSessions": active} if which == "all" else {"cli": which, **told, "activeSession": active[which]}
    )


async def _caches(jobs: Jobs, caller: Caller, uri: str, path: str) -> dict[str, Any]:
    kind, _, which = path.partition("/")
    if kind == "global" and not which:
        return await jobs.llm.cache(env=caller.env)
    if kind == "session" and which:
        with suppress(ConversationNotFound):
            thread = (await jobs.llm.conversations.get(which, owner=caller.owner)).thread
            return {**await jobs.llm.cache(conversation=thread or which, env=caller.env), "sessionId": which}
        return await jobs.llm.cache(conversation=which, env=caller.env)
    if kind == "prefix" and which:
        return await jobs.llm.cache(prefix=which, env=caller.env)
    raise _unknown(uri)
