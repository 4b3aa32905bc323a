"""What a coroutine that does a tool call is given: whether it is to stop, the handles, and its job if it is one."""

from __future__ import annotations

import anyio
from msgspec import Struct, field

from bide.agents.handles import Handles
from bide.agents.questions import Answering, Denied, ask, resolve
from bide.agents.tasks import Channel
from bide.model.question import Question, Value


class Cancellation:
    """Whether the turn is over or the user interrupted; calls that only wait end then."""

    def __init__(self) -> None:
        """Nothing was cancelled yet."""
        self._event = anyio.Event()

    @property
    def cancelled(self) -> bool:
        """Whether it was."""
        return self._event.is_set()

    def cancel(self) -> None:
        """Let everybody know."""
        self._event.set()

    async def wait(self) -> None:
        """Return when it is."""
        await self._event.wait()


class Context(Struct, frozen=True):
    """One call of a tool that is a coroutine."""

    cancellation: Cancellation
    handles: Handles
    handle: str | None = None
    """The handle's id, of a call that was spawned."""
    channel: Channel | None = None
    """Its job, of a call that was spawned."""

    answering: Answering = field(default_factory=Answering)
    """Who is asked what this call asks."""

    async def ask(self, question: Question) -> Value:
        """The answer to a question; a spawned call is `waiting` meanwhile. Raises Denied, which ends the call unless it is caught."""
        if self.channel is not None:
            return await ask(self.handles, self.channel.job, question, self.answering)
        answer = await resolve(question, self.answering, asks_assistant=False)
        if answer is None:
            raise Denied(question)
        return answer[0]

    async def write(self, text: str) -> None:
        """Add to what `fetch` and the end show, if it was spawned; a call that runs to completion answers once."""
        if self.channel is not None:
            await self.channel.write(text)
