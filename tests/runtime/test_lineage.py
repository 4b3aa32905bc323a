"""A job that is started from a job: its parent, its owner and its session. Checklist 83."""

import os
import sys
from pathlib import Path

import pytest
from tests.support.patience import ended

from bide import Filter, Job
from bide.api import Jobs
from bide.model.errors import JobNotFound
from bide.model.request import RunOptions

BIDE = f"{sys.executable} -P -m bide"


def inside(job: Job, home: Path, **more: str) -> dict[str, str]:
    """The environment of a program that this job runs."""
    return {**os.environ, "BIDE_JOB": job.id, "BIDE_HOME": str(home), **more}


async def test_a_job_asked_for_from_a_job_has_it_as_its_parent(jobs: Jobs, home: Path) -> None:
    parent = (await jobs.run("true", name="above")).job
    assert parent.parent is None
    child = (await jobs.run("true", base_env=inside(parent, home))).job
    assert child.parent == parent.id
    assert (await jobs.get(child.id)).parent == parent.id


async def test_a_parent_can_be_given_by_id_or_name(jobs: Jobs) -> None:
    parent = (await jobs.run("true", name="above")).job
    for ref in (parent.id, "above"):
        ran = await jobs.run("echo $BIDE_PARENT", parent=ref)
        assert ran.job.parent == parent.id
        assert ran.out is not None
        assert ran.out.data.decode() == f"{parent.id}\n"


async def test_a_parent_that_is_unknown_or_of_another_home_is_left_out(jobs: Jobs, home: Path) -> None:
    parent = (await jobs.run("true")).job
    elsewhere = inside(parent, home, BIDE_HOME="/elsewhere", BIDE_SESSION="there")
    unknown = inside(parent, home, BIDE_JOB="j0000000000")
    ways: list[RunOptions] = [{"base_env": elsewhere}, {"parent": "nobody"}, {"base_env": unknown}]
    for options in ways:
        child = (await jobs.run("true", **options)).job
        assert (child.parent, child.session) == (None, None)


async def test_the_children_of_a_job_can_be_listed_also_when_it_is_forgotten(jobs: Jobs, home: Path) -> None:
    parent = (await jobs.run("true", name="above")).job
    children = [(await jobs.run("true", base_env=inside(parent, home))).job.id for _ in range(3)]
    await jobs.run("true")
    for ref in (parent.id, "above"):
        assert [job.id for job in (await jobs.list(Filter(parent=ref))).jobs] == children[::-1]
    page = await jobs.list(Filter(parent=parent.id, phase="ended"), limit=2)
    older = await jobs.list(Filter(parent=parent.id, phase="ended"), limit=2, before=page.next)
    assert [job.id for job in (*page.jobs, *older.jobs)] == children[::-1]
    await jobs.forget(parent.id)
    assert len((await jobs.list(Filter(parent=parent.id))).jobs) == 3


async def test_children_of_a_job_that_never_was_are_an_error(jobs: Jobs) -> None:
    with pytest.raises(JobNotFound, match="no job 'nobody' here"):
        await jobs.list(Filter(parent="nobody"))


async def test_a_job_has_its_parents_owner_unless_it_has_one(jobs: Jobs, home: Path) -> None:
    parent = (await jobs.run("true", owner="agent")).job
    base = inside(parent, home)
    child = (await jobs.run("true", base_env=base, key="k")).job
    assert child.owner == "agent"
    assert (await jobs.run("true", base_env=base, owner="other")).job.owner == "other"
    again = await jobs.run("true", base_env=base, key="k")
    assert (again.joined, again.job.id) == (True, child.id)


async def test_a_job_belongs_to_the_session_of_the_job_that_started_it(jobs: Jobs, home: Path) -> None:
    await jobs.sessions.start("s1")
    parent = (await jobs.run("true", session="s1")).job
    ran = await jobs.run("echo $BIDE_SESSION,$BIDE_SESSION_FOLDER", base_env=inside(parent, home, BIDE_SESSION="s1"))
    assert (ran.job.session, ran.job.id) == ("s1", "job-s1-2")
    assert ran.out is not None
    assert ran.out.data == b"s1,\n"
    for odd in ("", "../x", "a b", "ended"):
        assert (await jobs.run("true", base_env=inside(parent, home, BIDE_SESSION=odd))).job.session is None


@pytest.mark.parametrize("language", ["shell", "python"])
async def test_a_nested_bide_run_is_linked_from_any_language(remote: Jobs, language: str) -> None:
    code = f"{BIDE} run -c 'echo $BIDE_PARENT'"
    if language == "python":
        code = f"import subprocess; subprocess.run({code!r}, shell=True)"
    ran = await remote.run(code, language=language, env={"VIRTUAL_ENV": sys.prefix})
    assert ended(ran.job).end.success, ran.err
    (child,) = (await remote.list(Filter(parent=ran.job.id))).jobs
    assert child.spec.command == "echo $BIDE_PARENT"
    assert ran.out is not None
    assert ran.out.data.decode() == f"{ran.job.id}\n"
