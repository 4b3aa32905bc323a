"""Jobs that do not live until told otherwise: those with a time to live, and those that end with their owner or session.

Times are by a monotonic clock, so that a step of the wall clock ends nothing early. Of a job that was there before this
runtime, its age is what its process says (by the clock of the boot); of one that has no process yet, what the stamps say.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager

import anyio

from bide.api import Killed
from bide.keeper import folder
from bide.model.errors import BideError
from bide.model.job import Job
from bide.model.lifetime import Lifetime
from bide.runtime import ending
from bide.runtime.core import Core, now
from bide.runtime.live import Live

log = logging.getLogger(__name__)

TTL = "ttl"
OWNER_GONE = "owner gone"
_AGAIN = 60.0
"""Seconds until the next attempt, when something of a job could not be ended."""


def _living(core: Core, owner: str) -> list[Job]:
    """The active jobs that live with this owner."""
    jobs = [live.job for live in core.keeping.table.live.values() if not live.ended]
    return [job for job in jobs if job.spec.lifetime == Lifetime.OWNER and job.owner == owner]


async def _end(core: Core, jobs: Iterable[Job], by: str) -> list[Killed]:
    """End all of them at once; what survives is logged and answered."""
    ended: list[Killed] = []

    async def one(job: Job) -> None:
        try:
            killed = await ending.kill(core, job.id, signal.SIGTERM, job.spec.limits.grace, by)
        except (BideError, OSError) as error:
            log.warning("%s was to end (%s): %s", job.id, by, error)
            return
        if not killed.verified_empty:
            log.warning("%s was to end (%s), and %d processes of it are left", job.id, by, len(killed.survivors))
        ended.append(killed)

    async with anyio.create_task_group() as group:
        for job in jobs:
            group.start_soon(one, job)
    return ended


class Lifetimes:
    """Watches over the active jobs of a runtime whose life is bounded, and over the presence of their owners."""

    def __init__(self, core: Core) -> None:
        """Watch what is active now, and what will be."""
        self._core = core
        self._ttls: dict[str, Callable[[], None]] = {}
        """How to take back the end of each job that has a time to live."""
        self._away: dict[str, Callable[[], None]] = {}
        """How to take back the end of the grace of each owner that is away."""
        self._present: dict[str, int] = {}
        """How many clients attend, by owner."""
        self._grace = core.settings.retention.owner_grace.total_seconds()
        table = core.keeping.table
        for live in list(table.live.values()):
            self._watch(live)
        table.added.append(self._watch)
        table.dropped.append(self._unwatch)

    def _watch(self, live: Live) -> None:
        spec = live.job.spec
        if spec.ttl is not None:
            self._end_after(spec.ttl.total_seconds() - _age(live), live.job)
        if spec.lifetime == Lifetime.OWNER:
            self._leave(live.job.owner)

    def _unwatch(self, live: Live) -> None:
        take_back = self._ttls.pop(live.job.id, None)
        if take_back is not None:
            take_back()

    # A time to live.

    def _end_after(self, seconds: float, job: Job) -> None:
        hub = self._core.hub
        if (take_back := self._ttls.pop(job.id, None)) is not None:
            take_back()
        self._ttls[job.id] = hub.call_later(
            max(seconds, 0.0), lambda: self._core.spawn(lambda: self._live_no_more(job))
        )

    async def _live_no_more(self, job: Job) -> None:
        await _end(self._core, [job], TTL)
        live = self._core.live(job)
        if live is not None and not live.ended:
            self._end_after(_AGAIN, job)

    # Owners.

    @contextmanager
    def attending(self, owner: str) -> Generator[None]:
        """While inside, a client of this owner is there."""
        self._present[owner] = self._present.get(owner, 0) + 1
        take_back = self._away.pop(owner, None)
        if take_back is not None:
            take_back()
        try:
            yield
        finally:
            self._present[owner] -= 1
            if not self._present[owner]:
                del self._present[owner]
                self._leave(owner)

    def _leave(self, owner: str, seconds: float | None = None) -> None:
        """The time of grace begins, unless somebody is there or nothing depends on it."""
        if owner in self._present or not self._dependents(owner):
            return
        take_back = self._away.pop(owner, None)
        if take_back is not None:
            take_back()
        hub = self._core.hub
        grace = self._grace if seconds is None else seconds
        self._away[owner] = hub.call_later(grace, lambda: self._core.spawn(lambda: self._gone(owner)))

    def _dependents(self, owner: str) -> list[Job]:
        return _living(self._core, owner)

    async def _gone(self, owner: str) -> None:
        """The grace is over and nobody came: what lives with this owner ends, and nothing else does."""
        self._away.pop(owner, None)
        jobs = self._dependents(owner)
        log.info("owner %s has been away for %g s; %d jobs end with it", owner, self._grace, len(jobs))
        await _end(self._core, jobs, OWNER_GONE)
        self._leave(owner, max(self._grace, _AGAIN))


def _age(live: Live) -> float:
    """How many seconds ago a job was asked for."""
    job = live.job
    started = folder.read_started(live.path)
    if started is None or not started.ticks:
        return max(0.0, (now() - job.created_at).total_seconds())
    # The start is told in ticks, rounded down: one less, so that nothing ends early.
    ran = time.clock_gettime(time.CLOCK_BOOTTIME) - (started.ticks + 1) / os.sysconf("SC_CLK_TCK")
    return max(0.0, (started.at - job.created_at).total_seconds()) + max(0.0, ran)
