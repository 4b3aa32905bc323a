"""The tools of the toolset `llm` that keep conversations, which the seed calls sessions."""

from __future__ import annotations

import json

from bide.mcpserver.tool import Answer, Call, Tool
from bide.mcpserver.toolsets import llmtext
from bide.mcpserver.toolsets.llmfields import CLIS
from bide.model.errors import BadRequest
from bide.model.schema import Json, fields, flag, text

_STATE = {
    "cli": "cli",
    "prefixDistinct": "distinctPrefixCount",
    "totalCacheReadTokens": "totalCacheReadTokens",
    "totalCacheCreationTokens": "totalCacheCreationTokens",
    "requestCount": "requestCount",
    "hitCount": "hitCount",
    "hitRate": "hitRate",
    "estimatedSavingsUsd": "estimatedSavingsUsd",
    "ttlRemainingMs": "ttlRemainingMs",
}
"""What `session_get` tells of caches, and what we call it."""


def _told(data: Json) -> Answer:
    return Answer(json.dumps(data), data)


async def create(call: Call, given: Json) -> Answer:
    """A name for a conversation that is to come."""
    made = await call.jobs.llm.conversations.start(
        given["cli"],
        owner=call.caller.owner,
        title=given.get("description", ""),
        active=given.get("setAsActive", True),
        recorded=bool((await call.jobs.llm.persistence(call.caller.env))["durable"]),
    )
    return _told({"success": True, "session": llmtext.session(made)})


async def show_all(call: Call, given: Json) -> Answer:
    """The caller's conversations."""
    found = await call.jobs.llm.conversations.list(owner=call.caller.owner, cli=given.get("cli"))
    rows = [llmtext.session(one) for one in found]
    return _told({"success": True, "total": len(found), "sessions": rows, "activeSessions": llmtext.active(found)})


async def show(call: Call, given: Json) -> Answer:
    """One conversation, with what its caches did if there were requests."""
    found = await call.jobs.llm.conversations.get(given["sessionId"], owner=call.caller.owner)
    data: Json = {"success": True, "session": llmtext.session(found)}
    state = await call.jobs.llm.cache(conversation=found.thread or found.id, env=call.caller.env)
    if state["requestCount"]:
        data["cacheState"] = {ours: state[theirs] for ours, theirs in _STATE.items()}
        data["session"]["cacheState"] = data["cacheState"]
    return _told(data)


async def set_active(call: Call, given: Json) -> Answer:
    """Which conversation of a CLI is the active one."""
    which = given.get("sessionId")
    await call.jobs.llm.conversations.activate(given["cli"], which, owner=call.caller.owner)
    return _told({"success": True, "cli": given["cli"], "activeSessionId": which})


async def delete(call: Call, given: Json) -> Answer:
    """Forget one; the CLI still knows it."""
    await call.jobs.llm.conversations.get(given["sessionId"], owner=call.caller.owner)
    gone = await call.jobs.llm.conversations.drop(given["sessionId"], owner=call.caller.owner)
    return _told({"success": gone == 1, "sessionId": given["sessionId"]})


async def clear(call: Call, given: Json) -> Answer:
    """Forget all of a CLI, or all."""
    cli = given.get("cli")
    if cli is not None and cli not in CLIS:
        raise BadRequest(detail=f"there is no CLI {cli!r}; known are {', '.join(CLIS)}")
    gone = await call.jobs.llm.conversations.drop(cli=cli, owner=call.caller.owner)
    return _told({"success": True, "deletedCount": gone})


_CLI = text("", enum=list(CLIS))
_ID = text()
TOOLS = (
    Tool(
        "session_create",
        "Name a conversation to come; requests with its id begin it, then go on with it.",
        fields(("cli",), cli=_CLI, description=text(), setAsActive=flag()),
        create,
    ),
    Tool("session_list", "Your conversations with CLIs.", fields((), cli=_CLI), show_all, reads_only=True),
    Tool(
        "session_get",
        "One of them, and its cache use.",
        fields(("sessionId",), sessionId=_ID),
        show,
        reads_only=True,
    ),
    Tool(
        "session_set_active",
        "Set the active conversation of a CLI; none without sessionId.",
        fields(("cli",), cli=_CLI, sessionId=_ID),
        set_active,
        idempotent=True,
    ),
    Tool("session_delete", "Forget a conversation.", fields(("sessionId",), sessionId=_ID), delete, destructive=True),
    Tool("session_clear_all", "Forget all, or a CLI's.", fields((), cli=_CLI), clear, destructive=True),
)
