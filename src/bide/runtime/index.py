"""The index over the job folders: opening it, and making it anew where it cannot be believed.

The folders are the truth. The index is believed only as long as its seal says that nobody but us has written to it and that
no commit is missing; otherwise every folder is read.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from bide.keeper import ends, folder
from bide.model.errors import BideError, DiskFull
from bide.model.job import Job
from bide.model.phase import Ended, Queued, Running
from bide.runtime import places
from bide.runtime.home import Home
from bide.runtime.place import write_whole
from bide.store import files
from bide.store.anew import Anew
from bide.store.faults import VALUE_ERRORS, DatabaseCorrupt
from bide.store.salvage import Salvage
from bide.store.store import Store

log = logging.getLogger(__name__)

T = TypeVar("T")

RECORD = "index-rebuilt.json"
"""What `bide doctor` says of the last time."""
_BATCH = 200
_SWITCH_SECONDS = 0.0005


def open_index(home: Home) -> Store:
    """Return the home's database, once it is known to be right; it is made anew from the job folders if need be."""
    files.make_way(Path(home.database))
    if not os.path.exists(home.database):
        return rebuilt(home, "there was none")
    try:
        store = Store(home.database)
    except DatabaseCorrupt as error:
        return rebuilt(home, str(error))
    try:
        why = (store.doubt and f"{home.database}: {store.doubt}") or _damage(store)
    except BaseException:
        store.close()
        raise
    return rebuilt(home, why, store) if why else store


def _damage(store: Store) -> str:
    """Say what of the index cannot be read, of what is needed at once."""
    try:
        store.probe()
    except DatabaseCorrupt as error:
        return str(error)
    return ""


def rebuilt(home: Home, why: str, old: Store | None = None, *, held: Collection[str] | None = None) -> Store:
    """Make another database from the job folders, and return it; `old` is closed.

    What no folder has is taken from the old one as far as it can be read. `held` are the jobs that the runtime holds as
    active, if it serves already: then folders come and go, and one that is not complete is left alone.

    Where the disk has no room for it, it is kept in memory until the disk has, or the next start.
    """
    if old is not None:
        old.condemn(why)
    try:
        return home.reserve.with_room(lambda: _rebuilt(home, why, old, held))
    except DiskFull:
        log.warning("the disk is full: the index is built in memory, from the job folders")
        return _rebuilt(home, why, old, held, in_memory=True)


def _rebuilt(
    home: Home, why: str, old: Store | None, held: Collection[str] | None, *, in_memory: bool = False
) -> Store:
    began, interval = time.monotonic(), sys.getswitchinterval()
    anew = Anew(home.database, old, in_memory=in_memory, fresh=home.fresh)
    try:
        sys.setswitchinterval(_SWITCH_SECONDS)  # whoever shares the interpreter with this thread is not to notice it
        count = _fill(home, anew, held)
        places.rebuild(home, anew.store)
        aside = anew.finish(time.strftime("%Y%m%dT%H%M%S", time.gmtime()))
    except BaseException:
        anew.abandon()
        raise
    finally:
        sys.setswitchinterval(interval)
    if not home.fresh:
        kept = f"; what could not be read is kept in {aside}" if aside else ""
        took = time.monotonic() - began
        log.warning("the index was rebuilt from %d job folders in %.1f s, because %s%s", count, took, why, kept)
        _record(home, {"at_ms": time.time_ns() // 1_000_000, "why": why, "jobs": count, "aside": aside})
    return anew.store if in_memory else Store(home.database)


def _record(home: Home, facts: dict[str, object]) -> None:
    with suppress(OSError):
        write_whole(os.path.join(home.path, RECORD), json.dumps(facts).encode(), sync=False)


def _fill(home: Home, anew: Anew, held: Collection[str] | None) -> int:
    batch: list[Job] = []
    count = 0
    for job in _jobs(home, anew.salvage, held):
        batch.append(job)
        if len(batch) >= _BATCH:
            count += _add(anew, batch)
            batch = []
    return count + _add(anew, batch)


def _add(anew: Anew, batch: list[Job]) -> int:
    try:
        return anew.add(batch)
    except (BideError, OSError, *VALUE_ERRORS):
        if len(batch) == 1:
            log.exception("%s cannot be recorded; its folder is left alone", batch[0].id)
            return 0
    return sum(_add(anew, [job]) for job in batch)


def _jobs(home: Home, salvage: Salvage, held: Collection[str] | None) -> Iterator[Job]:
    active = salvage.active.union(held or ())
    names = sorted(os.listdir(home.jobs))
    for name in names:
        job = _read_job(home, name, salvage, active=name in active, serving=held is not None)
        if job is not None:
            yield job
    # Their rows were durable before their folders were: a machine that went down may have kept the one without the other.
    for name in sorted(salvage.active.difference(names)):
        job = salvage.job(name)
        if job is not None:
            yield job


def _read_job(home: Home, name: str, salvage: Salvage, *, active: bool, serving: bool) -> Job | None:
    """Return the job of a folder. The end of one that was `active` in the index is left for recovery, which tells of it.

    What the folder does not tell is taken from the job's row: a power cut can take the contents of a file that was written
    some seconds before, and the row was on disk before anybody knew the job's id.
    """
    path = home.job(name)
    spec = _tried(folder.read_spec, path)
    job = spec[0] if spec is not None and spec[0].id == name else None if serving else _mended(salvage.job(name), path)
    if job is None:
        if not serving:
            _put_aside(home, name)
        return None
    job = job.at(Queued())
    ended = None if active else _tried(partial(ends.read, job), path) or _end_of(salvage, name, path)
    if ended is not None:
        dropped_at = _tried(folder.read_dropped, path)
        return job.at(ended) if dropped_at is None else job.at(ended).without_output(dropped_at)
    started = _tried(folder.read_started, path)
    if started is not None and started.ticks:
        return job.at(Running(started_at=started.at, pid=started.pid))
    return job


def _tried(read: Callable[[str], T | None], path: str) -> T | None:
    """Read something of a folder; `None` if the system does not let us."""
    try:
        return read(path)
    except OSError as error:
        log.warning("%s: %s", error.filename or path, error.strerror)
        return None


def _mended(row: Job | None, path: str) -> Job | None:
    """Write what the row of a job says into its folder, which does not tell it any more."""
    if row is None:
        return None
    try:
        folder.mend_spec(path, row)
    except OSError as error:
        log.warning("%s is damaged and cannot be mended: %s", path, error.strerror)
        return None
    log.warning("what was asked for could not be read in %s; it was written again from the index", path)
    return row


def _end_of(salvage: Salvage, name: str, path: str) -> Ended | None:
    """Return the end that the row of a job has, if the folder has one that cannot be read."""
    if not os.path.lexists(f"{path}/end"):
        return None
    row = salvage.job(name)
    return row.phase if row is not None and isinstance(row.phase, Ended) else None


def _put_aside(home: Home, name: str) -> None:
    """Move what is not a complete job folder out of the way; nothing is deleted."""
    try:
        os.makedirs(home.quarantine, mode=0o700, exist_ok=True)
        shutil.move(home.job(name), os.path.join(home.quarantine, name))
    except (OSError, shutil.Error) as error:
        log.error("%s is not a complete job folder, and cannot be moved away: %s", home.job(name), error)  # noqa: TRY400
    else:
        log.error("%s is not a complete job folder; it was moved to %s", home.job(name), home.quarantine)
