"""`forget`: gone for good, and said so."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.support import homes
from tests.support.gates import Gate

import bide
from bide.api import Jobs
from bide.model.errors import JobActive, JobForgotten, JobNotFound
from bide.runtime.local import LocalJobs


async def test_a_forgotten_job_leaves_nothing_but_that_it_was_forgotten(jobs: Jobs, home: Path) -> None:
    """Checklist 260."""
    job = (await jobs.run("echo secret", name="once")).job.id
    folder = home / "jobs" / job
    assert (folder / "out").read_bytes() == b"secret\n"
    await jobs.forget("once")
    assert not folder.exists()
    assert [path for path in (home / "new").iterdir() if not path.name.startswith("spare-")] == []
    for ref in (job, "once"):
        with pytest.raises(
            JobForgotten, match=f"job '{ref}' was forgotten at 20.*; its record and output are gone"
        ) as said:
            await jobs.read(ref)
        assert said.value.code == "job_forgotten"
    assert (await jobs.list()).jobs == ()


async def test_one_that_is_forgotten_while_it_is_looked_up_is_said_to_be(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bide.local(home) as jobs:
        assert isinstance(jobs, LocalJobs)
        job = (await jobs.run("true")).job.id
        store = jobs.core.store
        resolve = store.resolve

        def resolved(ref: str, owner: str | None) -> str | None:
            found = resolve(ref, owner)
            store.past.forget([job], datetime.now(UTC), "as asked").result()
            return found

        monkeypatch.setattr(store, "resolve", resolved)
        await jobs.core.settled()
        with pytest.raises(JobForgotten):
            await jobs.get(job)


async def test_a_forgotten_name_can_be_used_again(jobs: Jobs) -> None:
    await jobs.forget((await jobs.run("true", name="once")).job.id)
    job = (await jobs.run("true", name="once")).job.id
    assert (await jobs.get("once")).id == job


async def test_a_forgotten_key_can_be_used_again(jobs: Jobs) -> None:
    first = (await jobs.run("true", key="k")).job.id
    await jobs.forget(first)
    again = await jobs.run("true", key="k")
    assert not again.joined
    assert again.job.id != first


async def test_forgetting_twice_says_that_it_was_forgotten(jobs: Jobs) -> None:
    job = (await jobs.run("true")).job.id
    await jobs.forget(job)
    with pytest.raises(JobForgotten):
        await jobs.forget(job)


async def test_an_active_job_cannot_be_forgotten(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(gate.wait, background=True)).job.id
    with pytest.raises(JobActive, match=f"job {job} has not ended; kill it or wait for it first") as refused:
        await jobs.forget(job)
    assert refused.value.code == "job_active"
    assert (await jobs.get(job)).phase_name == "running"


async def test_an_unknown_job_cannot_be_forgotten(jobs: Jobs) -> None:
    with pytest.raises(JobNotFound, match="no job 'nobody' here"):
        await jobs.forget("nobody")


async def test_what_was_forgotten_is_still_known_after_a_restart(home: Path) -> None:
    async with bide.local(home) as jobs:
        job = (await jobs.run("true")).job.id
        await jobs.forget(job)
    async with homes.local(home) as jobs:
        with pytest.raises(JobForgotten):
            await jobs.get(job)
