"""A job that starts after others: with their success, or with any end of theirs."""

from pathlib import Path
from typing import Any

import pytest
from tests.support import homes
from tests.support.gates import Gate
from tests.support.patience import end_of, ended

import bide
from bide import Job, Queued, Reason
from bide.api import Jobs
from bide.keeper import folder
from bide.model.errors import BadRequest, JobForgotten, JobNotFound
from bide.model.turn import Turn
from bide.runtime.local import LocalJobs
from bide.store.future import Future


async def submit(jobs: Jobs, command: str, *after: str, **options: Any) -> Job:
    turn = Turn(after=after, after_any=options.pop("after_any", False))
    return (await jobs.run(command, background=True, turn=turn, **options)).job


async def test_it_starts_when_all_of_them_have_succeeded(jobs: Jobs, gate: Gate) -> None:
    first = await submit(jobs, gate.wait, name="first")
    second = await submit(jobs, gate.wait)
    job = await submit(jobs, "echo third", "first", second.id)
    assert isinstance(job.phase, Queued)
    assert job.spec.turn.after == (first.id, second.id)
    assert job.facts is not None
    assert job.facts.queue is not None
    assert job.facts.queue.why == f"it starts after the success of {first.id}, {second.id}"
    gate.open()
    gate.open()
    assert (await end_of(jobs, job.id)).end.success


async def test_what_it_waits_for_is_said_also_where_the_disk_is_faster_than_we_are(
    home: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bide.local(home) as jobs:
        assert isinstance(jobs, LocalJobs)
        store = jobs.core.store
        insert = store.insert

        def inserted(*given: Any) -> Future[Job]:
            done = insert(*given)
            store.barrier().result()  # not at the end of this turn, but within it
            return done

        monkeypatch.setattr(store, "insert", inserted)
        first = await submit(jobs, gate.wait)
        job = await submit(jobs, "true", first.id)
        assert job.facts is not None
        assert job.facts.queue is not None
        assert job.facts.queue.why == f"it starts after the success of {first.id}"
        gate.open()
        assert (await end_of(jobs, job.id)).end.success


async def test_ones_that_have_ended_count_at_once(jobs: Jobs) -> None:
    good, bad = (await jobs.run("true")).job, (await jobs.run("false")).job
    ran = await jobs.run("echo now", turn=Turn(after=(good.id,)))
    assert ended(ran.job).end.success
    ran = await jobs.run("echo now", turn=Turn(after=(good.id, bad.id), after_any=True))
    assert ended(ran.job).end.success
    over = ended((await jobs.run("echo never", turn=Turn(after=(good.id, bad.id)))).job)
    assert (over.end.reason, over.end.by) == (Reason.KILLED, "queue")
    assert over.end.error == f"it was to start after the success of {bad.id}, which exited with 1"
    assert over.started_at is None


@pytest.mark.parametrize(("after_any", "success"), [(False, False), (True, True)])
async def test_what_follows_a_failure_never_starts_unless_any_end_will_do(
    jobs: Jobs, gate: Gate, tmp_path: Path, *, after_any: bool, success: bool
) -> None:
    first = await submit(jobs, f"{gate.wait}; exit 3")
    second = await submit(jobs, f"touch {tmp_path / 'ran'}", first.id, after_any=after_any)
    third = await submit(jobs, "true", second.id)
    gate.open()
    assert (await end_of(jobs, second.id)).end.success is success
    assert (await end_of(jobs, third.id)).end.success is success
    assert (tmp_path / "ran").exists() is success


async def test_a_long_chain_ends_with_its_first(local: Jobs, gate: Gate) -> None:
    first = await submit(local, f"{gate.wait}; exit 1")
    ids = [first.id]
    for _ in range(250):
        ids.append((await submit(local, "true", ids[-1])).id)
    gate.open()
    assert (await end_of(local, ids[-1])).end.error.endswith("which was killed")


async def test_a_killed_one_never_counts_as_a_success(jobs: Jobs) -> None:
    first = await submit(jobs, "trap 'exit 0' TERM; sleep 1000 & wait")
    second = await submit(jobs, "true", first.id)
    await jobs.kill(first.id)
    assert (await end_of(jobs, second.id)).end.error.endswith("which was killed")


async def test_a_queued_one_that_is_killed_ends_what_waits_for_it(jobs: Jobs, gate: Gate) -> None:
    first = await submit(jobs, gate.wait)
    second = await submit(jobs, "true", first.id)
    third = await submit(jobs, "true", second.id)
    await jobs.kill(second.id)
    assert (await end_of(jobs, third.id)).end.by == "queue"


async def test_unknown_and_forgotten_ones_are_refused_and_nothing_is_left(jobs: Jobs, home: Path) -> None:
    gone = (await jobs.run("true")).job.id
    await jobs.forget(gone)
    with pytest.raises(JobForgotten):
        await submit(jobs, "true", gone)
    with pytest.raises(JobNotFound):
        await submit(jobs, "true", "nobody")
    assert list((home / "jobs").iterdir()) == []
    assert [path for path in (home / "new").iterdir() if not path.name.startswith("spare-")] == []


async def test_a_job_cannot_wait_for_itself(jobs: Jobs) -> None:
    """Ids are given after everything named in `after` was found, so that a name is the only way to try."""
    await jobs.run("true", name="round")
    with pytest.raises(BadRequest, match="a job cannot wait for itself: 'round' is its own name"):
        await submit(jobs, "true", "round", name="round")


async def test_a_circle_that_was_written_into_the_folders_is_ended_when_it_is_found(home: Path, gate: Gate) -> None:
    async with homes.remote(home) as jobs:
        first = await submit(jobs, gate.wait)
        one = await submit(jobs, "true", first.id)
        two = await submit(jobs, "true", one.id)
        await homes.kill_daemon(home)
        for file in home.glob("bide.db*"):
            file.unlink()
        spec = home / "jobs" / one.id / "spec"
        spec.write_bytes(spec.read_bytes().replace(first.id.encode(), two.id.encode()))
        assert folder.read_spec(str(spec.parent)) is not None
        for job in (one, two):
            over = await end_of(jobs, job.id)
            assert (over.end.reason, over.end.by) == (Reason.KILLED, "queue")
            assert "it waits for itself" in over.end.error


async def test_it_waits_on_over_a_restart_and_ends_met_meanwhile_count(home: Path, gate: Gate) -> None:
    async with homes.remote(home) as jobs:
        first = await submit(jobs, gate.wait)
        second = await submit(jobs, "echo second", first.id)
        failing = await submit(jobs, f"{gate.wait}; exit 1")
        never = await submit(jobs, "true", failing.id)
        await homes.kill_daemon(home)
        gate.open()
        gate.open()
        assert (await end_of(jobs, second.id)).end.success
        assert (await end_of(jobs, never.id)).end.by == "queue"


async def test_one_that_was_forgotten_while_it_waited_can_never_be_met_after_a_restart(home: Path, gate: Gate) -> None:
    async with homes.remote(home) as jobs:
        first = await submit(jobs, "true")
        await end_of(jobs, first.id)
        second = await submit(jobs, gate.wait)
        third = await submit(jobs, "true", first.id, second.id)
        await jobs.forget(first.id)
        await homes.kill_daemon(home)
        over = await end_of(jobs, third.id)
        assert over.end.error == f"it was to start after {first.id}, which was forgotten before its turn came"
