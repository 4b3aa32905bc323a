"""The questions that whoever waits could answer itself, so that no wait is for its own caller."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import timedelta

import anyio

from bide.api import Jobs
from bide.model.job import Job, JobId
from bide.model.phase import Ended
from bide.model.question import Posed
from bide.model.until import Until

_NEW, _SHOWN = timedelta(milliseconds=100), timedelta(seconds=1)
"""How long a question stays open before it ends a wait: one that the assistant was shown is perhaps being answered."""

Begun = Callable[[], Awaitable[JobId | None]]
"""Returns the job of a handle once it has one, or `None` once it is known that it will have none."""


class Others:
    """Tells when the configured answerers have been asked what a coroutine asks, and the assistant's turn has come."""

    def __init__(self) -> None:
        """Nobody is being asked."""
        self._asked: dict[JobId, tuple[int, anyio.Event]] = {}

    @contextmanager
    def asking(self, job: JobId) -> Generator[None]:
        """Have the answerers asked while inside."""
        count, done = self._asked.get(job, (0, anyio.Event()))
        self._asked[job] = (count + 1, done)
        try:
            yield
        finally:
            count, done = self._asked[job]
            if count > 1:
                self._asked[job] = (count - 1, done)
            else:
                del self._asked[job]
                done.set()

    async def done(self, job: JobId) -> None:
        """Return when no answerer is being asked for this job."""
        while job in self._asked:
            await self._asked[job][1].wait()


class Asking:
    """Watches handles for questions to the assistant that waits for them."""

    def __init__(
        self, jobs: Jobs, shown: set[str], is_for_it: Callable[[Job, Posed], bool], *, others: Others | None = None
    ) -> None:
        """`shown` has the questions that it was shown before, `is_for_it` says whether it can answer one; `others` go first."""
        self._jobs = jobs
        self._shown = shown
        self._is_for_it = is_for_it
        self._others = others or Others()
        self._going: set[str] = set()
        """The handles that neither stopped nor wait for the assistant."""
        self.new: list[Posed] = []
        """What the assistant is asked, and was not shown before."""

    async def asked(self, watched: Mapping[str, Begun], *, again: bool) -> None:
        """Return when one of these asks what was not shown before; with `again`, also when none goes on without an answer."""
        self._going = set(watched)
        async with anyio.create_task_group() as group:

            async def watch(ref: str, begun: Begun) -> None:
                await self._watch(ref, begun, again=again)
                group.cancel_scope.cancel()

            for ref, begun in watched.items():
                group.start_soon(watch, ref, begun)

    async def _watch(self, ref: str, begun: Begun, *, again: bool) -> None:
        """Return when there is nothing to wait for but the assistant."""
        id_ = await begun()
        while id_ is not None:
            (job,) = (await self._jobs.wait([id_], until=Until(input=True))).jobs
            if isinstance(job.phase, Ended):
                break
            await self._others.done(id_)
            asked = await self._jobs.questions.list(job=id_)
            posed = [one for one in asked if self._is_for_it(job, one)]
            new = [one for one in posed if one.id not in self._shown]
            known = tuple(one.id for one in asked)
            ends = bool(new) or (bool(posed) and again)
            if ends and await self._changes(id_, known, _NEW if new else _SHOWN):
                continue
            if new:
                self.new = new
                self._shown.update(one.id for one in new)
                return
            if ends:
                self._going.discard(ref)
                if not self._going:
                    return
            await self._jobs.wait([id_], until=Until(input=False, question=known))
            self._going.add(ref)
        # The condition itself is another's to watch: this is over only if what is left waits for the assistant.
        self._going.discard(ref)
        if self._going or not again:
            await anyio.sleep_forever()

    async def _changes(self, id_: JobId, known: tuple[str, ...], longest: timedelta) -> bool:
        """Whether other questions than these are open a moment later: the call that answers may be on its way."""
        await self._jobs.wait([id_], until=Until(input=False, question=known), timeout=longest)
        return {one.id for one in await self._jobs.questions.list(job=id_)} != set(known)
