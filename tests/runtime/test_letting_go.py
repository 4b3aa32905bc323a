"""A program that lets go of a home leaves the jobs running and nothing of its own behind."""

import os
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.support import homes, processes
from tests.support.gates import Gate
from tests.support.patience import LONG, end_of

import bide
from bide import Until


def held() -> list[str]:
    """What this process has open."""
    found: list[str] = []
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue
        found.append(target.partition(":[")[0])
    return sorted(found)


async def test_nothing_is_held_open_afterwards(home: Path, gate: Gate) -> None:
    before, threads = held(), threading.active_count()
    async with bide.local(home) as jobs:
        await jobs.run("true")
        wanted: tuple[dict[str, Any], ...] = ({"stdin": True}, {"pty": True}, {})
        for options in wanted:
            await jobs.run(gate.wait, background=True, **options)
        await jobs.run("sleep 0", background=True)
    assert held() == before
    assert threading.active_count() == threads
    assert processes.children() == []
    assert len(processes.keepers(home)) >= 3

    async with homes.local(home) as jobs:
        assert len((await jobs.list(bide.Filter(phase="running"))).jobs) == 3


async def test_nothing_is_held_open_for_what_outlived_a_job(home: Path) -> None:
    before = held()
    async with bide.local(home) as jobs:
        await jobs.run("setsid sleep 1000 &")
        await jobs.list()
    after = held()
    async with homes.local(home):
        pass
    assert after == before


async def test_a_home_can_be_opened_and_let_go_of_many_times(home: Path, gate: Gate) -> None:
    async with bide.local(home) as jobs:
        job = (await jobs.run(f"echo up; {gate.wait}; exit 5", background=True)).job
    before = held()
    for _ in range(5):
        async with bide.local(home) as jobs:
            assert (await jobs.get(job.id)).phase == job.phase
        assert held() == before
    async with homes.local(home) as jobs:
        gate.open()
        assert (await end_of(jobs, job.id)).end.exit_code == 5


async def test_an_error_inside_comes_out_as_it_is(home: Path) -> None:
    async def fail() -> None:
        async with bide.local(home) as jobs:
            await jobs.run("true")
            raise LookupError("the program's own")

    with pytest.raises(LookupError, match="the program's own"):
        await fail()
    async with homes.local(home) as jobs:
        assert len((await jobs.list()).jobs) == 1


async def test_being_cancelled_inside_lets_go_as_well(home: Path, gate: Gate) -> None:
    with anyio.move_on_after(0.3):
        async with bide.local(home) as jobs:
            await jobs.run(f"echo up; {gate.wait}", name="goes-on", deadline=None)
    async with homes.local(home) as jobs:
        waited = await jobs.wait(["goes-on"], until=Until(log="up"), timeout=None)
        assert waited.met == "log"


async def test_many_followers_of_one_job_each_get_all_of_it(home: Path, gate: Gate) -> None:
    async with homes.local(home) as jobs:
        job = (await jobs.run(f"{gate.wait}; seq 3000", background=True)).job.id
        seen: list[bytes] = []

        async def follow() -> None:
            joined = b""
            while True:
                found = await jobs.read(job, offset=len(joined), follow=LONG)
                joined += found.data
                if found.eof:
                    seen.append(joined)
                    return

        async with anyio.create_task_group() as group:
            for _ in range(50):
                group.start_soon(follow)
            gate.open()
        assert seen == [b"".join(b"%d\n" % number for number in range(1, 3001))] * 50
