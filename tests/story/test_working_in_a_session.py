"""Somebody works in a place: one run prepares it, the next ones use what it prepared."""

import sys
from datetime import timedelta
from pathlib import Path

from tests.support.patience import ended

from bide.api import Jobs


async def test_a_virtualenv_is_built_in_one_run_and_used_in_the_next(jobs: Jobs, tmp_path: Path) -> None:
    await jobs.sessions.start("project", cwd=str(tmp_path))

    build = f"mkdir app && cd app && {sys.executable} -m venv --without-pip .venv && . .venv/bin/activate"
    built = await jobs.run(build, session="project", deadline=timedelta(seconds=50))
    assert ended(built.job).end.exit_code == 0

    used = await jobs.run("pwd; command -v python; python -c 'import sys; print(sys.prefix)'", session="project")
    assert used.out is not None
    venv = tmp_path / "app" / ".venv"
    assert used.out.data.decode().split() == [str(tmp_path / "app"), str(venv / "bin" / "python"), str(venv)]

    found = await jobs.sessions.get("project")
    assert found.env["VIRTUAL_ENV"] == str(venv)
    assert [job.id for job in found.jobs] == ["job-project-2", "job-project-1"]

    await jobs.run("deactivate", session="project")
    after = await jobs.run("command -v python; echo ${VIRTUAL_ENV-none}", session="project")
    assert after.out is not None
    assert str(venv) not in after.out.data.decode()
    assert after.out.data.endswith(b"none\n")

    over = await jobs.sessions.end("project")
    assert (over.killed, over.unverified) == ((), ())
