"""After a restart: every active job where its folder says it is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator

from bide.keeper import folder, launch
from bide.model.job import Job
from bide.runtime import spares
from bide.runtime.forgetting import LISTS, finish
from bide.runtime.home import Home
from bide.runtime.keeping import Keeping
from bide.runtime.queue import Queue


def recover(home: Home, keeping: Keeping, queue: Queue) -> None:
    """Take up all active jobs; clear away what was prepared but never started."""
    for name in os.listdir(home.new):
        if name.startswith(LISTS):
            finish(home, keeping.store, name)
    active = keeping.store.active()
    known = {str(job.id) for job in active}
    for job in _prepared(home, known):
        home.reserve.with_room(lambda job=job: keeping.store.add([job]).result())
        active.append(job)
    lives = keeping.take_up(active)
    queue.take_up(lives)
    for live in lives:
        if not live.held:
            keeping.recover(live)
    queue.open()
    keeping.groups.sweep({str(job.id) for job in active})


def _prepared(home: Home, known: Collection[str]) -> Iterator[Job]:
    """Yield the jobs of folders in `new` whose rows are not known; clear away the others."""
    for name in os.listdir(home.new):
        if name.startswith(spares.PREFIX):
            folder.remove(os.path.join(home.new, name))
        elif not (name.startswith(LISTS) or name in known) and (job := _take_up(home, name)) is not None:
            yield job


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
