"""What is due to a caller rides on the answer to its call, and counts as seen at its next call. Knows no protocol.

It is in the text, and in the data as `notices`: some clients show their model one of them only. In other vocabularies than
bide's own the text of an answer is not ours to add to: there it is a text of its own beside it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress

import anyio
from msgspec.structs import replace

from bide.api import Outbox
from bide.mcpserver.display import Display
from bide.mcpserver.gaps import CHARS_PER_TOKEN
from bide.mcpserver.shown import spans_of
from bide.mcpserver.tool import Answer, Call, Tool
from bide.model import toolcalls
from bide.model.errors import BideError
from bide.model.news import compose, quoted
from bide.model.notice import ENDS, Item, Message, Told
from bide.model.outboxforms import item_to_json
from bide.model.schema import Json

ROOM = 2000
"""Characters of output that may ride on an answer."""


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

    async def _called(self, call: Call, carrier: str) -> anyio.Event:
        """Count the answer before as read if it was this daemon's, or came through a connection that lasts; set the event then.

        The call need not wait for that: such a write lingers for others, to be committed with them.
        """
        written = anyio.Event()
        if carrier not in self._met:
            self._met.add(carrier)
            await self._outbox.release(carrier)
        elif carrier not in self._empty:
            self._empty.add(carrier)
            call.later(lambda: self._settle(carrier, written))
            return written
        written.set()
        return written

    async def _settle(self, carrier: str, written: anyio.Event) -> None:
        try:
            await self._outbox.settle(carrier)
        finally:
            written.set()

    async def ridden(self, call: Call, tool: Tool, make: Callable[[], Awaitable[Answer]], *, ours: bool) -> Answer:
        """Return the answer with what else is due, on a tool of bide's own or of another vocabulary."""
        carrier = f"mcp:{call.caller.connection or call.caller.owner}"
        written = await self._called(call, carrier)
        with self._outbox.answering(call.caller.owner) as told:
            answer = await make()
            # What this answer carries must not count as read with what the last one did.
            await written.wait()
            message = await _new(call, await self._outbox.pull(call.caller.owner, carrier=carrier, room=ROOM))
            # What is collected stays complete: all of it is watched until the answer is made.
            own = {job: over for job, over in told.jobs.items() if job == answer.own}
            rest = {job: over for job, over in told.jobs.items() if job != answer.own}
            self._outbox.told(Told(told.asker, own))
            self._outbox.told(Told(told.asker, rest), carrier=carrier)
        if rest or message.items:
            self._empty.discard(carrier)
        return _with(answer, message, call, tool, ours=ours) if message.items else answer


async def _new(call: Call, message: Message) -> Message:
    """Return the message with only such output of jobs that ended as the client was not shown before."""
    items = list(message.items)
    for at, item in enumerate(items):
        with suppress(BideError):  # forgotten meanwhile
            items[at] = await _new_of(call, item)
    return replace(message, items=tuple(items))


async def _new_of(call: Call, item: Item) -> Item:
    if not item.extract or item.what not in ENDS or (await call.jobs.get(item.job)).spec.ask is not None:
        return item
    room = len(item.extract) + _ROUNDING
    found = await call.jobs.excerpt(item.job, budget=room, since=call.shown.since(item.job))
    text, cut = quoted(found, room)
    spans = spans_of(found.parts, room // CHARS_PER_TOKEN)
    if cut:
        # Lines are cut too, and what was cut of them can be selected again.
        spans = {stream: replace(span, left=span.start) for stream, span in spans.items()}
    call.shown.show(item.job, spans)
    return replace(item, extract=text, cut=True if cut else None)


_ROUNDING = 100
"""Characters that the same output may take more, since a notice leaves out empty lines."""


def _with(answer: Answer, message: Message, call: Call, tool: Tool, *, ours: bool) -> Answer:
    """Return the answer with the message; of bide's own tools, where this client's model finds it."""
    silent = tuple(replace(item, extract="") for item in message.items)
    if ours and call.caller.display is Display.DATA:
        said = _composed(silent, call, message.more)
        return replace(answer, text=f"{answer.text}\n{said}", data=_news(answer, message.items))
    said = _composed(message.items, call, message.more)
    if ours:
        return replace(answer, text=f"{answer.text}\n{said}", data=_news(answer, silent))
    if tool.one_text:
        return replace(answer, text=f"{answer.text}\n\n{said}", data=_news(answer, message.items))
    beside = "\n".join(part for part in (answer.aside, said) if part)
    return replace(answer, aside=beside, data=_news(answer, message.items))


def _composed(items: Sequence[Item], call: Call, more: int) -> str:
    """Return the message in the words of this client, which reads the rest of an output with its own tools."""
    return compose(items, call.mark, more, lambda job: toolcalls.rest(call.caller.toolsets, job))


def _news(answer: Answer, items: Sequence[Item]) -> Json:
    return {**answer.data, "notices": [item_to_json(item) for item in items]}
