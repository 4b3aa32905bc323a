"""How long a job has run, by a clock that nobody sets."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta

from bide.model.job import Job
from bide.model.phase import Ended, Running

_TICK = 1 / os.sysconf("SC_CLK_TCK")
_START_TIME = 19
"""The field of the start time in what follows the name in /proc/PID/stat."""


def elapsed(job: Job) -> timedelta:
    """Return how long a job has run, or ran; of one that is queued, how long ago it was asked for."""
    if isinstance(job.phase, Ended):
        return job.phase.end.duration
    if isinstance(job.phase, Running):
        ran = _age(job.phase.pid)
        if ran is not None:
            return ran
    since = job.phase.started_at if isinstance(job.phase, Running) else job.created_at
    return max(timedelta(0), datetime.now(UTC) - since)


def _age(pid: int) -> timedelta | None:
    """Return how long ago a process began, or nothing if it is gone. The wall clock may have been set meanwhile."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[_START_TIME])
    except (OSError, ValueError, IndexError):
        return None
    return timedelta(seconds=max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks * _TICK))
