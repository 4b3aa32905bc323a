"""Whether a service is ready: what its folder says, and waiting for it. `watching` sees to it that the folder says so."""

from __future__ import annotations

import time
from collections.abc import Callable

from bide.keeper import services
from bide.model.phase import Queued, Running
from bide.runtime.hub import heard
from bide.runtime.live import Live


def is_ready(live: Live) -> bool:
    """Whether it runs and is ready."""
    return isinstance(live.job.phase, Running) and services.read_ready(live.path) is not None


async def ready_or_ended(live: Live) -> None:
    """Return when a service is ready, is over, or has had its time."""
    service = live.job.spec.service
    await until(live, lambda: not isinstance(live.job.phase, Queued))
    seconds = 0 if service is None else service.ready_timeout.total_seconds()
    await until(live, lambda: live.ended or is_ready(live), seconds)


async def until(live: Live, condition: Callable[[], bool], seconds: float | None = None) -> None:
    """Return when the condition holds, or the time is up. It is looked at whenever something changes."""
    due = None if seconds is None else time.monotonic() + seconds
    while True:
        with heard([live.changed]) as alarm:
            left = None if due is None else due - time.monotonic()
            if condition() or (left is not None and left <= 0):
                return
            await alarm.wait(left)
