"""The environment of a job: what it begins with, what suits unattended runs, what the caller adds, what is ours."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from bide.api import Jobs
from bide.model.request import RunOptions
from bide.runtime.environment import UNATTENDED, build

OURS = {"BIDE_JOB": "j1", "BIDE_HOME": "/home"}
SHOW = [sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))"]


async def shown(jobs: Jobs, options: RunOptions) -> dict[str, str]:
    ran = await jobs.run(SHOW, **options)
    assert ran.out is not None
    return json.loads(ran.out.data)


def test_nobody_is_asked_and_nothing_is_paged_or_coloured_by_default() -> None:
    env = build({"PAGER": "less", "LANG": "C"}, {}, defaults=True, pty=False, ours=OURS)
    assert UNATTENDED.items() <= env.items()
    assert env["PAGER"] == "cat"
    assert env["LC_ALL"] == "C.UTF-8"


def test_what_the_caller_sets_wins_over_the_defaults() -> None:
    env = build({}, {"PAGER": "less", "CI": "", "LC_ALL": "de_DE"}, defaults=True, pty=False, ours=OURS)
    assert (env["PAGER"], env["CI"], env["LC_ALL"]) == ("less", "", "de_DE")


def test_the_defaults_can_be_left_out() -> None:
    env = build({"A": "1", "LANG": "C"}, {"B": "2"}, defaults=False, pty=False, ours=OURS)
    assert env == {"A": "1", "LANG": "C", "B": "2", "PATH": "/usr/local/bin:/usr/bin:/bin", **OURS}


def test_a_terminal_has_colours_and_a_name() -> None:
    env = build({"NO_COLOR": "1"}, {}, defaults=True, pty=True, ours=OURS)
    assert env["TERM"] == "xterm-256color"
    assert "NO_COLOR" not in env


def test_the_size_of_the_callers_terminal_is_not_that_of_the_jobs() -> None:
    size = {"LINES": "50", "COLUMNS": "200"}
    assert not size.keys() & build(size, {}, defaults=False, pty=True, ours=OURS).keys()
    assert build(size, {"LINES": "24"}, defaults=True, pty=True, ours=OURS)["LINES"] == "24"
    assert size.items() <= build(size, {}, defaults=True, pty=False, ours=OURS).items()


@pytest.mark.parametrize("base", [{"LANG": "en_US.UTF-8"}, {"LC_CTYPE": "C.utf8"}, {"LC_ALL": "de_DE.UTF-8"}])
def test_a_locale_that_speaks_utf8_is_kept(base: Mapping[str, str]) -> None:
    env = build(base, {}, defaults=True, pty=False, ours=OURS)
    assert base.items() <= env.items()
    assert env.get("LC_ALL") == base.get("LC_ALL")


def test_what_links_a_job_to_bide_cannot_be_overridden() -> None:
    base = {"BIDE_JOB": "outer", "BIDE_HOME": "/elsewhere", "BIDE_PARENT": "grandparent"}
    env = build(base, {"BIDE_JOB": "forged"}, defaults=True, pty=False, ours=OURS)
    assert (env["BIDE_JOB"], env["BIDE_HOME"], env["BIDE_PARENT"]) == ("j1", "/home", "outer")


def test_what_linked_the_caller_to_bide_is_left_behind_and_so_is_what_was_unset() -> None:
    base = {"BIDE_SESSION": "s", "BIDE_SESSION_FOLDER": "/s", "BIDE_PARENT": "other", "GONE": "1", "KEPT": "1"}
    env = build(base, {}, defaults=False, pty=False, ours=OURS, unset=["GONE"])
    assert {"BIDE_SESSION", "BIDE_SESSION_FOLDER", "BIDE_PARENT", "GONE"} & env.keys() == set()
    assert env["KEPT"] == "1"


def test_what_is_no_variable_is_left_behind() -> None:
    env = build({"": "1", "A=B": "2", "C": "\0", "D": "ok"}, {}, defaults=False, pty=False, ours={})
    assert env == {"D": "ok", "PATH": "/usr/local/bin:/usr/bin:/bin"}


async def test_a_job_has_the_callers_environment_the_defaults_and_its_own(
    jobs: Jobs, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FROM_THE_CALLER", "yes")
    env = await shown(jobs, {"env": {"OF_ITS_OWN": "caf\u00e9", "NO_COLOR": "0"}})
    assert (env["FROM_THE_CALLER"], env["OF_ITS_OWN"], env["NO_COLOR"]) == ("yes", "caf\u00e9", "0")
    assert env["GIT_TERMINAL_PROMPT"] == "0"
    assert env["PATH"] == os.environ["PATH"]
    assert env["BIDE_HOME"] == str(home)
    assert (await jobs.get(env["BIDE_JOB"])).phase_name == "ended"


async def test_a_job_can_have_nothing_but_what_it_is_given(jobs: Jobs) -> None:
    env = await shown(jobs, {"base_env": {}, "env_defaults": False, "env": {"A": "1"}})
    assert set(env) - {"LC_CTYPE"} == {"A", "PATH", "BIDE_JOB", "BIDE_HOME", "BIDE_OWNER"}


async def test_an_environment_of_bytes_that_are_no_text_is_passed_on(jobs: Jobs) -> None:
    ran = await jobs.run('printf %s "$ODD"', env={"ODD": "\udcff\udcfe"})
    assert ran.out is not None
    assert ran.out.data == b"\xff\xfe"
