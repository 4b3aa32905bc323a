"""Task jobs: a coroutine of the embedding program is a job like any other."""

import os
import signal
import sys
from pathlib import Path

import anyio
import pytest
from tests.support.patience import eventually

import bide
from bide.agents.tasks import Channel, open_tasks
from bide.api import Jobs
from bide.model.request import Request
from bide.model.task import LOST_PROGRAM, progress
from bide.model.until import Until


async def _greet(channel: Channel) -> str:
    await channel.write("hello ")
    await channel.write("careful\n", error=True)
    return "world"


async def _fail(_: Channel) -> str:
    raise ValueError("no such package")


async def test_a_coroutine_is_a_job_with_an_id_a_kind_output_and_an_end(jobs: Jobs) -> None:
    async with open_tasks(jobs) as tasks:
        ran = await tasks.run(_greet, Request.of("greet(world)", name="greeting", owner="me"))
        (job,) = (await jobs.wait([ran.job.id])).jobs
    assert (job.spec.kind, job.spec.command, job.name, progress(job)) == (
        "task",
        "greet(world)",
        "greeting",
        "completed",
    )
    assert (await jobs.read("greeting")).data == b"hello world"
    assert (await jobs.read("greeting", stream=bide.Stream.ERR)).data == b"careful\n"


async def test_what_a_coroutine_raises_is_its_error(local: Jobs) -> None:
    async with open_tasks(local) as tasks:
        ran = await tasks.run(_fail, Request.of("fail"))
        (job,) = (await local.wait([ran.job.id])).jobs
    assert isinstance(job.phase, bide.Ended)
    assert (job.phase.end.exit_code, progress(job)) == (1, "failed")
    assert (await local.read(job.id, stream=bide.Stream.ERR)).data == b"no such package\n"


async def test_a_kill_cancels_the_coroutine_and_reads_as_killed(local: Jobs) -> None:
    cancelled = anyio.Event()

    async def work(channel: Channel) -> None:
        await channel.write("begun")
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()

    async with open_tasks(local) as tasks:
        ran = await tasks.run(work, Request.of("work"))
        await local.wait([ran.job.id], until=Until(log="begun"))
        killed = await local.kill(ran.job.id, by="me")
        with anyio.fail_after(2):
            await cancelled.wait()
    assert isinstance(killed.job.phase, bide.Ended)
    assert (killed.job.phase.end.reason, progress(killed.job), killed.verified_empty) == (
        bide.Reason.KILLED,
        "aborted",
        True,
    )


async def test_input_sent_to_the_job_reaches_the_coroutine_until_its_end(local: Jobs) -> None:
    async def work(channel: Channel) -> str:
        parts: list[bytes] = []
        while part := await channel.input():
            parts.append(part)
        return b"".join(parts).decode().upper()

    async with open_tasks(local) as tasks:
        ran = await tasks.run(work, Request.of("shout", stdin=True))
        await local.send(ran.job.id, data=b"hello ")
        await local.send(ran.job.id, data=b"there", eof=True)
        await local.wait([ran.job.id])
    assert (await local.read(ran.job.id)).data == b"HELLO THERE"


async def test_049_a_manager_without_settings_runs_15_at_once(local: Jobs) -> None:
    async with open_tasks(local) as tasks:
        ids = [(await tasks.run(lambda _: anyio.sleep_forever(), Request.of(f"work {n}"))).job.id for n in range(15)]
        with pytest.raises(bide.BideError, match=r"^Background job limit reached \(15\)\. Wait for running jobs"):
            await tasks.run(_greet, Request.of("one more"))
        await local.kill(ids[0])
        ran = await tasks.run(_greet, Request.of("in its place"))
        await local.wait([ran.job.id])
        assert (await local.read(ran.job.id)).data == b"hello world"


async def test_049_a_task_that_ended_before_it_began_does_not_count(local: Jobs) -> None:
    async with open_tasks(local, most=1) as tasks:
        ran = await tasks.run(lambda _: anyio.sleep_forever(), Request.of("first"))
        await local.kill(ran.job.id)  # its stand-in may not have connected
        await tasks.run(_greet, Request.of("second"))


async def test_055_a_closed_manager_of_tasks_refuses_more(local: Jobs) -> None:
    async with open_tasks(local) as tasks:
        await tasks.run(_greet, Request.of("in time"))
    with pytest.raises(bide.BideError, match="closed and starts no more; open another"):
        await tasks.run(_greet, Request.of("late"))


async def test_144_a_program_that_ends_well_aborts_its_coroutines(local: Jobs) -> None:
    async with open_tasks(local) as tasks:
        ran = await tasks.run(lambda _: anyio.sleep_forever(), Request.of("for ever"))
    job = await local.get(ran.job.id)
    assert isinstance(job.phase, bide.Ended)
    assert (job.phase.end.reason, job.phase.end.by) == (bide.Reason.KILLED, "the end of its program")


_PROGRAM = """
import sys, anyio, bide
from bide.agents.tasks import open_tasks
from bide.model.errors import BadRequest
from bide.model.request import Request
async def main():
    async with bide.connect(sys.argv[1]) as jobs, open_tasks(jobs) as tasks:
        async def work(channel):
            await channel.write("partial\\n")
            await anyio.sleep_forever()
        await tasks.run(work, Request.of("work", name="work"))
        await anyio.sleep_forever()
anyio.run(main)
"""


async def test_a_task_whose_program_dies_is_lost_and_says_so(home: Path, remote: Jobs) -> None:
    program = await anyio.open_process([sys.executable, "-c", _PROGRAM, str(home)])
    async with program:
        with anyio.fail_after(20):
            async for _ in remote.events.follow(after=0):
                break
        await remote.wait(["work"], until=Until(log="partial"))
        os.kill(program.pid, signal.SIGKILL)
    with anyio.fail_after(5):
        (job,) = (await remote.wait(["work"])).jobs
    assert isinstance(job.phase, bide.Ended)
    assert (job.phase.end.reason, job.phase.end.error, progress(job)) == (bide.Reason.LOST, LOST_PROGRAM, "failed")
    assert (await remote.read("work")).data == b"partial\n"


async def test_a_task_that_nobody_of_a_program_asked_for_is_refused(local: Jobs) -> None:
    with pytest.raises(bide.BideError, match="started by the program"):
        await local.run("print(1)", language="task")


async def test_many_coroutines_are_jobs_at_once(local: Jobs) -> None:
    async def work(channel: Channel) -> str:
        return channel.job

    async with open_tasks(local, most=None) as tasks:
        ids = [(await tasks.run(work, Request.of(f"work {n}"))).job.id for n in range(20)]
        await local.wait(ids)
        assert [(await local.read(one)).data.decode() for one in ids] == ids
        await eventually(lambda: not tasks.running)


async def test_what_is_raised_while_tasks_are_open_arrives_as_it_is(local: Jobs) -> None:
    with pytest.raises(bide.BideError, match="no job"):
        async with open_tasks(local):
            await local.get("nobody")
