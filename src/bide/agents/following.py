"""A handle as it moves on: what it writes and how its state changes, for `async for`."""

from __future__ import annotations

import codecs
from collections.abc import Awaitable, Callable
from datetime import timedelta

import anyio
from msgspec import Struct

from bide.agents.handles import Handle, Handles
from bide.agents.rows import row
from bide.model.handles import state_of
from bide.model.job import Job, JobId
from bide.model.output import Stream
from bide.model.phase import Ended, Queued
from bide.model.question import Posed
from bide.model.schema import Json
from bide.model.until import Until

_LOOK = timedelta(minutes=1)
"""How long one read waits for more; then it is made again."""


class Change(Struct, frozen=True):
    """What became of a handle since the change before."""

    state: str
    """`pending`, `running`, `waiting` or `stopped`."""
    output: str = ""
    """What it wrote to stdout, or to its terminal."""
    stderr: str = ""
    question: Posed | None = None
    """What it asks, or the prompt it shows, while it waits."""
    row: Json | None = None
    """Of a handle that stopped: as `await` tells of it. It is the last change."""


class Following:
    """Iterates over the changes of one handle until it has stopped. The assistant does not count as told of them."""

    def __init__(self, handles: Handles, ref: str) -> None:
        """From its beginning."""
        self._handles = handles
        self._jobs = handles.jobs
        self._ref = ref
        self._handle: Handle | None = None
        self._offsets = dict.fromkeys(Stream, 0)
        self._decoders = {one: codecs.getincrementaldecoder("utf-8")("replace") for one in Stream}
        self._shown: tuple[str, str] | None = None
        """The state and the question of the change before."""
        self._over = False

    def __aiter__(self) -> Following:
        return self

    async def __anext__(self) -> Change:
        """Return the next change. Raises JobNotFound for a handle that is not there."""
        if self._over:
            raise StopAsyncIteration
        with self._jobs.outbox.answering(f"follower:{self._handles.owner}"):
            handle = self._handle = self._handle or await self._handles.find(self._ref)
            if not handle.settled.is_set() and self._shown is None:
                self._shown = ("pending", "")
                return Change("pending")
            id_ = await handle.begun()
            if id_ is None:
                self._over = True
                return Change("stopped", row=await self._handles.row(handle))
            return await self._next(id_)

    async def _next(self, id_: JobId) -> Change:
        while True:
            job = await self._jobs.get(id_)
            (out, out_over), (err, err_over) = [await self._new(job, stream) for stream in Stream]
            if isinstance(job.phase, Ended) and out_over and err_over:
                self._over = True
                return Change("stopped", out, err, row=await row(self._jobs, job, self._ref))
            posed = None if job.facts is None else job.facts.question
            state = "running" if isinstance(job.phase, Ended) else state_of(job)
            shown = (state, posed.id if posed else "")
            if out or err or shown != self._shown:
                self._shown = shown
                return Change(state, out, err, posed)
            await self._moved(job)

    async def _new(self, job: Job, stream: Stream) -> tuple[str, bool]:
        """Return what a stream has beyond what was shown, and whether that is the end of it."""
        piece = await self._jobs.read(job.id, stream=stream, offset=self._offsets[stream])
        self._offsets[stream] = piece.next
        return self._decoders[stream].decode(piece.data, final=piece.eof), piece.eof

    async def _moved(self, job: Job) -> None:
        """Return when there is more to read, or its state changes."""
        waits: list[Callable[[], Awaitable[object]]] = [
            lambda stream=stream: self._jobs.read(
                job.id, stream=stream, offset=self._offsets[stream], follow=_LOOK, limit=1
            )
            for stream in Stream
        ]
        if isinstance(job.phase, Queued):
            waits.append(lambda: self._begun(job.id))
        else:
            waiting = job.facts is not None and job.facts.waiting is not None
            waits.append(lambda: self._jobs.wait([job.id], until=Until(input=not waiting)))
        async with anyio.create_task_group() as group:

            async def first(wait: Callable[[], Awaitable[object]]) -> None:
                await wait()
                group.cancel_scope.cancel()

            for wait in waits:
                group.start_soon(first, wait)

    async def _begun(self, id_: JobId) -> None:
        """Return when a queued job begins or ends."""
        async for event in self._jobs.events.follow(after=0, job=id_):
            if event.what in ("running", "ended"):
                return
