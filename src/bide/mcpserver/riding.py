"""What is due to a caller rides on the answer to its call, and counts as seen at its next call. Knows no protocol.

On bide's own tools it is in the text and in the data. The shapes of the other vocabularies are not ours to add to: there it is
a text of its own beside them, and only for clients that are known to show it to their model.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from enum import Enum, auto

import anyio
from msgspec.structs import replace

from bide.api import Outbox
from bide.mcpserver.tool import Answer, Call, Tool
from bide.model.notice import Message
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


class Riding:
    """Has news ride on answers, and counts it as read at the next call of whoever got the answer."""

    def __init__(self, outbox: Outbox) -> None:
        """Nothing is carried as far as is known; what an earlier daemon had carried is in the outbox."""
        self._outbox = outbox
        self._met: set[str] = set()
        """Who came since this daemon began."""
        self._empty: set[str] = set()
        """Who has nothing in hand, so that the outbox need not be asked."""

    @asynccontextmanager
    async def connected(self, connection: str, *, again: bool) -> AsyncGenerator[None]:
        """While inside, a client is there. One that waits for an answer `again` may not have read what the answer brought."""
        carrier = f"mcp:{connection}"
        if again:
            await self._outbox.release(carrier)
        self._met.add(carrier)
        try:
            yield
        finally:
            self._met.discard(carrier)
            self._empty.discard(carrier)
            with anyio.CancelScope(shield=True):
                # What the last answer carried may never have been read.
                await self._outbox.release(carrier)

    async def _called(self, carrier: str) -> None:
        """Whoever calls has read the answer before, if it was this daemon's or came through a connection that lasts."""
        if carrier not in self._met:
            self._met.add(carrier)
            await self._outbox.release(carrier)
        elif carrier not in self._empty:
            self._empty.add(carrier)
            await self._outbox.settle(carrier)

    async def ridden(self, call: Call, tool: Tool, make: Callable[[], Awaitable[Answer]], where: Seat) -> Answer:
        """The answer, with what else is due if there is a seat for it."""
        carrier = f"mcp:{call.caller.connection or call.caller.owner}"
        await self._called(carrier)
        with self._outbox.answering(call.caller.owner) as told:
            answer = await make()
            rides = where is not Seat.NONE
            message = await self._outbox.pull(call.caller.owner, carrier=carrier, room=ROOM) if rides else None
            self._outbox.told(told, carrier=carrier)
        if told.jobs or (message is not None and message.items):
            self._empty.discard(carrier)
        return _seated(answer, tool, message, where)


def _seated(answer: Answer, tool: Tool, message: Message | None, where: Seat) -> Answer:
    if message is None or not message.items:
        return answer
    if where is not Seat.WITHIN:
        answer = replace(answer, bare=where is Seat.NO_DATA)
        behind = f"{answer.text}\n\n{message.text}"
        beside = "\n".join(part for part in (answer.aside, message.text) if part)
        return replace(answer, text=behind) if tool.one_text else replace(answer, aside=beside)
    news = [item_to_json(item) for item in message.items]
    return replace(answer, text=f"{answer.text}\n{message.text}", data={**answer.data, "notices": news})
