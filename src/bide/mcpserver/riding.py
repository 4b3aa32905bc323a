"""What is due to a caller rides on the answer to its call, and counts as seen at its next call. Knows no protocol."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from bide.api import Outbox
from bide.mcpserver.tool import Answer, Call
from bide.model.outboxforms import item_to_json

ROOM = 2000
"""Characters of output that may ride on an answer."""


def carrier_of(call: Call) -> str:
    """What carries news to this client: its connection, or, over HTTP, whoever it is."""
    return f"mcp:{call.caller.connection or call.caller.owner}"


async def ridden(outbox: Outbox, call: Call, make: Callable[[], Awaitable[Answer]], *, rides: bool) -> Answer:
    """The answer, with what else is due if that `rides` on it. Whoever calls again has read the answer before."""
    carrier = carrier_of(call)
    await outbox.settle(carrier)
    with outbox.answering(call.caller.owner) as told:
        answer = await make()
        message = await outbox.pull(call.caller.owner, carrier=carrier, room=ROOM) if rides else None
        outbox.told(told, carrier=carrier)
    if message is None or not message.items:
        return answer
    news = [item_to_json(item) for item in message.items]
    return replace(answer, text=f"{answer.text}\n{message.text}", data={**answer.data, "notices": news})
