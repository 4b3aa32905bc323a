"""Which ends somebody was told of: what nobody has seen is kept longest."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.support import homes
from tests.support.gates import Gate
from tests.support.http import Http
from tests.support.patience import LONG, end_of, eventually

import bide
from bide.api import Jobs


async def is_seen(jobs: Jobs, job: str) -> bool:
    """As a list says, which itself does not count."""
    return next(one.seen for one in (await jobs.list()).jobs if one.id == job)


async def ended_unseen(jobs: Jobs, command: str = "echo hello") -> str:
    """A job that is over, as only the events told."""
    job = (await jobs.run(command, background=True)).job.id

    async def over() -> bool:
        return next(one.phase_name for one in (await jobs.list()).jobs if one.id == job) == "ended"

    await eventually(over)
    return job


async def test_a_list_does_not_count(jobs: Jobs) -> None:
    job = await ended_unseen(jobs)
    await jobs.list()
    assert not await is_seen(jobs, job)


async def test_an_answer_before_the_end_does_not_count(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(f"echo hello; {gate.wait}", background=True)).job.id
    await jobs.get(job)
    await jobs.read(job, follow=LONG)
    gate.open()

    async def over() -> bool:
        return (await jobs.list()).jobs[0].phase_name == "ended"

    await eventually(over)
    assert not await is_seen(jobs, job)


async def test_a_run_in_the_foreground_counts_at_once(jobs: Jobs) -> None:
    job = (await jobs.run("true")).job.id
    assert await is_seen(jobs, job)


TOLD: dict[str, Callable[[Jobs, str], Awaitable[object]]] = {
    "get": lambda jobs, job: jobs.get(job),
    "wait": lambda jobs, job: jobs.wait([job]),
    "read": lambda jobs, job: jobs.read(job),
    "read, tail": lambda jobs, job: jobs.read(job, tail=1),
    "read, grep": lambda jobs, job: jobs.read(job, grep="x"),
    "run with its key": lambda jobs, _: jobs.run("true", key="k"),
}


@pytest.mark.parametrize("verb", TOLD)
async def test_whoever_is_told_of_the_end_has_seen_it(jobs: Jobs, verb: str) -> None:
    job = (await jobs.run("echo hello", background=True, key="k")).job.id
    await eventually(lambda: _over(jobs, job))
    assert not await is_seen(jobs, job)
    await TOLD[verb](jobs, job)
    await eventually(lambda: is_seen(jobs, job))


async def _over(jobs: Jobs, job: str) -> bool:
    return next(one.phase_name for one in (await jobs.list()).jobs if one.id == job) == "ended"


async def test_a_wait_that_is_there_before_the_end_counts(jobs: Jobs) -> None:
    job = (await jobs.run("true", background=True)).job.id
    await end_of(jobs, job)
    await eventually(lambda: is_seen(jobs, job))


async def test_following_to_the_end_counts(remote: Jobs, home: Path) -> None:
    job = await ended_unseen(remote)
    answer = Http(home).raw("GET", f"/v1/jobs/{job}/follow")
    assert b"hello" in answer.read()
    await eventually(lambda: is_seen(remote, job))


async def test_what_was_seen_is_known_after_a_restart(home: Path) -> None:
    async with bide.local(home) as jobs:
        unseen, seen = await ended_unseen(jobs), await ended_unseen(jobs)
        await jobs.get(seen)
    async with homes.local(home) as jobs:
        assert await is_seen(jobs, seen)
        assert not await is_seen(jobs, unseen)


async def test_a_start_that_failed_was_told_by_its_answer(jobs: Jobs) -> None:
    failed = (await jobs.run(["no-such-program"], background=True)).job
    assert failed.seen
    other = (await jobs.run("exit 3", background=True)).job.id
    message = await jobs.outbox.pull("user", timeout=LONG)
    assert [item.job for item in message.items] == [other]
    assert (await jobs.get(failed.id)).seen
