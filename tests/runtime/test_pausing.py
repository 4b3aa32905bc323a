"""A running job that is stopped for a while, with its whole tree."""

import os
import signal
from datetime import timedelta
from pathlib import Path

import pytest
from tests.support import homes, processes
from tests.support.gates import Gate
from tests.support.patience import LONG, end_of, ended, eventually

from bide import Job, Limits, Reason, Running, Until
from bide.api import Jobs
from bide.keeper import launch
from bide.model.errors import JobEnded

FORKS = "while :; do (:); done"
TREE = "setsid sleep 1000 & (sleep 1000; :) & echo up; wait"


def tree(job: str) -> list[int]:
    """Every process that has the job's mark."""
    return [
        pid for pid in processes.pids() if f"BIDE_JOB={job}".encode() in processes.read(pid, "environ").split(b"\0")
    ]


def is_paused(job: Job) -> bool:
    return job.facts is not None and job.facts.paused


def states(job: str) -> set[str]:
    return {processes.state(pid) for pid in tree(job)} - {"", "Z", "X"}


async def test_a_paused_job_stands_still_with_its_whole_tree_and_goes_on_when_it_is_resumed(jobs: Jobs) -> None:
    job = (await jobs.run(TREE, background=True)).job.id
    await jobs.wait([job], until=Until(log="up"), timeout=LONG)
    paused = await jobs.send(job, pause=True)
    assert is_paused(paused)
    assert isinstance(paused.phase, Running)
    assert states(job) == {"T"}
    assert len(tree(job)) >= 3
    assert is_paused(await jobs.send(job, pause=True))
    resumed = await jobs.send(job, pause=False)
    assert not is_paused(resumed)
    assert "T" not in states(job)
    assert not is_paused(await jobs.get(job))


async def test_a_tree_that_forks_all_the_time_is_stopped_whole(jobs: Jobs) -> None:
    job = (await jobs.run(FORKS, background=True)).job.id
    assert is_paused(await jobs.send(job, pause=True))
    assert states(job) == {"T"}


async def test_a_paused_job_can_be_killed(jobs: Jobs) -> None:
    job = (await jobs.run("trap 'exit 7' TERM; echo up; sleep 1000 & wait", background=True)).job.id
    await jobs.wait([job], until=Until(log="up"), timeout=LONG)
    await jobs.send(job, pause=True)
    killed = await jobs.kill(job)
    assert killed.verified_empty
    assert ended(killed.job).end.exit_code == 7
    with pytest.raises(JobEnded):
        await jobs.send(job, pause=False)


async def test_its_time_limit_counts_and_its_idle_limit_does_not(jobs: Jobs, gate: Gate) -> None:
    limits = Limits(timeout=timedelta(seconds=1), idle=timedelta(milliseconds=300), grace=timedelta(milliseconds=100))
    job = (await jobs.run(gate.wait, limits=limits, background=True)).job.id
    await jobs.send(job, pause=True)
    over = await end_of(jobs, job)
    assert over.end.reason is Reason.TIMED_OUT
    assert over.end.duration >= timedelta(seconds=1)


async def test_its_idle_limit_begins_anew_when_it_goes_on(jobs: Jobs, gate: Gate) -> None:
    idle, paused = timedelta(seconds=0.4), timedelta(seconds=0.6)
    limits = Limits(idle=idle, grace=timedelta(milliseconds=100))
    job = (await jobs.run(gate.wait, limits=limits, background=True)).job.id
    await jobs.send(job, pause=True)
    # Each wait for its output wakes its keeper, which then looks at the limits.
    for _ in range(2):
        assert (await jobs.wait([job], until=Until(log="never"), timeout=paused)).timed_out
    await jobs.send(job, pause=False)
    over = await end_of(jobs, job)
    assert over.end.reason is Reason.IDLE
    assert over.end.duration >= 2 * paused + idle


async def test_a_stopped_program_is_not_taken_for_one_that_asks(local: Jobs) -> None:
    job = (await local.run("printf 'Name? '; read -r name", stdin=True, background=True)).job
    await local.wait([job.id], until=Until(input=True), timeout=LONG)
    paused = await local.send(job.id, pause=True)
    assert paused.facts is not None
    assert paused.facts.waiting is None
    waited = await local.wait([job.id], until=Until(input=True), timeout=timedelta(seconds=1.5))
    assert waited.met == "timeout"
    await local.send(job.id, pause=False)
    assert (await local.wait([job.id], until=Until(input=True), timeout=LONG)).met == "input"


async def test_one_that_was_stopped_by_somebody_else_is_not_taken_for_one_that_asks_either(local: Jobs) -> None:
    job = (await local.run(["head", "-n", "1"], stdin=True, background=True)).job
    assert isinstance(job.phase, Running)
    await local.wait([job.id], until=Until(input=True), timeout=LONG)
    os.kill(job.phase.pid, signal.SIGSTOP)
    assert (await local.wait([job.id], until=Until(input=False), timeout=LONG)).met == "input"
    os.kill(job.phase.pid, signal.SIGCONT)


async def test_a_signal_to_go_on_resumes_it(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(gate.wait, background=True)).job.id
    await jobs.send(job, pause=True)
    await jobs.send(job, signal=signal.SIGCONT)
    gate.open()
    assert (await end_of(jobs, job)).end.success


async def test_a_pause_outlives_the_daemon_and_the_keeper(home: Path) -> None:
    async with homes.remote(home) as jobs:
        job = (await jobs.run(TREE, background=True)).job.id
        await jobs.wait([job], until=Until(log="up"), timeout=LONG)
        await jobs.send(job, pause=True)
        await homes.kill_daemon(home)
        assert is_paused(await jobs.get(job))
        found = launch.live_keeper(str(home / "jobs" / job))
        assert found is not None
        signal.pidfd_send_signal(found[1], signal.SIGKILL)
        os.close(found[1])
        await eventually(lambda: launch.holder(str(home / "jobs" / job)) not in (None, found[0]))
        assert is_paused(await jobs.get(job))
        assert states(job) == {"T"}
        assert not is_paused(await jobs.send(job, pause=False))
        assert "T" not in states(job)
