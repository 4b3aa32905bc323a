"""Jobs that wait for their turn: limits, priorities, times; durable, and started once."""

import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.support import homes, processes
from tests.support.gates import Gate
from tests.support.patience import LONG, end_of, ended, eventually

from bide import Filter, Job, Mode, Queued, Reason, Running
from bide.api import Jobs
from bide.keeper import folder, holding, launch
from bide.model.errors import BadRequest, BadSettings, JobActive, JobQueued, QueueFull
from bide.model.turn import Place, Turn


def place(job: Job) -> Place:
    assert job.facts is not None
    assert job.facts.queue is not None
    return job.facts.queue


async def submit(jobs: Jobs, command: str, **turn: Any) -> Job:
    return (await jobs.run(command, background=True, turn=Turn(**turn))).job


async def phases(jobs: Jobs, *ids: str) -> list[str]:
    return [(await jobs.get(job)).phase_name for job in ids]


async def test_what_has_no_place_waits_and_starts_when_one_is_free(jobs: Jobs, gate: Gate) -> None:
    await jobs.groups.limit(None, 1)
    first = await submit(jobs, gate.wait)
    second = await submit(jobs, "echo second")
    assert isinstance(first.phase, Running)
    assert isinstance(second.phase, Queued)
    assert place(second) == Place("1 of 1 jobs run", 1)
    gate.open()
    assert (await end_of(jobs, second.id)).end.success
    assert (await jobs.read(second.id)).data == b"second\n"


async def test_a_full_group_holds_nobody_else_back(jobs: Jobs, gate: Gate) -> None:
    await jobs.groups.limit("build", 1)
    await submit(jobs, gate.wait, group="build")
    waiting = await submit(jobs, "true", group="build")
    assert place(waiting) == Place("1 of 1 jobs of group 'build' run", 1)
    assert ended((await jobs.run("true", turn=Turn(group="lint"))).job).end.success
    assert ended((await jobs.run("true")).job).end.success
    assert await phases(jobs, waiting.id) == ["queued"]


async def test_the_greater_priority_goes_first_and_equals_in_the_order_asked_for(
    jobs: Jobs, gate: Gate, tmp_path: Path
) -> None:
    await jobs.groups.limit("g", 1)
    await submit(jobs, gate.wait, group="g")
    log = tmp_path / "log"
    ids = [
        (await submit(jobs, f"echo {name} >> {log}", group="g", priority=priority)).id
        for name, priority in (("a", 0), ("b", 0), ("c", 7), ("d", -3), ("e", 7))
    ]
    assert [place(await jobs.get(job)).place for job in ids] == [3, 4, 1, 5, 2]
    gate.open()
    await jobs.wait(ids, timeout=LONG)
    assert log.read_text().split() == ["c", "e", "a", "b", "d"]


async def test_a_job_starts_at_its_time_and_not_before(jobs: Jobs) -> None:
    later = await submit(jobs, "true", at=datetime.now(UTC) + timedelta(hours=1))
    assert isinstance(later.phase, Queued)
    assert "it starts at 20" in place(later).why
    assert place(later).place is None
    at = datetime.now(UTC) + timedelta(milliseconds=300)
    over = await end_of(jobs, (await submit(jobs, "true", at=at)).id)
    assert over.started_at is not None
    assert over.started_at >= at - timedelta(milliseconds=2)


async def test_one_whose_time_has_come_starts_at_once_and_one_that_waits_holds_nobody_back(jobs: Jobs) -> None:
    await jobs.groups.limit(None, 1)
    later = await submit(jobs, "true", at=datetime.now(UTC) + timedelta(hours=1), priority=100)
    ran = await jobs.run("true", turn=Turn(at=datetime.now(UTC) - timedelta(hours=1)))
    assert ended(ran.job).end.success
    assert await phases(jobs, later.id) == ["queued"]


async def test_a_foreground_run_waits_through_the_queue_and_past_its_deadline_is_deferred(
    jobs: Jobs, gate: Gate
) -> None:
    await jobs.groups.limit(None, 1)
    await submit(jobs, gate.wait)
    deferred = await jobs.run("true", deadline=timedelta(milliseconds=50))
    assert deferred.deferred
    assert place(deferred.job).place == 1
    async with anyio.create_task_group() as group:

        async def waits() -> None:
            ran = await jobs.run("echo done", deadline=LONG)
            assert ended(ran.job).end.success
            assert ran.out is not None
            assert ran.out.data == b"done\n"

        group.start_soon(waits)
        await eventually(lambda: _queued(jobs, 2))
        gate.open()


async def _queued(jobs: Jobs, count: int) -> bool:
    return len((await jobs.list(Filter(phase="queued"))).jobs) == count


async def test_a_queued_job_is_killed_without_ever_being_started(jobs: Jobs, gate: Gate, tmp_path: Path) -> None:
    await jobs.groups.limit(None, 1)
    await submit(jobs, gate.wait)
    job = await submit(jobs, f"touch {tmp_path / 'ran'}")
    killed = await jobs.kill(job.id, by="a réviewer")
    assert (killed.signalled, killed.verified_empty, killed.already_ended) == (0, True, False)
    over = ended(killed.job)
    assert (over.end.reason, over.end.by, over.end.exit_code) == (Reason.KILLED, "a réviewer", None)
    assert (over.started_at, over.pid) == (None, None)
    assert not over.end.success
    assert (await jobs.kill(job.id)).already_ended
    gate.open()
    assert ended((await jobs.run("true")).job).end.success
    assert not (tmp_path / "ran").exists()
    await jobs.forget(job.id)


async def test_the_verbs_make_sense_of_a_queued_job(jobs: Jobs, gate: Gate) -> None:
    await jobs.groups.limit(None, 1)
    await submit(jobs, gate.wait)
    job = (await jobs.run("cat", stdin=True, background=True, name="later")).job.id
    assert (await jobs.get("later")).id == job
    assert [found.id for found in (await jobs.list(Filter(phase="queued"))).jobs] == [job]
    assert (await jobs.read(job)).data == b""
    assert (await jobs.read(job, follow=timedelta(milliseconds=20))).data == b""
    assert (await jobs.wait([job], timeout=timedelta(milliseconds=20))).met == "timeout"
    with pytest.raises(JobActive):
        await jobs.forget(job)
    with pytest.raises(JobQueued, match="no process to send a signal to; wait for its turn, or kill it"):
        await jobs.send(job, signal=15)
    with pytest.raises(JobQueued, match="no process to pause"):
        await jobs.send(job, pause=True)
    await jobs.send(job, data=b"read at the ")
    await jobs.send(job, data=b"start", eof=True)
    gate.open()
    assert (await end_of(jobs, job)).end.success
    assert (await jobs.read(job)).data == b"read at the start"


async def test_a_wait_for_any_ends_with_a_queued_job_that_is_killed(jobs: Jobs, gate: Gate) -> None:
    await jobs.groups.limit(None, 1)
    running = await submit(jobs, gate.wait)
    job = await submit(jobs, "true")
    async with anyio.create_task_group() as group:
        group.start_soon(jobs.kill, job.id)
        assert (await jobs.wait([running.id, job.id], mode=Mode.ANY, timeout=LONG)).met == "ended"


async def test_past_the_limit_on_those_that_wait_another_is_refused_and_nothing_is_left_of_it(
    home: Path, gate: Gate
) -> None:
    home.mkdir()
    (home / "config.toml").write_text("[queue]\nrunning = 1\nwaiting = 2\n[queue.groups]\nlint = 1\n")
    async with homes.remote(home) as jobs:
        first = await submit(jobs, gate.wait)
        for _ in range(2):
            await submit(jobs, "true")
        with pytest.raises(QueueFull, match="2 jobs wait for their turn already, which is the limit"):
            await jobs.run("true", name="refused")
        assert len(os.listdir(home / "jobs")) == 3
        assert [name for name in os.listdir(home / "new") if not name.startswith("spare-")] == []
        assert await phases(jobs, first.id) == ["running"]
        assert [(found.name, found.limit) for found in await jobs.groups.list()] == [(None, 1), ("lint", 1)]


def files(home: Path) -> list[str]:
    """What is open of a home; a spare keeper may be made at any moment, and is held by another kind of descriptor."""
    return sorted(name for name in processes.descriptors(home) if "pidfd" not in name)


async def test_nothing_is_held_open_for_a_queued_job(local: Jobs, gate: Gate, home: Path) -> None:
    await local.groups.limit(None, 1)
    await submit(local, gate.wait)
    await local.run("true", turn=Turn(group="warm"), background=True)
    before = files(home)
    jobs = [(await submit(local, "true")).id for _ in range(20)]
    assert files(home) == before
    assert all(holding.is_held(str(home / "jobs" / job)) for job in jobs)


async def test_queued_jobs_start_after_a_restart_in_their_order(home: Path, gate: Gate, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with homes.remote(home) as jobs:
        await jobs.groups.limit(None, 1)
        await submit(jobs, gate.wait)
        ids = [
            (await submit(jobs, f"echo {name} >> {log}", priority=priority)).id
            for name, priority in (("a", 0), ("b", 0), ("c", 1))
        ]
        await homes.kill_daemon(home)
        assert await phases(jobs, *ids) == ["queued"] * 3
        gate.open()
        await jobs.wait(ids, timeout=LONG)
        assert log.read_text().split() == ["c", "a", "b"]


async def test_queued_jobs_outlive_the_database_in_their_order_and_the_groups_are_as_the_settings_say(
    home: Path, tmp_path: Path
) -> None:
    home.mkdir()
    (home / "config.toml").write_text("[queue.groups]\ng = 1\n")
    log = tmp_path / "log"
    async with homes.remote(home) as jobs:
        await jobs.groups.pause("g")
        ids = [
            (await submit(jobs, f"echo {name} >> {log}", group="g", priority=priority)).id
            for name, priority in (("a", 0), ("b", 0), ("c", 1))
        ]
        await homes.kill_daemon(home)
        for file in home.glob("bide.db*"):
            file.unlink()
        await jobs.wait(ids, timeout=LONG)
        assert log.read_text().split() == ["c", "a", "b"]
        assert [(group.limit, group.paused) for group in await jobs.groups.list()] == [(None, False), (1, False)]


async def test_a_job_that_waits_belongs_to_no_boot_and_one_that_was_let_go_to_this_one(
    jobs: Jobs, gate: Gate, home: Path
) -> None:
    """So that a restart of the machine starts the first, and never the second again."""
    await jobs.groups.limit(None, 1)
    await submit(jobs, gate.wait)
    job = await submit(jobs, "true")
    path = str(home / "jobs" / job.id)
    assert holding.is_held(path)
    spec = folder.read_spec(path)
    assert spec is not None
    assert spec[1] == ""
    gate.open()
    await end_of(jobs, job.id)
    assert not holding.is_held(path)
    spec = folder.read_spec(path)
    assert spec is not None
    assert spec[1] == launch.boot_identity()
    assert spec[0].spec == job.spec


async def test_a_job_whose_folder_is_gone_when_its_turn_comes_is_lost_and_the_next_goes_on(
    jobs: Jobs, gate: Gate, home: Path
) -> None:
    await jobs.groups.limit(None, 1)
    await submit(jobs, gate.wait)
    job, following = await submit(jobs, "true"), await submit(jobs, "true")
    shutil.rmtree(home / "jobs" / job.id)
    gate.open()
    assert (await end_of(jobs, job.id)).end.reason is Reason.LOST
    assert (await end_of(jobs, following.id)).end.success


async def test_a_name_is_taken_by_a_queued_job(jobs: Jobs, gate: Gate) -> None:
    await jobs.groups.limit(None, 1)
    await submit(jobs, gate.wait)
    job = (await jobs.run("true", name="mine", background=True)).job
    again = (await jobs.run("true", key="k", background=True)).job
    assert (await jobs.run("true", key="k", background=True)).job.id == again.id
    assert (await jobs.get("mine")).id == job.id


@pytest.mark.parametrize(
    ("turn", "detail"),
    [
        (Turn(group="a b"), "'a b' cannot be a group"),
        (Turn(after=("x",) * 1001), "a job may start after at most 1000 others, and these are 1001"),
        (Turn(priority=1001), "a priority is a whole number from -1000 to 1000, not 1001"),
        (Turn(after_any=True), "name them"),
        (Turn(at=datetime(2026, 1, 1)), "needs a time zone"),  # noqa: DTZ001
    ],
)
async def test_a_turn_that_cannot_be_meant_is_refused(jobs: Jobs, turn: Turn, detail: str) -> None:
    with pytest.raises(BadRequest, match=detail):
        await jobs.run("true", turn=turn)
    assert (await jobs.list()).jobs == ()


async def test_a_limit_in_the_settings_that_cannot_be_meant_is_refused_by_its_name(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("[queue]\nrunning = -1\n")
    with pytest.raises(BadSettings, match=r"'queue\.running' must be a whole number"):
        async with homes.local(home):
            pass
