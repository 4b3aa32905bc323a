"""Who is being told of which job at this moment: watches, counted, and what an answer on its way will have told.

A job that its owner watches is not announced to it. An answer that tells of a job counts when its door says that it arrived.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar

from bide.model.job import Job
from bide.model.notice import Told
from bide.runtime.hub import Bell
from bide.runtime.live import Live

_ANSWER: ContextVar[Told | None] = ContextVar("answer", default=None)


def answer_now() -> Told | None:
    """The answer that is being made; `None` for a caller in this process, who has it as soon as it is made."""
    return _ANSWER.get()


class Watches:
    """Which jobs are watched, and by how many."""

    def __init__(self, freed: Bell) -> None:
        """`freed` is rung when a watch is over."""
        self._counts: dict[str, int] = {}
        self._freed = freed

    def is_watched(self, job: str) -> bool:
        """Whether somebody watches it."""
        return job in self._counts

    @contextmanager
    def watching(self, jobs: Iterable[Job]) -> Generator[None]:
        """While inside, these jobs are watched by whoever asks, if they are the asker's own."""
        told = answer_now()
        ids = [job.id for job in jobs if told is None or told.asker == job.owner]
        self.hold(ids)
        try:
            yield
        finally:
            self.release(ids)

    @contextmanager
    def awaiting(self, live: Live | None) -> Generator[None]:
        """While inside, the end of this job is as good as told."""
        if live is None:
            yield
            return
        live.awaited += 1
        try:
            with self.watching([live.job]):
                yield
        finally:
            live.awaited -= 1

    def hold(self, ids: Iterable[str]) -> None:
        """One more watches each of these."""
        for job in ids:
            self._counts[job] = self._counts.get(job, 0) + 1

    def release(self, ids: Iterable[str]) -> None:
        """One fewer. What happened meanwhile and was not told can be told now."""
        freed = False
        for job in ids:
            left = self._counts.pop(job) - 1
            if left:
                self._counts[job] = left
            freed = freed or not left
        if freed:
            self._freed.ring()

    @contextmanager
    def answering(self, asker: str) -> Generator[Told]:
        """While inside, an answer to this asker is made and carried; what it tells is watched as long."""
        told = Told(asker)
        before = _ANSWER.set(told)
        try:
            yield told
        finally:
            _ANSWER.reset(before)
            self.release(told.jobs)

    def tells(self, told: Told, job: Job, *, over: bool) -> None:
        """The answer has this job in it."""
        if told.asker != job.owner:
            return
        if job.id not in told.jobs:
            self.hold([job.id])
        told.jobs[job.id] = over or told.jobs.get(job.id, False)
