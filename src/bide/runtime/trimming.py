"""What the ended jobs of a session and its vars may hold together: the oldest jobs are forgotten first, none before its time.

What is running is never touched, and nobody waits for this: it is done beside all else, a job at a time.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import partial

import anyio.to_thread

from bide.model.errors import BideError
from bide.model.job import Job
from bide.model.phase import Ended
from bide.runtime import ending
from bide.runtime.core import Core, now
from bide.runtime.place import Place
from bide.store.sessions import EndedJob

log = logging.getLogger(__name__)

PER_JOB = 200
_SOON = timedelta(seconds=1)


def watch(core: Core) -> None:
    """Look after the sessions of a runtime, from now on."""
    core.places.over = lambda place, job: _ended(core, place, job)


def _ended(core: Core, place: Place, job: Job) -> None:
    if not isinstance(job.phase, Ended):
        return
    out, err, shown = job.phase.end.out, job.phase.end.err, core.settings.sessions.shown_bytes
    if max(out.size, err.size) > shown:
        log.info("%s wrote %d and %d bytes; answers show the last %d of each", job.id, out.size, err.size, shown)
    if place.bytes is not None:
        place.bytes += out.size - out.head + err.size - err.head + len(job.spec.command.encode()) + PER_JOB
    look(core, place)


def look(core: Core, place: Place) -> None:
    """Have the oldest ended jobs of a session forgotten if these and its vars hold too much."""
    if place.bytes is None or place.bytes + place.vars_bytes > core.settings.sessions.bytes:
        _trim_soon(core, place)


def _trim_soon(core: Core, place: Place) -> None:
    if not place.trimming and core.places.open.get(place.id) is place:
        place.trimming = True
        core.spawn(partial(_trim, core, place))


async def _trim(core: Core, place: Place) -> None:
    again: timedelta | None = None
    try:
        again = await trim(core, place)
    finally:
        place.trimming = False
    if again is not None and not place.trims_later:
        place.trims_later = True
        core.hub.call_later(max(again, _SOON).total_seconds(), lambda: _trim_later(core, place))


def _trim_later(core: Core, place: Place) -> None:
    place.trims_later = False
    _trim_soon(core, place)


async def trim(core: Core, place: Place) -> timedelta | None:
    """Forget what is too much. If some of it is too young, when to look again."""
    # What ends from here on is counted beside; some of it perhaps twice, until it is counted anew.
    place.bytes = 0
    await core.settled()
    ended = await anyio.to_thread.run_sync(lambda: list(core.store.sessions.ended_jobs(place.id, place.first)))
    total = sum(job.bytes + PER_JOB for job in ended)
    limit, keep = core.settings.sessions.bytes - place.vars_bytes, core.settings.sessions.keep
    forgotten, again = 0, None
    for job in ended:
        if total <= limit:
            break
        left = job.ended_at + keep - now()
        if left > timedelta(0):
            again = left if again is None else min(again, left)
        elif await _forget(core, job):
            total -= job.bytes + PER_JOB
            forgotten += 1
    if forgotten:
        most = core.settings.sessions.bytes
        log.info("session %s held more than %d bytes: forgot its %d oldest jobs", place.id, most, forgotten)
    more = place.bytes > 0
    place.bytes += total
    if more and place.bytes > limit:
        return _SOON
    return again if total > limit else None


async def _forget(core: Core, job: EndedJob) -> bool:
    try:
        await ending.forget(core, job.id)
    except BideError as error:
        log.info("%s stays: %s", job.id, error)
        return False
    return True
