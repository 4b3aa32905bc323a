"""The event stream: every move of every job, once, in order."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from tests.support.gates import Gate
from tests.support.patience import PATIENCE

from bide.model.event import Event
from bide.runtime.events import LocalEvents
from bide.runtime.local import LocalJobs, open_jobs


@pytest.fixture
async def jobs(home: Path) -> AsyncIterator[LocalJobs]:
    async with open_jobs(str(home)) as found:
        yield found


async def take(events: AsyncIterator[Event], last: str) -> list[Event]:
    """What is told up to the first of these."""
    found: list[Event] = []
    with anyio.fail_after(PATIENCE):
        while not found or found[-1].what != last:
            found.append(await anext(events))
    return found


async def test_a_jobs_moves_are_told_in_order(jobs: LocalJobs, gate: Gate) -> None:
    job = (await jobs.run(f"{gate.wait}; exit 1", background=True)).job
    gate.open()
    seen = await take(LocalEvents(jobs.core).follow(after=0), "ended")
    assert [(event.job, event.what) for event in seen] == [(job.id, what) for what in ("queued", "running", "ended")]
    assert [event.detail for event in seen] == ["", str(getattr(job.phase, "pid", 0)), "exited"]
    assert seen == sorted(seen, key=lambda event: event.seq)


async def test_by_default_only_what_happens_from_now_on_is_told(jobs: LocalJobs) -> None:
    await jobs.run("true")
    await jobs.list()
    seen: list[Event] = []

    async def follow() -> None:
        seen.extend(await take(LocalEvents(jobs.core).follow(), "ended"))

    async with anyio.create_task_group() as group:
        group.start_soon(follow)
        await anyio.wait_all_tasks_blocked()
        await jobs.run("false", name="second")
    assert {event.job for event in seen} == {(await jobs.get("second")).id}


async def test_one_job_can_be_followed_by_its_name(jobs: LocalJobs, gate: Gate) -> None:
    job = (await jobs.run(gate.wait, name="one", background=True)).job.id
    await jobs.run("true", name="other")
    seen: list[Event] = []

    async def follow() -> None:
        seen.extend(await take(LocalEvents(jobs.core).follow(after=0, job="one"), "ended"))

    async with anyio.create_task_group() as group:
        group.start_soon(follow)
        await anyio.wait_all_tasks_blocked()
        gate.open()
    assert [event.what for event in seen] == ["queued", "running", "ended"]
    assert {event.job for event in seen} == {job}


async def test_that_a_job_runs_is_told_while_nothing_else_happens(jobs: LocalJobs, gate: Gate) -> None:
    events = LocalEvents(jobs.core).follow(after=0)
    for _ in range(10):
        job = (await jobs.run(gate.wait, background=True)).job.id
        assert {event.job for event in await take(events, "running")} == {job}
        gate.open()
        await take(events, "ended")


async def test_forgetting_is_told_as_well(jobs: LocalJobs) -> None:
    job = (await jobs.run("true")).job.id
    await jobs.forget(job)
    seen = await take(LocalEvents(jobs.core).follow(after=0), "forgotten")
    assert [event.what for event in seen if event.what != "running"] == ["queued", "ended", "forgotten"]


async def test_going_on_after_a_number_misses_and_repeats_nothing(jobs: LocalJobs) -> None:
    for _ in range(3):
        await jobs.run("true")
    await jobs.forget((await jobs.run("true")).job.id)
    whole = await take(LocalEvents(jobs.core).follow(after=0), "forgotten")
    for at, event in enumerate(whole[:-1]):
        assert await take(LocalEvents(jobs.core).follow(after=event.seq), "forgotten") == whole[at + 1 :]
