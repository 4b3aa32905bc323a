"""Groups: limits and pauses that are set while jobs run, and hold over restarts."""

from pathlib import Path

import pytest
from tests.support import homes
from tests.support.gates import Gate
from tests.support.patience import end_of

from bide import Queued, Running
from bide.api import Group, Jobs
from bide.model.errors import BadRequest
from bide.model.turn import Turn

BUILD = Turn(group="build")


async def test_a_limit_that_is_raised_or_lifted_lets_others_start(jobs: Jobs, gate: Gate) -> None:
    assert await jobs.groups.limit("build", 1) == Group("build", 1, paused=False)
    ids = [(await jobs.run(gate.wait, turn=BUILD, background=True)).job.id for _ in range(4)]
    assert await jobs.groups.list() == (
        Group(None, None, paused=False, running=1, waiting=3),
        Group("build", 1, paused=False, running=1, waiting=3),
    )
    assert (await jobs.groups.limit("build", 2)).waiting == 2
    assert (await jobs.groups.limit("build", None)).limit is None
    for _ in ids:
        gate.open()
    for job in ids:
        assert (await end_of(jobs, job)).end.success
    assert await jobs.groups.list() == (Group(None, None, paused=False),)


async def test_a_limit_below_what_runs_ends_nothing(jobs: Jobs, gate: Gate) -> None:
    ids = [(await jobs.run(gate.wait, background=True)).job.id for _ in range(3)]
    assert await jobs.groups.limit(None, 1) == Group(None, 1, paused=False, running=3)
    waiting = (await jobs.run("true", background=True)).job
    assert isinstance(waiting.phase, Queued)
    assert [type((await jobs.get(job)).phase) for job in ids] == [Running] * 3
    for _ in ids:
        gate.open()
    for job in [*ids, waiting.id]:
        assert (await end_of(jobs, job)).end.success


@pytest.mark.parametrize("name", ["build", None])
async def test_of_a_paused_group_nothing_starts_until_it_is_resumed(jobs: Jobs, gate: Gate, name: str | None) -> None:
    running = (await jobs.run(gate.wait, turn=BUILD, background=True)).job.id
    assert (await jobs.groups.pause(name)).paused
    waiting = (await jobs.run("true", turn=BUILD, background=True)).job
    assert waiting.facts is not None
    assert waiting.facts.queue is not None
    assert waiting.facts.queue.why == ("group 'build' is paused" if name else "all jobs are paused")
    gate.open()
    assert (await end_of(jobs, running)).end.success
    assert isinstance((await jobs.get(waiting.id)).phase, Queued)
    assert not (await jobs.groups.resume(name)).paused
    assert (await end_of(jobs, waiting.id)).end.success


async def test_what_was_set_holds_over_a_restart_and_over_the_settings(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("[queue]\nrunning = 5\n[queue.groups]\nbuild = 2\nlint = 3\n")
    async with homes.remote(home) as jobs:
        await jobs.groups.limit("build", None)
        await jobs.groups.pause("lint")
        await jobs.groups.limit(None, 7)
        await jobs.groups.limit("test", 4)
        before = await jobs.groups.list()
        await homes.kill_daemon(home)
        assert await jobs.groups.list() == before
        assert before == (
            Group(None, 7, paused=False),
            Group("lint", 3, paused=True),
            Group("test", 4, paused=False),
        )


async def test_what_was_set_is_kept_when_the_database_is_made_anew_under_us(home: Path) -> None:
    async with homes.remote(home) as jobs:
        await jobs.groups.limit("build", 3)
        for file in home.glob("bide.db*"):
            file.unlink()
        await jobs.list()
        await homes.kill_daemon(home)
        assert [(group.name, group.limit) for group in await jobs.groups.list()] == [(None, None), ("build", 3)]


@pytest.mark.parametrize(("name", "most"), [("", 1), ("a b", 1), ("-x", 1), ("build", -1), ("build", 10**7)])
async def test_what_cannot_be_meant_is_refused_and_changes_nothing(jobs: Jobs, name: str, most: int) -> None:
    with pytest.raises(BadRequest):
        await jobs.groups.limit(name, most)
    assert await jobs.groups.list() == (Group(None, None, paused=False),)
