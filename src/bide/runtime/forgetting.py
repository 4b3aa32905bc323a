"""Removing what is over, so that a crash at any moment leaves row and folder in agreement.

An intention comes first: `new/gone-<id>` (an empty folder) before a job is forgotten, `new/drop-<id>` before its output
is dropped. Then the rows change, in one commit, and only then do files go. A runtime that finds an intention on its
start finishes what the row says was begun (see recovery), and takes back the rest.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from datetime import datetime

import anyio.to_thread

from bide.keeper import folder
from bide.runtime.core import Core
from bide.runtime.home import Home

GONE = "gone-"
"""What the folder of a job is called in `new`, before its id, while it is being forgotten."""
DROP = "drop-"
"""What stands in `new`, before the id of a job, while its output is being dropped."""


async def forget(core: Core, ids: Sequence[str], at: datetime, why: str) -> None:
    """Forget these ended jobs: record, output and folder."""
    await anyio.to_thread.run_sync(_forget, core, ids, at, why)


def _forget(core: Core, ids: Sequence[str], at: datetime, why: str) -> None:
    """All of it in a thread, which goes on when the caller is gone."""
    home = core.home
    for job in ids:
        with contextlib.suppress(FileExistsError):
            os.mkdir(os.path.join(home.new, GONE + job), 0o700)
    try:
        core.store.past.forget(ids, at, why).result()
    except Exception:
        for job in ids:
            take_back(home, job)
        raise
    for job in ids:
        finish_forgetting(home, job)
    core.hub.call_soon(core.keeping.events.ring)


def finish_forgetting(home: Home, job: str) -> None:
    """Its row is gone; so goes its folder, out of sight first and then for good."""
    gone = os.path.join(home.new, GONE + job)
    with contextlib.suppress(OSError):
        # Over the empty folder; one that is not empty was moved there before a crash.
        os.rename(home.job(job), gone)
    folder.remove(gone)
    if os.path.isdir(home.job(job)):
        folder.remove(home.job(job))


def take_back(home: Home, job: str) -> None:
    """Its row is still there; so it stays, or comes back."""
    gone = os.path.join(home.new, GONE + job)
    try:
        os.rmdir(gone)
    except OSError:
        os.rename(gone, home.job(job))


async def drop_outputs(core: Core, ids: Sequence[str], at: datetime) -> None:
    """Drop the outputs of these ended jobs. Their records stay, and say so."""
    await anyio.to_thread.run_sync(_drop, core, ids, at)


def _drop(core: Core, ids: Sequence[str], at: datetime) -> None:
    home = core.home
    for job in ids:
        os.close(os.open(os.path.join(home.new, DROP + job), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        with contextlib.suppress(FileNotFoundError):  # the folder may have been removed by hand
            folder.write_dropped(home.job(job), at)
    core.store.past.drop_outputs(ids, at).result()
    for job in ids:
        finish_dropping(home, job)


def finish_dropping(home: Home, job: str) -> None:
    """Its row says that its output is gone; so goes the output."""
    folder.remove_output(home.job(job))
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(home.new, DROP + job))
