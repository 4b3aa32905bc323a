"""Another index in place of one that was found damaged while we serve: built in a thread, and taken into use when it is whole.

Until then every read of the index raises DatabaseCorrupt, and whoever met it waits here. Running jobs, their output and
their ends need no index.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from bide.model.errors import InternalError
from bide.model.job import Job
from bide.model.phase import Ended, Queued, Running
from bide.runtime import index
from bide.runtime.home import Home
from bide.runtime.hub import Bell, heard
from bide.runtime.keeping import Keeping
from bide.store.faults import DatabaseCorrupt
from bide.store.store import Store

log = logging.getLogger(__name__)

T = TypeVar("T")

_TRIES = 4
_RESTED = 60.0
"""Seconds without damage after which the next is the first again."""


class Renewal:
    """The renewals of one runtime's index, one at a time."""

    def __init__(self, home: Home, keeping: Keeping) -> None:
        """Nothing is wrong yet."""
        self._home = home
        self._keeping = keeping
        self._over = Bell()
        self._under_way = False
        self._failure: Exception | None = None
        self._count = 0
        self._ended_at = 0.0
        keeping.renew = self.begin

    def begin(self) -> None:
        """Have the index made anew, unless that is under way or it is sound."""
        if self._under_way or not self._keeping.store.broken:
            return
        self._under_way = True
        self._failure = None
        self._count = 0 if time.monotonic() - self._ended_at > _RESTED else self._count + 1
        self._keeping.hub.spawn(self._renew)

    async def over(self) -> None:
        """Return when the index can be used. Raises what stands in the way, as DiskFull."""
        self.begin()
        while self._under_way:
            with heard([self._over]) as alarm:
                await alarm.wait()
        if self._failure is not None:
            raise self._failure

    async def _renew(self) -> None:
        old = self._keeping.store
        log.warning("the index is not used any more: %s; it is rebuilt from the job folders", old.broken)
        try:
            if self._count > 1:
                await anyio.sleep(min(2.0**self._count / 4, _RESTED))  # something damages it again and again
            held = frozenset(map(str, self._keeping.table.live))
            self._take(await anyio.to_thread.run_sync(self._rebuilt, old, held))
        except Exception as error:
            log.exception("the index could not be rebuilt; it is tried again when it is needed")
            self._failure = error
        finally:
            self._ended_at = time.monotonic()
            self._under_way = False
            self._over.ring()

    def _rebuilt(self, old: Store, held: Collection[str]) -> Store:
        return index.rebuilt(self._home, old.broken, old, held=held)

    def _take(self, store: Store) -> None:
        """Use the new index: what happened while it was made is written to it."""
        keeping = self._keeping
        keeping.use(store)
        lives = [live for live in keeping.table.live.values() if not live.doomed]
        store.add([_unended(live.job) for live in lives])
        for live in lives:
            if isinstance(phase := live.job.phase, Running):
                store.start(live.job.id, phase.started_at, phase.pid)
        keeping.store_ends()
        keeping.store_again()
        keeping.renewed()
        for told in keeping.kept_anew:
            told()
        keeping.events.ring()


def _unended(job: Job) -> Job:
    """Return a job as it was before its end: that moves its row later, with what is to be told of it."""
    phase = job.phase
    if not isinstance(phase, Ended):
        return job
    if phase.started_at is None or phase.pid is None:
        return job.at(Queued())
    return job.at(Running(phase.started_at, phase.pid))


async def redone(renewal: Renewal, work: Callable[[], Awaitable[T]]) -> T:
    """Do something, and again once the index is sound if it met damage."""
    met: DatabaseCorrupt | None = None
    for _ in range(_TRIES):
        try:
            return await work()
        except DatabaseCorrupt as error:
            met = error
            await renewal.over()
    raise InternalError(detail=f"the index is damaged again and again: {met}")


async def until_done(renewal: Renewal, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
    """Do something in the background; whenever it meets damage, begin it again once the index is sound."""
    while True:
        try:
            await work()
        except DatabaseCorrupt:
            await _sound(renewal)
        else:
            return


async def _sound(renewal: Renewal) -> None:
    pause = 1.0
    while True:
        try:
            return await renewal.over()
        except Exception:  # noqa: BLE001 - `_renew` has logged it, and whoever works in the background goes on trying
            await anyio.sleep(pause)
            pause = min(pause * 2, _RESTED)
