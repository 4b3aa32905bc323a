"""Which Python runs code: the session's or the project's own."""

import os
import sys
from pathlib import Path

import pytest
from tests.support.code import printed

from bide.api import Jobs
from bide.kinds import python
from bide.model.errors import BadRequest


def make_python(folder: Path, name: str = "bin/python") -> str:
    """A program that says who it is before it is Python."""
    path = folder / name
    path.parent.mkdir(parents=True)
    path.write_text(f'#!/bin/sh\necho "I am $0"\nexec {sys.executable} "$@"\n')
    path.chmod(0o755)
    return str(path)


async def test_the_projects_virtual_environment_is_found_from_the_folder_upwards(jobs: Jobs, tmp_path: Path) -> None:
    mine = make_python(tmp_path / ".venv")
    deep = tmp_path / "src" / "deep"
    deep.mkdir(parents=True)
    ran = await jobs.run("print('ran')", language="python", cwd=str(deep), env={"VIRTUAL_ENV": ""})
    assert ran.out is not None
    assert ran.out.data.decode() == f"I am {mine}\nran\n"
    assert ran.job.spec.argv[0] == mine


async def test_the_environments_own_comes_before_the_projects(jobs: Jobs, tmp_path: Path) -> None:
    make_python(tmp_path / ".venv")
    other = make_python(tmp_path / "other")
    env = {"VIRTUAL_ENV": str(tmp_path / "other")}
    assert await printed(jobs, "print('ran')", cwd=str(tmp_path), env=env) == f"I am {other}\nran\n"


def test_the_order_is_environment_then_project_then_path_then_our_own(tmp_path: Path) -> None:
    inner = tmp_path / "project" / "inner"
    inner.mkdir(parents=True)
    env = {"VIRTUAL_ENV": str(tmp_path / "gone"), "PATH": f"{tmp_path}/none:{tmp_path}/bin"}
    assert python.interpreter(str(inner), {}) == sys.executable
    on_path = make_python(tmp_path, "bin/python3")
    assert python.interpreter(str(inner), env) == on_path
    venv = make_python(tmp_path / "project" / "venv")
    assert python.interpreter(str(inner), env) == venv
    nearer = make_python(inner / ".venv")
    assert python.interpreter(str(inner), env) == nearer
    assert python.interpreter(str(inner), env | {"VIRTUAL_ENV": str(tmp_path / "project" / "venv")}) == venv


def test_what_cannot_be_executed_is_passed_by(tmp_path: Path) -> None:
    Path(make_python(tmp_path / ".venv")).chmod(0o644)
    (tmp_path / "venv" / "bin" / "python").mkdir(parents=True)
    assert python.interpreter(str(tmp_path), {}) == sys.executable


@pytest.mark.root
def test_a_virtual_environment_that_somebody_else_made_is_passed_by(tmp_path: Path) -> None:
    make_python(tmp_path / ".venv")
    os.chown(tmp_path / ".venv", 12345, 12345)
    assert python.interpreter(str(tmp_path), {}) == sys.executable


async def test_where_there_is_no_python_nothing_is_started(
    local: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "gone"))
    with pytest.raises(BadRequest, match=r"no Python was found for code in .*; make a virtual environment there"):
        await local.run("print(1)", language="python", cwd=str(tmp_path), base_env={}, env={"PATH": str(tmp_path)})
    assert (await local.list()).jobs == ()
