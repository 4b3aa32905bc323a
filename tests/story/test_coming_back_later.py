"""Somebody's program, or the daemon itself, goes away; the jobs do not."""

from pathlib import Path

from tests.support import homes
from tests.support.gates import Gate
from tests.support.patience import end_of

import bide
from bide import Running


async def test_a_job_survives_the_program_that_started_it(home: Path, gate: Gate) -> None:
    async with bide.local(home) as jobs:
        job = (await jobs.run(f"{gate.wait}; echo $line; exit 6", name="build", background=True)).job
        assert isinstance(job.phase, Running)

    async with homes.local(home) as jobs:
        assert (await jobs.get("build")).phase == job.phase
        gate.open("still here")
        assert (await end_of(jobs, "build")).end.exit_code == 6
        assert (await jobs.read("build")).data == b"still here\n"


async def test_a_job_that_ended_while_nobody_was_there_is_found_with_its_end(home: Path, gate: Gate) -> None:
    async with bide.local(home) as jobs:
        job = (await jobs.run(f"{gate.wait}; exit 7", background=True)).job.id
    gate.open()

    async with homes.local(home) as jobs:
        assert (await end_of(jobs, job)).end.exit_code == 7


async def test_a_job_survives_the_daemon(home: Path, gate: Gate) -> None:
    async with homes.remote(home) as jobs:
        job = (await jobs.run(f"{gate.wait}; echo $line; exit 8", background=True)).job.id
        await homes.kill_daemon(home)

        assert (await jobs.get(job)).phase_name == "running"
        gate.open("as if nothing had happened")
        assert (await end_of(jobs, job)).end.exit_code == 8
        assert (await jobs.read(job)).data == b"as if nothing had happened\n"


async def test_a_program_and_the_daemon_can_take_turns_on_one_home(home: Path, gate: Gate) -> None:
    async with bide.connect(home) as jobs:
        job = (await jobs.run(f"{gate.wait}; exit 9", background=True)).job.id
    await homes.stop_daemon(home)

    async with homes.local(home) as jobs:
        gate.open()
        assert (await end_of(jobs, job)).end.exit_code == 9
