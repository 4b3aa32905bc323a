"""The channel of a client that can be woken: what is due is said to it as it happens. Knows no protocol.

Nothing says whether a client heard what was pushed, and some drop it. So a push only wakes: it has no word that a job
wrote, it acknowledges nothing, and what it tells of stays due until an answer or a hook has carried it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

from bide.api import Outbox
from bide.model.notice import Level, Message
from bide.model.schema import Json

CAPABILITY = "claude/channel"
METHOD = "notifications/claude/channel"
_GATHER = 1.0
"""Seconds in which what happens together becomes one push."""
_REST = "What they wrote comes with the next answer of a bide tool."

Push = Callable[[str, Json], Awaitable[None]]


def said(message: Message) -> Json:
    """A push, in the words of the channel."""
    worst = message.items[0].level
    meta = {"notices": str(len(message.items)), "level": worst}
    return {"content": f"{message.text}\n{_REST}", "meta": meta}


async def serve(outbox: Outbox, owner: str, push: Push) -> None:
    """Push each notice once, until the connection ends."""
    pushed: set[str] = set()
    while True:
        message = await outbox.pull(owner, timeout=None, room=0, known=pushed)
        if message.items[0].level != Level.CRITICAL.name.lower():
            await anyio.sleep(_GATHER)
            message = await outbox.pull(owner, room=0, known=pushed, least=Level.INFO)
        if message.items:
            await push(METHOD, said(message))
            pushed.update(message.ids)
