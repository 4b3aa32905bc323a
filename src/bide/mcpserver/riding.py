"""What is due to a caller rides on the answer to its call, and counts as seen at its next call. Knows no protocol.

On bide's own tools it is in the text and in the data. The shapes of the other vocabularies are not ours to add to: there it is
a text of its own beside them, and only for clients that are known to show it to their model.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import Enum, auto

from msgspec.structs import replace

from bide.api import Outbox
from bide.mcpserver.tool import Answer, Call, Tool
from bide.model.outboxforms import item_to_json

ROOM = 2000
"""Characters of output that may ride on an answer."""


class Seat(Enum):
    """Where news has its place in an answer."""

    WITHIN = auto()
    """In the text and in the data."""
    BESIDE = auto()
    """As a text of its own."""
    NO_DATA = auto()
    """As a text of its own, on an answer without data: a client that finds data shows nothing else."""
    NONE = auto()


_BESIDE = {
    "claude-code": Seat.NO_DATA,
    "codex-mcp-client": Seat.NO_DATA,
    "gemini-cli-mcp-client": Seat.BESIDE,
}
"""What was seen to reach the model of each client."""


def seat(client: str, *, ours: bool) -> Seat:
    """Where this client has to be told, on a tool of bide's own or of another vocabulary."""
    return Seat.WITHIN if ours else _BESIDE.get(client, Seat.NONE)


def carrier_of(call: Call) -> str:
    """What carries news to this client: its connection, or, over HTTP, whoever it is."""
    return f"mcp:{call.caller.connection or call.caller.owner}"


async def ridden(outbox: Outbox, call: Call, tool: Tool, make: Callable[[], Awaitable[Answer]], where: Seat) -> Answer:
    """The answer, with what else is due if there is a seat for it. Whoever calls again has read the answer before."""
    carrier = carrier_of(call)
    await outbox.settle(carrier)
    with outbox.answering(call.caller.owner) as told:
        answer = await make()
        rides = where is not Seat.NONE
        message = await outbox.pull(call.caller.owner, carrier=carrier, room=ROOM) if rides else None
        outbox.told(told, carrier=carrier)
    if message is None or not message.items:
        return answer
    if where is not Seat.WITHIN:
        answer = replace(answer, bare=where is Seat.NO_DATA)
        behind = f"{answer.text}\n\n{message.text}"
        beside = "\n".join(part for part in (answer.aside, message.text) if part)
        return replace(answer, text=behind) if tool.one_text else replace(answer, aside=beside)
    news = [item_to_json(item) for item in message.items]
    return replace(answer, text=f"{answer.text}\n{message.text}", data={**answer.data, "notices": news})
