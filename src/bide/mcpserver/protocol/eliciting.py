"""Questions to a client's user: asked within the call in the handshake era, by having it call again in the newer one."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from typing import Any, cast

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec.structs import replace

from bide.mcpserver import questions
from bide.mcpserver.protocol import forms
from bide.mcpserver.tool import Call
from bide.model.question import Posed
from bide.model.schema import Json

_KEY = re.compile(r"mcp:[0-9A-Za-z:_-]{1,200}\Z")


def asks_again(ctx: Any) -> bool:
    """Whether this client asks its user when it is told to, and then calls again."""
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS and forms.asks(ctx)


def elicit(ctx: Any) -> Callable[[Posed], Awaitable[object]] | None:
    """How this client is asked within a call; `None` if it cannot be."""
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS or not forms.asks(ctx):
        return None

    async def asked(posed: Posed) -> object:
        return await forms.elicit(ctx, posed.question.text, questions.schema(posed.question))

    return asked


def input_required(call: Call, posed: Posed) -> Json:
    """What a call is answered that is to be made again with the answer; its state names the request, and no more."""
    request = forms.request(posed.question.text, questions.schema(posed.question))
    state = json.dumps({"key": call.key})
    return {"resultType": "input_required", "inputRequests": {posed.id: request}, "requestState": state}


async def resumed(ctx: Any, call: Call) -> Call:
    """The call, as the one that it goes on with; what its client's user said is taken. Raises MCPError for a state that is none."""
    given = forms.given(ctx)
    state: object = given.get("requestState")
    if state is None or ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return call
    call = replace(call, key=_key(state))
    found: object = given.get("inputResponses")
    unanswered: set[str] = set()
    for id_, response in cast("Json", found).items() if isinstance(found, dict) else ():
        posed = await questions.named(call, id_)
        if posed is not None and not await questions.take(call, posed, response):
            # Asked again it would be in vain: it is for the model now.
            unanswered.add(id_)
            call.own.arrivals.asked.discard(id_)
    return replace(call, unanswered=frozenset(unanswered))


def _key(state: object) -> str:
    try:
        key: object = json.loads(state)["key"] if isinstance(state, str) else None
    except (ValueError, KeyError, TypeError):
        key = None
    if not isinstance(key, str) or not _KEY.match(key):
        raise MCPError(code=types.INVALID_PARAMS, message="'requestState' is not what was given out")
    return key
