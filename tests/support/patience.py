"""Waiting in tests: for a fact, never for a while."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import anyio

from bide import Ended, Job
from bide.api import Jobs

PATIENCE = 20.0
"""Seconds until a test gives up; nothing here takes that long unless it is broken."""
LONG = timedelta(seconds=PATIENCE)

_TICK = 0.005


async def eventually(holds: Callable[[], bool] | Callable[[], Awaitable[bool]], within: float = PATIENCE) -> None:
    """Return when the condition holds; fail if that takes too long."""
    with anyio.fail_after(within):
        while True:
            found = holds()
            if found if isinstance(found, bool) else await found:
                return
            await anyio.sleep(_TICK)


async def end_of(jobs: Jobs, job: str) -> Ended:
    """How a job ended, once it has."""
    waited = await jobs.wait([job], timeout=LONG)
    phase = waited.jobs[0].phase
    assert isinstance(phase, Ended), f"{job} is still {waited.jobs[0].phase_name}"
    return phase


def ended(job: Job) -> Ended:
    """How a job that is over ended."""
    assert isinstance(job.phase, Ended), f"{job.id} is still {job.phase_name}"
    return job.phase
