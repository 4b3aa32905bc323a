"""Who is being told of which job at this moment: watches, counted, and what an answer on its way will have told.

A job that its owner watches is not announced to it. An answer that tells of a job counts when its door says that it arrived.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar

from bide.model.job import DEFAULT_OWNER, Job
from bide.model.notice import Told
from bide.runtime.hub import Bell
from bide.runtime.live import Live

_ANSWER: ContextVar[Told | None] = ContextVar("answer", default=None)


def answer_now() -> Told | None:
    """The answer that is being made; `None` for a caller in this process, who has it as soon as it is made."""
    return _ANSWER.get()


def asker_now() -> str:
    """Whose client asks."""
    answer = _ANSWER.get()
    return DEFAULT_OWNER if answer is None else answer.asker


class Watches:
    """Which jobs are watched, and by how many."""

    def __init__(self, freed: Bell) -> None:
        """`freed` is rung when a watch is over."""
        self._counts: dict[str, int] = {}
        self._freed = freed

    def is_watched(self, job: str) -> bool:
        """Whether somebody watches it."""
        return job in self._counts

    def watching(self, jobs: Iterable[Job]) -> _Watching:
        """While inside, these jobs are watched by whoever asks, if they are the asker's own."""
        told = answer_now()
        return _Watching(self, [job.id for job in jobs if told is None or told.asker == job.owner])

    def awaiting(self, live: Live) -> _Awaiting:
        """While inside, the end of this job is as good as told."""
        return _Awaiting(live, self.watching([live.job]))

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

    def answering(self, asker: str) -> _Answering:
        """While inside, an answer to this asker is made and carried; what it tells is watched as long."""
        return _Answering(self, Told(asker))

    def begun(self, job: Job) -> None:
        """Watch a job until the answer to the call that began it is made."""
        told = answer_now()
        if told is not None and told.asker == job.owner and not told.made:
            self.hold([job.id])
            told.begun.append(job.id)

    def tells(self, told: Told, job: Job, *, over: bool) -> None:
        """The answer has this job in it."""
        if told.asker != job.owner or told.made:
            return
        if job.id not in told.jobs:
            self.hold([job.id])
        told.jobs[job.id] = over or told.jobs.get(job.id, False)


# Classes rather than generators, here: they are entered for every request, and cost a third.


class _Watching:
    __slots__ = ("_ids", "_watches")

    def __init__(self, watches: Watches, ids: list[str]) -> None:
        self._watches = watches
        self._ids = ids

    def __enter__(self) -> None:
        self._watches.hold(self._ids)

    def __exit__(self, *_: object) -> None:
        self._watches.release(self._ids)


class _Awaiting:
    __slots__ = ("_live", "_watching")

    def __init__(self, live: Live, watching: _Watching) -> None:
        self._live = live
        self._watching = watching

    def __enter__(self) -> None:
        self._live.awaited += 1
        self._watching.__enter__()

    def __exit__(self, *_: object) -> None:
        self._watching.__exit__()
        self._live.awaited -= 1


class _Answering:
    __slots__ = ("_before", "_told", "_watches")

    def __init__(self, watches: Watches, told: Told) -> None:
        self._watches = watches
        self._told = told

    def __enter__(self) -> Told:
        self._before = _ANSWER.set(self._told)
        return self._told

    def __exit__(self, *_: object) -> None:
        _ANSWER.reset(self._before)
        self._told.made = True
        self._watches.release([*self._told.jobs, *self._told.begun])
