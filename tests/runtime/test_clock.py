"""A wall clock that jumps under the daemon: durations, limits and waits are by a monotonic clock. Checklist 267."""

import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
from tests.support import homes
from tests.support.clocks import Clock
from tests.support.gates import Gate
from tests.support.patience import LONG, end_of, ended

from bide import Filter, Limits, Reason, Until
from bide.api import Jobs
from bide.model.errors import JobForgotten

HOUR = 3600
PLAIN = dict(os.environ)
"""Jobs have the machine's own clock."""


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock for the daemon that the test is about to start."""
    found = Clock(tmp_path)
    for name, value in found.env.items():
        monkeypatch.setenv(name, value)
    return found


@pytest.fixture
async def jobs(clock: Clock, home: Path) -> AsyncIterator[Jobs]:
    """A daemon whose clock the test can set; it shows that it has it."""
    clock.jump(10 * HOUR)
    async with homes.remote(home) as found:
        job = (await found.run("true", base_env=PLAIN)).job
        assert job.created_at - datetime.now(UTC) > timedelta(hours=9)
        clock.jump(0)
        yield found


@pytest.mark.parametrize("jump", [HOUR, -HOUR], ids=["forward", "back"])
async def test_a_job_takes_as_long_as_it_takes(jobs: Jobs, clock: Clock, gate: Gate, jump: int) -> None:
    limits = Limits(timeout=LONG, idle=LONG)
    job = (await jobs.run(f"{gate.wait}; exit 3", background=True, limits=limits, base_env=PLAIN)).job
    clock.jump(jump)
    assert (await jobs.wait([job.id], timeout=timedelta(seconds=0.3))).timed_out
    gate.open()
    end = (await end_of(jobs, job.id)).end
    assert (end.reason, end.exit_code) == (Reason.EXITED, 3)
    assert timedelta(seconds=0.2) < end.duration < LONG


@pytest.mark.parametrize("jump", [HOUR, -HOUR], ids=["forward", "back"])
async def test_waits_and_limits_last_as_long_as_they_say(jobs: Jobs, clock: Clock, jump: int) -> None:
    limits = Limits(timeout=timedelta(seconds=1))
    job = (await jobs.run("sleep 1000", background=True, limits=limits, base_env=PLAIN)).job.id
    began = anyio.current_time()
    clock.jump(jump)
    assert (await jobs.wait([job], timeout=timedelta(seconds=0.2))).timed_out
    assert (await jobs.wait([job], until=Until(quiet_seconds=0.2), timeout=LONG)).met == "quiet"
    clock.jump(0)
    assert anyio.current_time() - began < 1
    assert (await end_of(jobs, job)).end.reason is Reason.TIMED_OUT
    assert 0.9 < anyio.current_time() - began < 5


async def test_ending_a_session_ends_jobs_from_before_it_by_the_clock(jobs: Jobs, clock: Clock, gate: Gate) -> None:
    """The clock is set back after the session began: its jobs seem older than the session."""
    clock.jump(HOUR)
    await jobs.sessions.start("s", base_env=PLAIN)
    clock.jump(-HOUR)
    job = (await jobs.run(gate.wait, session="s", background=True)).job.id
    found = await jobs.sessions.get("s")
    assert (found.running, [one.id for one in found.jobs]) == (1, [job])
    assert (await jobs.sessions.end("s", forget=True)).killed == (job,)
    with pytest.raises(JobForgotten):
        await jobs.get(job)


async def test_jobs_stay_in_the_order_they_were_started(jobs: Jobs, clock: Clock) -> None:
    started: list[str] = []
    for jump in (0, HOUR, -HOUR, 2 * HOUR, 0):
        clock.jump(jump)
        job = (await jobs.run(f"echo {jump}", name="same", base_env=PLAIN)).job
        assert ended(job).end.success
        started.append(job.id)
    assert len(set(started)) == 5
    page = await jobs.list(Filter(name="same"))
    assert [job.id for job in page.jobs] == started[::-1]
    assert (await jobs.get("same")).id == started[-1]
