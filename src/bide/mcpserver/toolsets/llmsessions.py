"""The tools of the toolset `llm` that keep conversations, which the seed calls sessions."""

from __future__ import annotations

import json

from bide.mcpserver.tool import Answer, Call, Tool
from bide.mcpserver.toolsets.llmfields import CLIS
from bide.model.errors import BadRequest
from bide.model.llm.choices import unrecorded
from bide.model.llm.conversation import Conversation
from bide.model.schema import Json, fields, flag, text
from bide.model.times import stamp

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


def _shown(one: Conversation) -> Json:
    return {
        "id": one.id,
        "cli": one.cli,
        "description": one.title or None,
        "createdAt": stamp(one.created_at),
        "lastUsedAt": stamp(one.last_used_at),
        "isActive": one.active,
    }


async def create(call: Call, given: Json) -> Answer:
    """A name for a conversation that is to come."""
    made = await call.jobs.llm.conversations.start(
        given["cli"],
        owner=call.caller.owner,
        title=given.get("description", ""),
        active=given.get("setAsActive", True),
        recorded=not unrecorded(call.caller.env),
    )
    return _told({"success": True, "session": _shown(made)})


async def show_all(call: Call, given: Json) -> Answer:
    """The caller's conversations."""
    found = await call.jobs.llm.conversations.list(owner=call.caller.owner, cli=given.get("cli"))
    active = {cli: next((one.id for one in found if one.cli == cli and one.active), None) for cli in CLIS}
    return _told({"total": len(found), "sessions": [_shown(one) for one in found], "activeSessions": active})


async def show(call: Call, given: Json) -> Answer:
    """One conversation, with what its caches did if there were requests."""
    found = await call.jobs.llm.conversations.get(given["sessionId"], owner=call.caller.owner)
    data: Json = {"success": True, "session": _shown(found)}
    state = await call.jobs.llm.cache(conversation=found.id)
    if state["requestCount"]:
        data["cacheState"] = {ours: state[theirs] for ours, theirs in _STATE.items()}
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
_ID = text("the id of a conversation")
TOOLS = (
    Tool(
        "session_create",
        "Name a conversation that is to come, for bookkeeping; CLIs give theirs ids of their own.",
        fields(("cli",), cli=_CLI, description=text(), setAsActive=flag("true if not given")),
        create,
    ),
    Tool("session_list", "Your conversations with CLIs.", fields((), cli=_CLI), show_all, reads_only=True),
    Tool(
        "session_get",
        "One conversation, and how well caches served it.",
        fields(("sessionId",), sessionId=_ID),
        show,
        reads_only=True,
    ),
    Tool(
        "session_set_active",
        "Say which conversation of a CLI is the active one; none without sessionId.",
        fields(("cli",), cli=_CLI, sessionId=_ID),
        set_active,
        idempotent=True,
    ),
    Tool("session_delete", "Forget a conversation.", fields(("sessionId",), sessionId=_ID), delete, destructive=True),
    Tool("session_clear_all", "Forget all, or those of a CLI.", fields((), cli=_CLI), clear, destructive=True),
)
