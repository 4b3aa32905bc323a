"""A run in a session is over: what it changed goes into the session, before anybody is told of its end."""

from __future__ import annotations

import contextlib
import json
import logging
import os
from typing import Any

from bide.keeper import folder
from bide.model.job import Job
from bide.model.phase import Ended, Reason
from bide.model.session import seq_of
from bide.model.state import Begun, Held, merge, read_left
from bide.runtime.keeping import Keeping
from bide.runtime.live import Live
from bide.runtime.place import Place
from bide.runtime.places import Places
from bide.runtime.reserve import is_full
from bide.store.store import Store

log = logging.getLogger(__name__)

_FILES = ("state", "begun", "shell")


def leave(places: Places, keeping: Keeping, live: Live, phase: Ended) -> bool:
    """Whether `end` is called later, when what the run left is on disk."""
    job = live.job
    place = places.open.get(job.session or "")
    if place is None or live.doomed or not place.holds(job):
        return False
    held = _after(places, place, job, phase, live.path)
    if held == place.held:
        _remove(places, place, job.id)
        places.over(place, job.at(phase))
        return False
    place.held = held
    live.leaving = True
    written = places.write(place)

    def done() -> None:
        live.leaving = False
        if (error := written.exception()) is None:
            _remove(places, place, job.id)
        else:
            log.error("what %s left in session %s could not be written: %s", job.id, place.id, error)
        places.over(place, job.at(phase))
        keeping.end(live, phase)

    written.add_done_callback(lambda _: keeping.hub.call_soon(done))
    return True


def _after(places: Places, place: Place, job: Job, phase: Ended, path: str) -> Held:
    """What the session holds after the job."""
    if job.spec.background or phase.end.reason is not Reason.EXITED:
        return place.held
    left = read_left(folder.read_small(places.file(place.id, "state", job.id)) or b"")
    if left is None:
        return place.held
    began = _began(places.file(place.id, "begun", job.id))
    begun = Begun(job.spec.cwd, folder.read_env(path), began.get("shell", {}), began.get("vars", {}))
    held = merge(place.held, begun, left)
    if held.note:
        log.warning("%s in session %s: %s", job.id, place.id, held.note)
    return held


def _began(path: str) -> dict[str, Any]:
    with contextlib.suppress(OSError, ValueError), open(path, "rb") as file:
        return json.load(file)
    return {}


def take_up(places: Places, keeping: Keeping, store: Store) -> None:
    """What runs left that ended while nobody was there, and whose ends are on record: in the order of their numbers."""
    for place in places.open.values():
        names = os.listdir(places.folder(place.id))
        jobs = {name.partition(".")[2].removesuffix(".tmp") for name in names if name.startswith(tuple(_FILES))}
        for name in sorted(jobs, key=lambda name: seq_of(name, place.id)):
            if name not in keeping.table.live:
                _take_up(places, place, store.get(name), name)


def _take_up(places: Places, place: Place, job: Job | None, name: str) -> None:
    if job is not None and isinstance(job.phase, Ended) and place.holds(job):
        place.held = _after(places, place, job, job.phase, places.home.job(job.id))
        try:
            places.write(place).result()
        except OSError as error:
            if not is_full(error):
                raise
            log.warning("what %s left in session %s could not be written: the disk is full", job.id, place.id)
            return  # its files stay, for the next runtime
    _remove(places, place, name)


def _remove(places: Places, place: Place, name: str) -> None:
    for what in _FILES:
        for suffix in ("", ".tmp"):
            with contextlib.suppress(OSError):
                os.unlink(places.file(place.id, what, name) + suffix)
