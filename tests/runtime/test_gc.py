"""What is over and no longer kept goes: by `gc`, and by itself. Checklist 51, 52, 260."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from tests.support import homes, past
from tests.support.gates import Gate
from tests.support.patience import eventually

import bide
from bide import Slice, Stream
from bide.api import Jobs, Upkeep
from bide.model.errors import BadRequest, JobForgotten

DAY = timedelta(days=1)


@pytest.fixture(params=["local", "remote"])
def door(request: pytest.FixtureRequest) -> homes.Door:
    return homes.local if request.param == "local" else homes.remote


async def run(jobs: Jobs, size: int = 0, *, seen: bool = True, name: str | None = None) -> str:
    """A job that is over, with so much output."""
    command = f"head -c {size} /dev/zero; head -c {size // 2} /dev/zero >&2"
    job = (await jobs.run(command, background=not seen, name=name)).job.id

    async def over() -> bool:
        return next(one.phase_name for one in (await jobs.list()).jobs if one.id == job) == "ended"

    await eventually(over)
    return job


@asynccontextmanager
async def before(home: Path) -> AsyncGenerator[Jobs]:
    """The verbs, for what is to be the past."""
    async with bide.local(home) as jobs:
        yield jobs


def upkeep(jobs: Jobs) -> Upkeep:
    return cast("Upkeep", jobs)


async def read(jobs: Jobs, job: str) -> Slice:
    return await jobs.read(job, stream=Stream.OUT)


async def test_what_is_seen_goes_after_its_time_and_what_is_not_later(home: Path, door: homes.Door) -> None:
    async with before(home) as jobs:
        young, old, unseen = await run(jobs), await run(jobs, 10, name="old"), await run(jobs, 10, seen=False)
    past.make_older(home, 31 * DAY, old, unseen)
    async with door(home) as jobs:
        would = await upkeep(jobs).gc(dry_run=True)
        assert [one.id for one in would.gone] == [old]
        assert (would.forgotten, would.freed_bytes, would.kept, would.unseen) == (1, 15, 2, 1)
        assert (await jobs.list()).jobs[0].seen is False
        done = await upkeep(jobs).gc()
        assert (done.forgotten, done.freed_bytes, done.dry_run) == (1, 15, False)
        assert past.folders(home) == {young, unseen}
        for ref in (old, "old"):
            with pytest.raises(
                JobForgotten, match=r"forgotten at 20.* \(it ended more than 30 days before\); its record"
            ):
                await jobs.get(ref)
        again = await upkeep(jobs).gc()
        assert (again.forgotten, again.dropped, again.kept, again.unseen, again.unseen_bytes) == (0, 0, 2, 1, 15)


async def test_what_nobody_has_seen_goes_as_well_in_the_end(home: Path, door: homes.Door) -> None:
    async with before(home) as jobs:
        job = await run(jobs, seen=False)
    past.make_older(home, 91 * DAY)
    async with door(home) as jobs:
        assert [one.id for one in (await upkeep(jobs).gc()).gone] == [job]


async def test_outputs_go_when_they_are_too_much_and_the_records_stay(home: Path, door: homes.Door) -> None:
    past.settle(home, bytes=40_000)
    async with before(home) as jobs:
        unseen = await run(jobs, 10_000, seen=False)
        first, second, third = [await run(jobs, 10_000) for _ in range(3)]
    past.make_older(home, DAY)
    async with door(home) as jobs:
        done = await upkeep(jobs).gc()
        assert [one.id for one in done.emptied] == [first, second]
        assert (done.dropped, done.freed_bytes, done.held_bytes, done.quota_bytes) == (2, 30_000, 30_000, 40_000)
        job = await jobs.get(first)
        assert isinstance(job.phase, bide.Ended)
        assert job.phase.end.success
        assert job.output_dropped_at is not None
        found = await read(jobs, first)
        assert (found.data, found.offset, found.head, found.size, found.eof) == (b"", 10_000, 10_000, 10_000, True)
        assert (await jobs.read(first, tail=3)).data == b""
        assert (await jobs.read(first, grep="x")).matches == ()
        assert len((await read(jobs, third)).data) == len((await read(jobs, unseen)).data) == 10_000
        assert not (home / "jobs" / second / "out").exists()
        assert past.folders(home) == {unseen, first, second, third}
        assert (await upkeep(jobs).gc()).dropped == 0


async def test_output_that_is_minutes_old_stays(home: Path, door: homes.Door) -> None:
    past.settle(home, bytes=1)
    async with door(home) as jobs:
        job = await run(jobs, 1000)
        assert (await upkeep(jobs).gc()).dropped == 0
        assert (await read(jobs, job)).size == len((await read(jobs, job)).data)


async def test_what_runs_counts_and_stays(home: Path, gate: Gate, door: homes.Door) -> None:
    past.settle(home, bytes=10_000, keep="0s", keep_unseen="0s")
    async with door(home) as jobs:
        job = (await jobs.run(f"head -c 100000 /dev/zero; echo; {gate.wait}", background=True)).job.id
        await jobs.wait([job], until=bide.Until(log="$"))
        done = await upkeep(jobs).gc()
        assert (done.forgotten, done.dropped) == (0, 0)
        assert done.held_bytes >= 100_000
        assert (await jobs.get(job)).phase_name == "running"


async def test_what_descendants_still_use_stays(home: Path, door: homes.Door) -> None:
    async with door(home) as jobs:
        job = (await jobs.run("sleep 1000 & echo hello")).job.id
        done = await upkeep(jobs).gc(older_than=timedelta(0))
        assert (done.forgotten, done.alive) == (0, (job,))
        await jobs.kill(job)
        assert (await upkeep(jobs).gc(older_than=timedelta(0))).forgotten == 1


async def test_one_owner_can_forget_its_own(home: Path, door: homes.Door) -> None:
    """Checklist 268."""
    async with door(home) as jobs:
        mine = (await jobs.run("true", owner="agent-1")).job.id
        other = (await jobs.run("true", owner="agent-2")).job.id
        done = await upkeep(jobs).gc(older_than=timedelta(0), owner="agent-1")
        assert [one.id for one in done.gone] == [mine]
        with pytest.raises(JobForgotten, match="as asked"):
            await jobs.get(mine)
        assert (await jobs.get(other)).phase_name == "ended"


async def test_an_age_that_cannot_be_meant_is_refused(home: Path, door: homes.Door) -> None:
    async with door(home) as jobs:
        for age in (timedelta(seconds=-1), timedelta(days=40_000)):
            with pytest.raises(BadRequest, match="an age is from 0"):
                await upkeep(jobs).gc(older_than=age)


async def test_with_a_time_of_nothing_jobs_go_once_they_are_seen(home: Path, door: homes.Door) -> None:
    """Checklist 52: by itself."""
    past.settle(home, keep="0s")
    async with door(home) as jobs:
        unseen = await run(jobs, seen=False)
        seen = await run(jobs)
        await eventually(lambda: past_of(home) == {unseen})
        with pytest.raises(JobForgotten, match="it ended more than 0 seconds before"):
            await jobs.get(seen)


def past_of(home: Path) -> set[str]:
    return set(os.listdir(home / "jobs"))


async def test_too_much_output_is_noticed_when_a_job_ends(home: Path, door: homes.Door) -> None:
    past.settle(home, bytes=20_000)
    async with before(home) as jobs:
        old = await run(jobs, 10_000)
    past.make_older(home, DAY)
    async with door(home) as jobs:
        await run(jobs, 20_000)
        await eventually(lambda: not (home / "jobs" / old / "out").exists())
        assert (await jobs.get(old)).output_dropped_at is not None


async def test_a_dropped_output_is_known_when_the_database_is_made_anew(home: Path) -> None:
    past.settle(home, bytes=0)
    async with before(home) as jobs:
        job = await run(jobs, 100)
    past.make_older(home, DAY)
    async with before(home) as jobs:
        assert (await upkeep(jobs).gc()).dropped == 1
        was = await jobs.get(job)
    (home / "bide.db").unlink()
    async with homes.local(home) as jobs:
        found = await jobs.get(job)
        assert found.output_dropped_at == was.output_dropped_at
        assert (await read(jobs, job)).head == 100
