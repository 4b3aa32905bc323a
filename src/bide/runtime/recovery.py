"""After a restart: a database that can be used, and every active job where its folder says it is."""

from __future__ import annotations

import logging
import os
import shutil
import time

from bide.keeper import ends, folder, launch
from bide.model.errors import DiskFull
from bide.model.job import Job
from bide.model.phase import Queued, Running
from bide.runtime import places, spares
from bide.runtime.forgetting import LISTS, finish
from bide.runtime.home import Home
from bide.runtime.keeping import Keeping
from bide.runtime.queue import Queue
from bide.store.faults import DatabaseCorrupt
from bide.store.files import Access, quarantine
from bide.store.store import Store

log = logging.getLogger(__name__)

_BATCH = 500


def open_store(home: Home) -> Store:
    """The home's database; a missing or unusable one is made anew from the job folders.

    A full disk leaves ways of opening it that need less room; the last keeps the index in memory.
    """
    try:
        return _sound(home, Access.SHARED)
    except DiskFull:
        log.warning("the disk is full: the database is opened without shared memory")
    try:
        return home.reserve.with_room(lambda: _sound(home, Access.ALONE))
    except DiskFull:
        log.warning("the disk is full: the index is built in memory, from the job folders")
    return _sound(home, Access.MEMORY)


def _sound(home: Home, access: Access) -> Store:
    try:
        return _filled(home, access)
    except DatabaseCorrupt as error:
        _set_aside(home, str(error))
        return _filled(home, access)


def _filled(home: Home, access: Access) -> Store:
    store = Store(home.database, access)
    try:
        if store.created:
            rebuild(home, store)
        store.probe()
    except BaseException:
        store.close()
        raise
    return store


def _set_aside(home: Home, why: str) -> None:
    aside = quarantine(home.database, time.strftime("%Y%m%dT%H%M%S", time.gmtime()))
    log.warning("the database cannot be used (%s); moved to %s, rebuilt from the job folders", why, aside)


def rebuild(home: Home, store: Store) -> int:
    """Fill an empty database from the job folders; what cannot be read is set aside, never deleted."""
    batch: list[Job] = []
    queued: list[Job] = []
    count = 0
    for name in sorted(os.listdir(home.jobs)):
        job = _read_job(home, name)
        if job is None:
            continue
        if isinstance(job.phase, Queued):
            queued.append(job)
            continue
        batch.append(job)
        if len(batch) >= _BATCH:
            count += store.add(batch).result()
            batch = []
    # Those that wait come last and in the order in which they were asked for: it is that of their turns.
    queued.sort(key=lambda job: (job.created_at, job.id))
    count += store.add(batch + queued).result()
    places.rebuild(home, store)
    if count:
        log.warning("the database was rebuilt from %d job folders", count)
    return count


def _read_job(home: Home, name: str) -> Job | None:
    path = home.job(name)
    spec = folder.read_spec(path)
    if spec is None or spec[0].id != name:
        os.makedirs(home.quarantine, mode=0o700, exist_ok=True)
        shutil.move(path, os.path.join(home.quarantine, name))
        log.error("%s is not a complete job folder; it was moved to %s", path, home.quarantine)
        return None
    job = spec[0].at(Queued())
    ended = ends.read(job, path)
    if ended is not None:
        dropped_at = folder.read_dropped(path)
        return job.at(ended) if dropped_at is None else job.at(ended).without_output(dropped_at)
    started = folder.read_started(path)
    if started is not None and started.ticks:
        return job.at(Running(started_at=started.at, pid=started.pid))
    return job


def renew(home: Home, keeping: Keeping, *, damaged: bool) -> None:
    """Another database, from the job folders and the active jobs, in place of one that was deleted or is damaged."""
    if damaged:
        _set_aside(home, "it is damaged")
    old = keeping.store
    if old.access is Access.ALONE:
        old.close()  # it keeps every other connection out
    keeping.use(open_store(home))
    old.close()
    keeping.store.add([live.job for live in keeping.table.live.values() if not live.doomed])
    keeping.renewed()
    for told in keeping.kept_anew:
        told()


def recover(home: Home, keeping: Keeping, queue: Queue) -> None:
    """Take up all active jobs; clear away what was prepared but never started."""
    keeping.renew = lambda: renew(home, keeping, damaged=True)
    active = keeping.store.active()
    known = {str(job.id) for job in active}
    for name in os.listdir(home.new):
        if name.startswith(LISTS):
            finish(home, keeping.store, name)
        elif name.startswith(spares.PREFIX):
            folder.remove(os.path.join(home.new, name))
        elif name not in known and (job := _take_up(home, name)) is not None:
            home.reserve.with_room(lambda job=job: keeping.store.add([job]).result())
            active.append(job)
    lives = keeping.take_up(active)
    queue.take_up(lives)
    for live in lives:
        if not live.held:
            keeping.recover(live)
    queue.open()
    keeping.groups.sweep({str(job.id) for job in active})


def _take_up(home: Home, name: str) -> Job | None:
    """A folder whose row was never committed: nobody was given its id. If it started it is a job all the same."""
    path = os.path.join(home.new, name)
    spec = folder.read_spec(path)
    if spec is None:
        shutil.rmtree(path, ignore_errors=True)
        return None
    lock = launch.seize(path)
    if lock is None:
        return spec[0]
    try:
        if folder.read_started(path) is not None or folder.read_end(path) is not None:
            return spec[0]
        shutil.rmtree(path, ignore_errors=True)
        return None
    finally:
        os.close(lock)
