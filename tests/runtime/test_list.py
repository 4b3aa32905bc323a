"""`get` and `list`: one job, and pages of them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support.gates import Gate
from tests.support.patience import end_of

from bide import Filter, Limits, Reason
from bide.api import Jobs
from bide.model.errors import BadRequest, JobNotFound


async def names(jobs: Jobs, where: Filter) -> list[str | None]:
    return [job.name for job in (await jobs.list(where)).jobs]


async def test_jobs_are_listed_newest_first_in_pages_that_neither_repeat_nor_hide(jobs: Jobs) -> None:
    ids = [(await jobs.run("true", name=f"n{number}")).job.id for number in range(7)]
    seen: list[str] = []
    before = None
    while True:
        page = await jobs.list(limit=3, before=before)
        assert len(page.jobs) <= 3
        seen += [job.id for job in page.jobs]
        before = page.next
        if before is None:
            break
        await jobs.run("true")
    assert seen == ids[::-1]


async def test_every_condition_given_must_hold(jobs: Jobs, gate: Gate) -> None:
    await jobs.run("exit 0", name="good", label="nightly", owner="ada")
    await jobs.run("exit 1", name="bad", label="nightly", owner="bob")
    await jobs.run("sleep 1000", name="late", limits=Limits(timeout=timedelta(seconds=0.1)))
    await jobs.run(gate.wait, name="now", owner="ada", background=True)

    assert await names(jobs, Filter()) == ["now", "late", "bad", "good"]
    assert await names(jobs, Filter(phase="running")) == ["now"]
    assert await names(jobs, Filter(phase="ended")) == ["late", "bad", "good"]
    assert await names(jobs, Filter(phase="queued")) == []
    assert await names(jobs, Filter(reason=Reason.TIMED_OUT)) == ["late"]
    assert await names(jobs, Filter(reason=Reason.EXITED)) == ["bad", "good"]
    assert await names(jobs, Filter(label="nightly")) == ["bad", "good"]
    assert await names(jobs, Filter(owner="ada")) == ["now", "good"]
    assert await names(jobs, Filter(owner="ada", phase="ended")) == ["good"]
    assert await names(jobs, Filter(kind="shell", name="bad")) == ["bad"]
    assert await names(jobs, Filter(kind="claude")) == []
    assert await names(jobs, Filter(session="none")) == []


async def test_jobs_are_found_by_when_they_were_created(jobs: Jobs) -> None:
    first = (await jobs.run("sleep 0.02", name="first")).job
    second = (await jobs.run("sleep 0.02", name="second")).job
    assert await names(jobs, Filter(since=second.created_at)) == ["second"]
    assert await names(jobs, Filter(until=second.created_at)) == ["first"]
    assert await names(jobs, Filter(since=first.created_at, until=second.created_at)) == ["first"]
    assert await names(jobs, Filter(since=datetime.now(UTC) + timedelta(hours=1))) == []


async def test_what_runs_is_listed_as_it_is_now(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(f"echo some; {gate.wait}", background=True)).job.id
    await jobs.read(job, follow=timedelta(seconds=5))
    (listed,) = (await jobs.list()).jobs
    assert listed.facts is not None
    assert listed.facts.out.size == 5
    gate.open()
    await end_of(jobs, job)
    assert [found.phase_name for found in (await jobs.list(Filter(phase="ended"))).jobs] == ["ended"]
    assert (await jobs.list(Filter(phase="running"))).jobs == ()


async def test_a_page_that_cannot_be_meant_is_refused(jobs: Jobs) -> None:
    for limit in (0, 1001):
        with pytest.raises(BadRequest, match=f"a limit is a number from 1 to 1000, not {limit}"):
            await jobs.list(limit=limit)
    with pytest.raises(BadRequest, match="'yesterday' is no place in a list; give the 'next' of the page before"):
        await jobs.list(before="yesterday")


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        (Filter(phase="over"), "there is no phase 'over'; use queued, running, ended"),
        (Filter(reason="timeout"), "there is no reason 'timeout'; use exited, signaled, killed, timed_out, "),
    ],
)
async def test_a_filter_that_no_job_can_meet_is_refused(jobs: Jobs, where: Filter, sentence: str) -> None:
    with pytest.raises(BadRequest, match=sentence):
        await jobs.list(where)


async def test_an_unknown_job_is_said_not_to_be_here(jobs: Jobs) -> None:
    """Checklist 260."""
    for ref in ("nobody", "j0000000000", "../../etc/passwd", "a b", "x" * 5000, "\u2713", "\udcff"):
        with pytest.raises(JobNotFound, match="here, and none is on record as forgotten; list jobs to see") as refused:
            await jobs.get(ref)
        assert refused.value.code == "job_not_found"
        assert refused.value.facts == {"job": ref}


async def test_a_job_has_no_empty_name(jobs: Jobs) -> None:
    with pytest.raises((BadRequest, JobNotFound)):
        await jobs.get("")


async def test_a_running_job_shows_its_pid_and_an_ended_one_keeps_it(jobs: Jobs, gate: Gate, tmp_path: Path) -> None:
    job = (await jobs.run(f"echo $$ > '{tmp_path}/pid'; echo up; {gate.wait}", background=True)).job
    await jobs.read(job.id, follow=timedelta(seconds=5))
    pid = int((tmp_path / "pid").read_text())
    assert getattr(job.phase, "pid", None) == pid
    gate.open()
    assert (await end_of(jobs, job.id)).pid == pid
