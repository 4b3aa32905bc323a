"""A folder whose job waits for its turn: its spec names no boot, so that nobody can have started it in any.

The name of the boot is written into the spec, and synced, before a keeper is asked for: from then on the job may have
run. Whatever crashes, and however often, a job that waits is told from one that may have run.
"""

from __future__ import annotations

import os
from contextlib import suppress

from bide.keeper.folder import read_small, sync_folder, with_groups
from bide.keeper.groups import ORDERS, Groups, needed
from bide.model.job import Job

NO_BOOT = ""
_HEAD = 256
_MARK = b"\0boot=\0"


def is_held(path: str) -> bool:
    """Whether its job was never let go of."""
    try:
        fd = os.open(os.path.join(path, "spec"), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return _MARK in os.read(fd, _HEAD)
    except OSError:
        return False
    finally:
        os.close(fd)


def sync(path: str) -> None:
    """Return when the folder of a job that waits is on disk, with all that the job will read: it outlives the machine."""
    for name in ("spec", "in", "in.keys"):
        with suppress(FileNotFoundError), open(os.path.join(path, name), "rb") as file:
            os.fsync(file.fileno())
    sync_folder(path)
    sync_folder(os.path.dirname(path))


def let_go(path: str, boot: str, job: Job, groups: Groups) -> None:
    """Say, on disk, that its job may run in this boot; what its limits need is made again if a restart took it.

    Raises OSError, and then nothing was said.
    """
    spec = os.path.join(path, "spec")
    data = read_small(spec)
    if data is None:
        raise FileNotFoundError(spec)
    data = data.replace(_MARK, b"\0boot=" + os.fsencode(boot) + b"\0", 1)
    _replace(path, _grouped(data, job, groups))


def group_again(path: str, job: Job, groups: Groups) -> None:
    """Make the groups of a job that has not started again, where its scope is gone, and order its keeper to use them.

    Raises OSError.
    """
    data = read_small(os.path.join(path, "spec"))
    if data is not None:
        _replace(path, _grouped(data, job, groups))


def _grouped(data: bytes, job: Job, groups: Groups) -> bytes:
    if groups.has(job.id) or not needed(job.spec.limits):
        return data
    return with_groups(data, groups.make_again(job.id, job.spec.limits, dict(job.spec.enforced)), ORDERS)


def _replace(path: str, data: bytes) -> None:
    spec, temporary = os.path.join(path, "spec"), os.path.join(path, "spec.tmp")
    with suppress(FileNotFoundError):
        os.unlink(temporary)
    with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.rename(temporary, spec)
    sync_folder(path)
