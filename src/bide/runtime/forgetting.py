"""Removing what is over, so that a crash at any moment leaves row and folder in agreement.

An intention comes first: a list of the jobs in `new`, on disk. Then the rows change, in one commit, and only then do
files go; at last the list does. A runtime that finds such a list on its start finishes what the rows say was begun, and
takes back the rest. On a full disk there is no room for that: then the list is put on a page that a job's folder has
already, outputs go before the rows change, and what was begun is only ever finished. All of it is done in a thread,
which goes on when the caller is gone.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import time
from collections.abc import Sequence
from datetime import datetime

import anyio.to_thread

from bide.keeper import ends, folder, room
from bide.keeper.folder import NO_ROOM
from bide.model.errors import DiskFull
from bide.model.job import Job
from bide.model.phase import Ended, Reason
from bide.runtime.core import Core, now
from bide.runtime.home import Home
from bide.store.store import Store

FORGET = "forget-"
"""What the list of jobs that are being forgotten is called in `new`, before a random word."""
DROP = "drop-"
"""What the list of jobs whose output is being dropped is called."""
FREE = "free-"
"""What the list of jobs that are being forgotten is called if there was no room."""
LISTS = (FORGET, DROP, FREE)
_Ends = Sequence[tuple[str, Ended]]


async def forget(core: Core, ids: Sequence[str], at: datetime, why: str) -> None:
    """Forget these ended jobs: record, output and folder. Raises DiskFull if not even their outputs make room for that."""
    try:
        await core.settled()
        await anyio.to_thread.run_sync(_forget, core, ids, at, why, _ends(core, ids))
    except DiskFull:
        intention = await anyio.to_thread.run_sync(make_room, core.home, ids)
        core.keeping.store_again()
        await core.caught_up()
        await anyio.to_thread.run_sync(_forget_for_room, core, ids, at, why, _ends(core, ids))
        _over(core, intention)
    for job in ids:
        if (live := core.keeping.table.live.get(job)) is not None:
            core.keeping.table.drop(live)  # its row could not be moved to ended before, and is gone
    core.keeping.events.ring()


def _ends(core: Core, ids: Sequence[str]) -> _Ends:
    """The ends of those whose rows may not have them yet: on a full disk they follow later, but not after a tombstone."""
    lives = [live for job in ids if (live := core.keeping.table.live.get(job)) is not None]
    return [(live.job.id, live.job.phase) for live in lives if isinstance(live.job.phase, Ended)]


def _forget(core: Core, ids: Sequence[str], at: datetime, why: str, over: _Ends) -> None:
    intention = _intend(core.home, FORGET, ids)
    try:
        core.store.past.forget(ids, at, why, over).result()
    except Exception:
        os.unlink(intention)
        raise
    _remove(core.home, ids)
    _over(core, intention)


def _over(core: Core, intention: str) -> None:
    """Remove the list; where the index is in memory alone, leave it for the next one, which must not have these jobs again."""
    if not core.store.in_memory:
        os.unlink(intention)
    elif not os.path.basename(intention).startswith(FREE):
        os.rename(intention, os.path.join(core.home.new, FREE + secrets.token_hex(8)))


def _forget_for_room(core: Core, ids: Sequence[str], at: datetime, why: str, over: _Ends) -> None:
    core.home.reserve.with_room(lambda: core.store.past.forget(ids, at, why, over).result())
    _remove(core.home, ids)


def make_room(home: Home, ids: Sequence[str]) -> str:
    """Begin with the outputs. Raises DiskFull if there is no page for the list."""
    intention = os.path.join(home.new, FREE + secrets.token_hex(8))
    if not any(room.turn_page(home.job(job), json.dumps(list(ids)).encode(), intention) for job in ids):
        intention = home.reserve.with_room(lambda: _intend(home, FREE, ids))
    for job in ids:
        room.empty_output(home.job(job))
    return intention


def _remove(home: Home, ids: Sequence[str]) -> None:
    for job in ids:
        folder.remove(home.job(job))


async def drop_outputs(core: Core, ids: Sequence[str], at: datetime) -> None:
    """Drop the outputs of these ended jobs. Their records stay, and say so."""
    await anyio.to_thread.run_sync(_drop, core, ids, at)


def _drop(core: Core, ids: Sequence[str], at: datetime) -> None:
    reserve = core.home.reserve
    intention = reserve.with_room(lambda: _intend(core.home, DROP, ids))
    for job in ids:
        with contextlib.suppress(FileNotFoundError):  # the folder may have been removed by hand
            reserve.with_room(lambda job=job: _mark_dropped(core.home.job(job), at))
    try:
        core.store.past.drop_outputs(ids, at).result()
        _remove_outputs(core.home, ids)
    except DiskFull:
        # The files already say so: the next runtime would do this, too.
        _remove_outputs(core.home, ids)
        reserve.with_room(lambda: core.store.past.drop_outputs(ids, at).result())
    os.unlink(intention)


def _mark_dropped(path: str, at: datetime) -> None:
    """Write it to the job's folder; on a full disk, over a page that is there."""
    try:
        folder.write_dropped(path, at)
    except OSError as error:
        if error.errno not in NO_ROOM or not room.turn_page(path, folder.dropped_line(at), f"{path}/dropped"):
            raise


def _remove_outputs(home: Home, ids: Sequence[str]) -> None:
    for job in ids:
        folder.remove_output(home.job(job))


def _intend(home: Home, what: str, ids: Sequence[str]) -> str:
    path = os.path.join(home.new, what + secrets.token_hex(8))
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, json.dumps(list(ids)).encode())
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError as error:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        if error.errno in NO_ROOM:
            raise DiskFull(home=home.path) from error
        raise
    return path


def finish(home: Home, store: Store, name: str) -> None:
    """Finish, or take back, what a list in `new` says was begun by a runtime that is gone."""
    path = os.path.join(home.new, name)
    try:
        ids: list[str] = json.loads(folder.read_small(path) or b"[]")
    except ValueError:
        ids = []  # it was being written, and nothing was begun
    try:
        for job in ids:
            home.reserve.with_room(lambda job=job: _finish(home, store, name, job))
    except DiskFull:
        return  # the next runtime tries again
    if not store.in_memory:
        os.unlink(path)


def _finish(home: Home, store: Store, name: str, job: str) -> None:
    path = home.job(job)
    if name.startswith(DROP):
        if (at := folder.read_dropped(path)) is not None:
            folder.remove_output(path)
            store.past.drop_outputs([job], at).result()
        return
    if name.startswith(FREE):
        room.empty_output(path)
        row = store.get(job)
        over = [] if row is None else [(job, _end(row, path))]
        store.past.forget([job], now(), "", over).result()
    if store.get(job) is None:
        folder.remove(path)


def _end(job: Job, path: str) -> Ended:
    """How a job ended that was being forgotten: its row may not say it yet, and its folder may be gone."""
    record = ends.record_of(Reason.LOST, error=ends.LOST_FOLDER, now_ms=time.time_ns() // 1_000_000)
    return ends.read(job, path) or ends.ended(job, record)
