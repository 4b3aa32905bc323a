"""What clients of the toolset `llm` can read beside jobs: how well providers' caches served, and a guide. No prompt, no answer."""

from __future__ import annotations

import json
from typing import Any

from bide.api import Jobs
from bide.mcpserver.guidance import GUIDE, GUIDE_URI
from bide.mcpserver.resources import Resource
from bide.model.errors import BadRequest

SCHEMES = ("cache_state", "cache-state", "skills")
"""An underscore is not legal in a scheme, so that both spellings are read."""
_JSON = "application/json"

LISTED = (
    Resource("cache_state://global", "Caches of LLM providers", "how well they served in the last day", _JSON),
    Resource(GUIDE_URI, "Asking other LLMs", "how to ask, wait and review", "text/markdown"),
)
TEMPLATES = {
    "cache_state://session/{id}": ("Caches of a conversation", "how well they served it", _JSON),
    "cache_state://prefix/{hash}": ("Caches of a stable prefix", "how well they served it", _JSON),
}


async def read(jobs: Jobs, uri: str) -> tuple[str, str]:
    """The kind and the text of a resource. Raises BadRequest."""
    if uri == GUIDE_URI:
        return "text/markdown", GUIDE
    kind, _, which = uri.partition("://")[2].partition("/")
    return _JSON, json.dumps(await _caches(jobs, uri, kind, which))


async def _caches(jobs: Jobs, uri: str, kind: str, which: str) -> dict[str, Any]:
    if kind == "global" and not which:
        return await jobs.llm.cache()
    if kind == "session" and which:
        return await jobs.llm.cache(conversation=which)
    if kind == "prefix" and which:
        return await jobs.llm.cache(prefix=which)
    raise BadRequest(detail=f"no resource {uri!r}; there are cache_state://global, {', '.join(TEMPLATES)}", field="uri")
