"""What Python code sees of its session, and what it leaves behind for the next run. Checklist 79."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.support.code import err, out, printed, python
from tests.support.patience import ended

from bide.api import Jobs, Ran
from bide.model.request import RunOptions

Left = tuple[str | None, dict[str, str], object]
"""The folder, the environment and the variables."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A session's own folder."""
    path = tmp_path / "session"
    path.mkdir()
    (path / "session.json").write_text(json.dumps({"id": "s1", "vars": {"count": 1, "odd": "\0\ud800"}}))
    return path


async def run_in(jobs: Jobs, folder: Path, code: str) -> Ran:
    return await python(jobs, code, env={"BIDE_SESSION": "s1", "BIDE_SESSION_FOLDER": str(folder)})


def left(folder: Path, ran: Ran) -> Left:
    """What a run left; it must be complete, and nothing else may be there."""
    records = (folder / f"state.{ran.job.id}").read_bytes().split(b"\0")
    assert records[-2:] == [b"end=1", b""]
    assert {path.name for path in folder.iterdir()} == {"session.json", f"state.{ran.job.id}"}
    pairs = [record.decode("utf-8", "surrogateescape").split("=", 1) for record in records[:-2]]
    found: dict[str, list[str]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    env = dict(one.split("=", 1) for one in found["env"])
    return next(iter(found.get("cwd", [])), None), env, json.loads(found["vars"][0]) if "vars" in found else None


async def test_folder_environment_and_variables_are_left_as_the_code_left_them(jobs: Jobs, folder: Path) -> None:
    code = """
import os
session.cwd = "/"
session.env["COLOUR"] = "blue = green"
del session.env["CI"]
session.vars["count"] += 1
session.vars.names = ["a", {"b": None}]
del session.vars.odd
print(session.id, session.cwd, os.getcwd(), os.environ["COLOUR"])
"""
    ran = await run_in(jobs, folder, code)
    assert out(ran) == "s1 / / blue = green\n"
    cwd, env, variables = left(folder, ran)
    assert (cwd, env["COLOUR"], "CI" in env) == ("/", "blue = green", False)
    assert variables == {"count": 2, "names": ["a", {"b": None}]}


@pytest.mark.parametrize(
    ("last", "status"), [("", 0), ("1/0", 1), ("raise SystemExit(5)", 5), ("import sys; sys.exit()", 0)]
)
async def test_it_is_left_however_the_code_ends(jobs: Jobs, folder: Path, last: str, status: int) -> None:
    ran = await run_in(jobs, folder, f"session.vars['end'] = True\nsession.cwd = '/'\n{last}")
    assert ended(ran.job).end.exit_code == status
    cwd, _, variables = left(folder, ran)
    assert (cwd, variables) == ("/", {"count": 1, "odd": "\0\ud800", "end": True})


async def test_what_threads_and_handlers_of_the_code_do_at_the_end_counts(jobs: Jobs, folder: Path) -> None:
    code = """
import atexit, threading
def late():
    threading.main_thread().join()
    session.vars["thread"] = 1
atexit.register(lambda: session.vars.update(handler=2))
threading.Thread(target=late).start()
"""
    _, _, variables = left(folder, await run_in(jobs, folder, code))
    assert variables == {"count": 1, "odd": "\0\ud800", "thread": 1, "handler": 2}


async def test_a_fork_of_the_code_leaves_nothing(jobs: Jobs, folder: Path) -> None:
    code = "import os\nif os.fork() == 0:\n    os.chdir('/')\n    raise SystemExit\nos.wait()"
    cwd, _, _ = left(folder, await run_in(jobs, folder, code))
    assert cwd == os.getcwd()


async def test_variables_that_were_not_touched_are_not_said(jobs: Jobs, folder: Path) -> None:
    _, _, variables = left(folder, await run_in(jobs, folder, "pass"))
    assert variables is None


async def test_what_python_sets_for_itself_is_no_change(jobs: Jobs, folder: Path) -> None:
    env = {"BIDE_SESSION_FOLDER": str(folder), "A": "1"}
    options: RunOptions = {"base_env": {}, "env_defaults": False, "env": env}
    ran = await python(jobs, "import os; print(os.environ.get('LC_CTYPE'))", **options)
    assert out(ran) == "C.UTF-8\n"
    _, env, _ = left(folder, ran)
    assert env["A"] == "1"
    records = (folder / f"state.{ran.job.id}").read_bytes()
    assert b"\0env=LC_CTYPE=C.UTF-8\0" in records
    assert b"\0began=LC_CTYPE=C.UTF-8\0" in records


CANNOT: Sequence[tuple[str, str]] = [
    ("{1, 2}", "Object of type set is not JSON serializable"),
    ("object", "Object of type type is not JSON serializable"),
    ("[1, {2: 3}]", "the key 2 is not text, which JSON asks of keys"),
    ("float('nan')", "Out of range float values are not JSON compliant"),
]


@pytest.mark.parametrize(("value", "why"), CANNOT)
async def test_a_value_that_json_cannot_say_is_named_and_changes_nothing(
    jobs: Jobs, folder: Path, value: str, why: str
) -> None:
    code = f"print('ran')\nsession.vars['good'] = 1\nsession.vars['bad'] = {value}\nsession.cwd = '/'"
    ran = await run_in(jobs, folder, code)
    assert (ended(ran.job).end.exit_code, out(ran)) == (1, "ran\n")
    said = err(ran)
    assert said.startswith(f"bide: session.vars['bad'] cannot be kept: {why}")
    assert said.endswith("; nothing of the session was changed\n")
    assert [path.name for path in folder.iterdir()] == ["session.json"]


async def test_a_value_that_holds_itself_is_named(jobs: Jobs, folder: Path) -> None:
    ran = await run_in(jobs, folder, "a = []\na.append(a)\nsession.vars.ring = a")
    assert "session.vars['ring'] cannot be kept" in err(ran)
    assert [path.name for path in folder.iterdir()] == ["session.json"]


async def test_the_codes_own_failure_is_not_hidden_by_a_value_that_cannot_be_kept(jobs: Jobs, folder: Path) -> None:
    ran = await run_in(jobs, folder, "session.vars.bad = print\nraise SystemExit(9)")
    assert ended(ran.job).end.exit_code == 9
    assert "session.vars['bad'] cannot be kept" in err(ran)


async def test_a_folder_that_is_gone_is_not_said(jobs: Jobs, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "short").mkdir()
    ran = await run_in(jobs, folder, f"import os\nsession.cwd = {str(tmp_path / 'short')!r}\nos.rmdir(session.cwd)")
    assert ended(ran.job).end.success, err(ran)
    assert left(folder, ran)[0] is None


async def test_without_a_session_variables_begin_empty_and_are_gone_after(jobs: Jobs) -> None:
    code = "print(session.id, dict(session.vars)); session.vars.x = {1, 2}; print(session.vars.x)"
    for _ in range(2):
        assert await printed(jobs, code) == "None {}\n{1, 2}\n"


async def test_a_name_that_a_dict_has_is_an_item_and_no_attribute(jobs: Jobs) -> None:
    code = """
for act in (lambda: session.vars.nothing, lambda: setattr(session.vars, "items", 1), lambda: delattr(session.vars, "x")):
    try: act()
    except AttributeError as error: print(error)
session.vars["items"] = 1
print(session.vars["items"])
"""
    assert await printed(jobs, code) == (
        "session.vars has no 'nothing'\na dict has a method 'items'; say session.vars['items'] = ...\n"
        "session.vars has no 'x'\n1\n"
    )


async def test_where_a_session_keeps_things_is_not_told_to_its_jobs_jobs(remote: Jobs, folder: Path) -> None:
    await remote.sessions.start("s1")
    ran = await run_in(
        remote, folder, "print(cmd('sh', '-c', 'echo $BIDE_SESSION,$BIDE_SESSION_FOLDER').exec().result().stdout)"
    )
    assert out(ran) == "s1,\n\n"
