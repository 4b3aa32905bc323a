"""Descendants that outlive a finished job are listed with it and can be killed through it."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.support import homes, processes
from tests.support.freezer import Freezer
from tests.support.gates import Gate
from tests.support.patience import end_of, ended, eventually

import bide
from bide import Job, Limits, OnOutputCap, Reason, Until
from bide.api import Jobs
from bide.model.errors import BadRequest
from bide.model.phase import Running

LEAVES = "setsid sleep 1000 & echo $!"


async def left(jobs: Jobs, job: str) -> list[int]:
    """What is alive of an ended job."""
    facts = (await jobs.get(job)).facts
    return [] if facts is None else [process.pid for process in facts.alive]


async def leave(jobs: Jobs) -> tuple[Job, int]:
    """A finished job with a survivor."""
    ran = await jobs.run(LEAVES)
    assert ran.out is not None
    return ran.job, int(ran.out.data)


async def test_a_survivor_is_listed_until_it_ends(jobs: Jobs) -> None:
    job, pid = await leave(jobs)
    assert ended(job).end.success
    assert [process.command for process in ended(job).end.survivors] == ["sleep"]
    assert await left(jobs, job.id) == [pid]
    os.kill(pid, signal.SIGKILL)
    await eventually(lambda: not processes.is_alive(pid))
    assert await left(jobs, job.id) == []


async def test_survivors_are_killed_through_their_job_and_its_end_stays(jobs: Jobs) -> None:
    job, pid = await leave(jobs)
    killed = await jobs.kill(job.id)
    assert killed.already_ended
    assert killed.signalled == 1
    assert killed.verified_empty
    assert killed.job.phase == job.phase
    assert not processes.is_alive(pid)
    assert await left(jobs, job.id) == []


async def test_survivors_that_ignore_term_are_killed_after_the_grace(jobs: Jobs) -> None:
    ran = await jobs.run("trap '' TERM; (while :; do sleep 0.05; done) & ")
    killed = await jobs.kill(ran.job.id, grace=timedelta(seconds=0.3))
    assert killed.verified_empty


async def test_a_job_with_survivors_cannot_be_forgotten(jobs: Jobs) -> None:
    job, _ = await leave(jobs)
    sentence = f"descendants of {job.id} still run; end them with kill before forgetting it"
    with pytest.raises(BadRequest, match=sentence):
        await jobs.forget(job.id)
    await jobs.kill(job.id)
    await jobs.forget(job.id)


async def test_survivors_are_found_after_a_restart(home: Path) -> None:
    async with bide.local(home) as jobs:
        job, pid = await leave(jobs)
    async with homes.local(home) as jobs:
        assert await left(jobs, job.id) == [pid]
        killed = await jobs.kill(job.id)
        assert killed.verified_empty
        assert not processes.is_alive(pid)


async def test_survivors_are_killed_after_their_keeper_was_killed(jobs: Jobs, home: Path) -> None:
    job, pid = await leave(jobs)
    (keeper,) = processes.keepers(home / "jobs")
    os.kill(keeper, signal.SIGKILL)
    await eventually(lambda: not processes.is_alive(keeper))
    assert await left(jobs, job.id) == [pid]
    killed = await jobs.kill(job.id)
    assert killed.verified_empty
    assert not processes.is_alive(pid)
    assert killed.job.phase == job.phase


async def test_a_keeper_stays_only_as_long_as_there_is_something_to_guard(local: Jobs, home: Path) -> None:
    job, pid = await leave(local)
    assert len(processes.keepers(home)) == 1
    os.kill(pid, signal.SIGKILL)
    await eventually(lambda: not processes.keepers(home))
    assert (await end_of(local, job.id)) == job.phase


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A process that is nobody's job."""
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process
        process.kill()


async def test_a_stranger_with_a_survivors_pid_is_neither_listed_nor_touched(
    home: Path, stranger: subprocess.Popen[bytes]
) -> None:
    """Checklist 266: a stored pid counts only with its start time."""
    async with bide.local(home) as jobs:
        job = (await jobs.run("true")).job
    end = home / "jobs" / job.id / "end"
    record = json.loads(end.read_bytes())
    record["left"] = [{"pid": stranger.pid, "start_ticks": 1, "command": "sleep"}]
    end.write_bytes(json.dumps(record).encode().ljust(4095) + b"\n")
    for name in ("bide.db", "bide.db-wal", "bide.db-shm"):
        (home / name).unlink(missing_ok=True)

    async with homes.local(home) as jobs:
        assert len(ended(await jobs.get(job.id)).end.survivors) == 1
        assert await left(jobs, job.id) == []
        killed = await jobs.kill(job.id)
        assert killed.verified_empty
        assert killed.signalled == 0
    assert stranger.poll() is None


async def frozen(jobs: Jobs, freezer: Freezer, command: str, limits: Limits) -> tuple[str, int]:
    """A running job whose leader is frozen, and that leader."""
    job = (await jobs.run(command, limits=limits, background=True)).job.id
    await jobs.wait([job], until=Until(log="up"))
    found = await jobs.get(job)
    assert isinstance(found.phase, Running)
    freezer.freeze(found.phase.pid)
    return job, found.phase.pid


STAYS = "echo up; exec sleep 1000"


@pytest.mark.root
async def test_a_leader_that_not_even_kill_ends_is_named_by_the_end(jobs: Jobs, gate: Gate, freezer: Freezer) -> None:
    limits = Limits(output_bytes=1024, on_output_cap=OnOutputCap.KILL, grace=timedelta(seconds=0.1))
    job, leader = await frozen(jobs, freezer, f"({gate.wait}; head -c 3000 /dev/zero) & echo up; wait", limits)
    gate.open()
    end = (await end_of(jobs, job)).end
    assert (end.reason, end.exit_code, end.signal, end.status) == (Reason.OVERFLOW, None, None, 126)
    assert [process.pid for process in end.survivors] == [leader]
    assert await left(jobs, job) == [leader]
    freezer.thaw()
    await eventually(lambda: not processes.is_alive(leader))
    assert await left(jobs, job) == []
    assert (await jobs.kill(job)).verified_empty
    assert (await end_of(jobs, job)).end == end


@pytest.mark.root
async def test_a_kill_says_that_the_leader_survives_and_the_job_is_over(jobs: Jobs, freezer: Freezer) -> None:
    job, leader = await frozen(jobs, freezer, STAYS, Limits())
    killed = await jobs.kill(job, signal=signal.SIGKILL)
    assert ended(killed.job).end.reason is Reason.KILLED
    assert (killed.verified_empty, [process.pid for process in killed.survivors]) == (False, [leader])
    freezer.thaw()
    assert (await jobs.kill(job)).verified_empty


@pytest.mark.root
async def test_a_leader_that_survives_is_named_by_a_replaced_keeper_as_well(
    jobs: Jobs, home: Path, freezer: Freezer
) -> None:
    job, leader = await frozen(jobs, freezer, STAYS, Limits())
    (keeper,) = processes.keepers(home / "jobs")
    os.kill(keeper, signal.SIGKILL)
    killed = await jobs.kill(job, signal=signal.SIGKILL)
    end = ended(killed.job).end
    assert (end.reason, end.taken_over, [process.pid for process in end.survivors]) == (Reason.KILLED, 1, [leader])
    freezer.thaw()
    assert (await jobs.kill(job)).verified_empty
