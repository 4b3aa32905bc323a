"""Finds the job from which a process speaks to us, whatever the process says of itself.

A job's processes are below its keeper, also those that detached: the keeper is their subreaper. Where the keeper died, they
are found by their session and by the start of their environment, which a program can change: see docs/decisions/039.
"""

from __future__ import annotations

import contextlib
import os
from collections import OrderedDict

from msgspec import Struct

from bide.gate import RESERVE
from bide.keeper import folder, launch
from bide.model.errors import JobNotFound
from bide.model.job import ID_PATTERN, Job
from bide.model.phase import Running
from bide.runtime.core import Core

_KEPT = 4096
_STAT = 1024
_ENVIRONMENT = 1 << 20
_KEEPER = b"bide-keeper"
_DEPTH = 4096


class PeerVanished(Exception):
    """The process that connected is gone, so that nobody knows whose it was."""


class _Process(Struct, frozen=True):
    start: int
    parent: int
    name: bytes


class Peers:
    """Knows the jobs of processes that connect; each process is looked up once."""

    def __init__(self, core: Core) -> None:
        """For the jobs of this home."""
        self._core = core
        self._known: OrderedDict[tuple[int, int], str] = OrderedDict()
        """The ids of jobs by pid and start time; empty for a process of no job."""

    def job(self, pid: int) -> Job | None:
        """Return the job that a process belongs to; None for one of no job. Raises PeerVanished."""
        if pid <= 0:
            return None  # it is in another pid namespace, where no job of ours can be
        found = self._found(pid)
        try:
            return self._core.find(found) if found else None
        except JobNotFound:
            return None

    def _found(self, pid: int) -> str:
        # Without a descriptor nobody could be looked up, and so nobody let in, just when the owner must be.
        with RESERVE.free():
            return self._looked_up(pid)

    def _looked_up(self, pid: int) -> str:
        process = _look(pid)
        if process is None:
            raise PeerVanished
        key = (pid, process.start)
        job = self._known.get(key)
        if job is None:
            job = self._known[key] = self._above(process, pid) or self._marked(pid)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return job

    def _above(self, process: _Process | None, pid: int) -> str:
        """The job whose keeper is above a process; empty for none. A program can pose as a keeper: the topmost is ours."""
        job, ours = "", os.getpid()
        for _ in range(_DEPTH):
            if process is None:
                break
            if process.name == _KEEPER:
                job = self._kept_by(pid) or job
            pid = process.parent
            if pid in (0, 1, ours):
                break
            process = _look(pid)
        return job

    def _kept_by(self, keeper: int) -> str:
        """The job whose keeper this process is; empty if it is none."""
        try:
            path = os.readlink(f"/proc/{keeper}/cwd")
        except OSError:
            return ""
        job = os.path.basename(path)
        if path != self._core.home.job(job):
            return ""
        with contextlib.suppress(OSError):
            found = launch.live_keeper(path)
            if found is not None:
                os.close(found[1])
                return job if found[0] == keeper else ""
        return ""

    def _marked(self, pid: int) -> str:
        """The job that the session or the environment of a process names; empty for none."""
        try:
            session = os.getsid(pid)
        except OSError:
            session = 0
        for live in self._core.keeping.table.live.values():
            if isinstance(live.job.phase, Running) and live.job.phase.pid == session:
                return live.job.id
        variables = _environment(pid)
        job = variables.get(folder.MARKER, "")
        return job if variables.get("BIDE_HOME") == self._core.home.path and ID_PATTERN.match(job) else ""


def _look(pid: int) -> _Process | None:
    data = _read(f"/proc/{pid}/stat", _STAT)
    head, _, rest = data.rpartition(b")")
    fields = rest.split()
    if len(fields) < 20 or fields[0] in (b"Z", b"X"):
        return None
    return _Process(int(fields[19]), int(fields[1]), head.partition(b"(")[2])


def _environment(pid: int) -> dict[str, str]:
    pairs = (pair.partition(b"=") for pair in _read(f"/proc/{pid}/environ", _ENVIRONMENT).split(b"\0"))
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs if name in (b"BIDE_JOB", b"BIDE_HOME")}


def _read(path: str, most: int) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, most)
    except OSError:
        return b""
    finally:
        os.close(fd)
