"""The daemon dies while Python code has commands running: nothing is lost, and nothing runs twice."""

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support import homes, processes
from tests.support.code import python
from tests.support.gates import Gate
from tests.support.patience import LONG, end_of, eventually

from bide import Filter, Stream, Until
from bide.api import Jobs
from bide.keeper import launch

COUNT = "for i in $(seq 1 200); do echo line $i; sleep 0.005; done; exit 7"


@pytest.fixture(autouse=True)
async def no_second_daemon(home: Path) -> AsyncIterator[None]:
    """The job's keeper and the test both start a daemon when one is gone; the one that came second may still wait."""
    yield

    def gone() -> bool:
        left = processes.daemons(home)
        for pid in left:
            processes.end(pid, signal.SIGTERM)
        return not left

    await eventually(gone)


async def begun(jobs: Jobs, code: str, until: str = "begun") -> str:
    """The id of a Python job that has written this."""
    started = await python(jobs, code, background=True)
    waited = await jobs.wait([started.job.id], until=Until(log=until), timeout=LONG)
    assert waited.met == "log", (await jobs.read(started.job.id)).data
    return started.job.id


async def output(jobs: Jobs, job: str) -> bytes:
    """What it wrote, once it is over; it must have succeeded."""
    end = (await end_of(jobs, job)).end
    assert end.success, (await jobs.read(job, stream=Stream.ERR)).data
    return (await jobs.read(job)).data


@pytest.mark.parametrize("how", ["run.result()", "await run"])
async def test_a_result_is_the_same_with_another_daemon(remote: Jobs, home: Path, gate: Gate, how: str) -> None:
    script = f"echo one; echo bad >&2; {gate.wait}; echo $line; exit 3"
    code = f"""
run = cmd("sh", "-c", {script!r}).exec()
print("begun", flush=True)
r = {how}
print(r.code, repr(r.stdout), repr(r.stderr))
"""
    job = await begun(remote, code)
    await homes.kill_daemon(home)
    gate.open("two")
    assert await output(remote, job) == b"begun\n3 'one\\ntwo\\n' 'bad\\n'\n"


@pytest.mark.parametrize("how", ["for", "async for"])
async def test_lines_come_once_each_across_daemons(remote: Jobs, home: Path, how: str) -> None:
    job = await begun(remote, f"{how} line in cmd('sh', '-c', {COUNT!r}):\n    print(line, flush=True)", "line 30")
    await homes.kill_daemon(home)
    await remote.wait([job], until=Until(log="line 90"), timeout=LONG)
    await homes.kill_daemon(home)
    assert await output(remote, job) == b"".join(b"line %d\n" % number for number in range(1, 201))


async def test_without_a_daemon_a_command_starts_one_and_runs_once(
    remote: Jobs, home: Path, gate: Gate, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    code = f"""
print("begun", flush=True)
open({str(gate.path)!r}).readline()
print(cmd("sh", "-c", "echo ran | tee -a {log}").exec().result().stdout)
"""
    job = await begun(remote, code)
    await homes.kill_daemon(home)
    gate.open()
    await eventually(log.exists)
    assert await output(remote, job) == b"begun\nran\n\n"
    assert log.read_text() == "ran\n"
    assert [child.parent for child in (await remote.list(Filter(parent=job))).jobs] == [job]


async def test_with_its_keeper_dead_as_well_the_code_starts_a_daemon_itself(
    remote: Jobs, home: Path, gate: Gate, tmp_path: Path
) -> None:
    answer = tmp_path / "answer"
    code = f"""
print("begun", flush=True)
open({str(gate.path)!r}).readline()
open({str(answer)!r}, "w").write(cmd("echo", "ran").exec().result().stdout)
"""
    job = await begun(remote, code)
    keeper = launch.holder(str(home / "jobs" / job))
    assert keeper
    await homes.kill_daemon(home)
    os.kill(keeper, signal.SIGKILL)
    await eventually(lambda: not processes.is_alive(keeper))
    gate.open()
    await eventually(lambda: answer.exists() and answer.read_text() == "ran\n")
    assert b"BIDE_JOB=" not in processes.read(homes.daemon_pid(home), "environ")


async def test_a_command_that_is_asked_for_while_daemons_die_runs_once(
    remote: Jobs, home: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    log.touch()
    code = f"""
import asyncio
print("begun", flush=True)
for n in range(40):
    r = await cmd("sh", "-c", f"echo {{n}} >> {log}; echo {{n}}").exec()
    assert r.success and r.stdout == f"{{n}}\\n", r
"""
    job = await begun(remote, code)
    for number in (5, 12, 20):
        await eventually(lambda number=number: len(log.read_text().splitlines()) > number)
        await homes.kill_daemon(home)
    await output(remote, job)
    assert log.read_text().split() == [str(number) for number in range(40)]


async def test_a_pipe_carries_every_byte_once_across_daemons(remote: Jobs, home: Path, tmp_path: Path) -> None:
    script = "for i in $(seq 1 300); do head -c 20000 /dev/urandom; sleep 0.003; done"
    code = f"""
run = (cmd("sh", "-c", {script + " | tee sent"!r}) | cmd("tee", "received")).exec()
print("begun", flush=True)
print(run.result().code)
"""
    started = await python(remote, code, background=True, cwd=str(tmp_path))
    received = tmp_path / "received"
    for size in (500_000, 2_000_000, 4_000_000):
        await eventually(lambda size=size: received.exists() and received.stat().st_size > size)
        await homes.kill_daemon(home)
    assert await output(remote, started.job.id) == b"begun\n0\n"
    assert received.read_bytes() == (tmp_path / "sent").read_bytes()
    assert received.stat().st_size == 300 * 20_000
