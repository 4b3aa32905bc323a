"""`bide session` and `bide run --session`."""

import json
import os
from pathlib import Path

import pytest
from tests.cli.shell import Shell


@pytest.fixture
def place(bide: Shell) -> str:
    """A session of the test's own, in the test's folder."""
    return bide.out("session", "start").strip()


def test_what_one_run_changes_holds_for_the_next(bide: Shell, place: str, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    assert bide.out("run", "--session", place, "-c", "cd sub; export A=1; f() { echo f; }") == ""
    assert bide.out("run", "--session", place, "-c", "pwd; echo $A; f") == f"{tmp_path}/sub\n1\nf\n"
    assert bide.out("run", "--session", place, "--", "pwd") == f"{tmp_path}/sub\n"
    failed = bide("run", "--session", place, "-c", "export A=2; exit 5")
    assert failed.returncode == 5
    assert bide.out("run", "--session", place, "--env", "B=3", "-c", "echo $A $B") == "2 3\n"
    job = bide.out("run", "--bg", "--session", place, "-c", "export A=9; echo $B").strip()
    assert bide("wait", job).returncode == 0
    answer = bide.json("run", "--session", place, "-c", "echo $A")
    assert (answer["job"]["id"], answer["out"]["text"]) == (f"job-{place}-7", "2\n")
    assert not answer["job"]["background"]


def test_it_is_started_updated_shown_listed_and_ended(bide: Shell, tmp_path: Path) -> None:
    session = f"cli{os.getpid()}"
    told = bide("session", "start", session, "--env", "A=1", "--var", 'n={"x": [1]}', "--owner", "ann")
    assert (told.returncode, told.stdout.decode()) == (0, f"{session}\n")
    changed = ("--env", "B=2", "--unset", "A", "--cwd", "/", "--var", 'text="t"', "--drop", "n")
    assert "folder    /\n" in bide.out("session", "update", session, *changed)
    bide("run", "--session", session, "--name", "named", "-c", "exit 3")
    shown = bide.out("session", "show", session)
    for line in (
        "owner     ann",
        "env       B=2",
        "unset     A",
        'var       text="t"',
        f"job-{session}-1  exit 3  exit 3",
    ):
        assert line in shown
    found = bide.json("session", "show", session)
    assert (found["cwd"], found["seq"], found["jobs"][0]["name"]) == ("/", 1, "named")
    pid = found["jobs"][0]["pid"]
    for ref in (f"job-{session}-1", "named", str(pid)):
        assert f"job       job-{session}-1\n" in bide.out("session", "show", session, ref)
    listed = bide.out("session", "list", "--owner", "ann")
    assert listed.splitlines()[0].split() == ["SESSION", "OWNER", "RUNNING", "JOBS", "ACTIVE", "FOLDER"]
    assert listed.splitlines()[1].split()[:4] == [session, "ann", "0", "1"]
    job = bide.background("sleep 100", "--session", session)
    assert bide.out("session", "end", session, "--forget") == f"session {session} ended: 1 killed, 2 forgotten\n"
    assert b"was forgotten" in bide("show", job).stderr
    assert tmp_path.exists()


def test_what_is_evicted_is_told(alone: Shell) -> None:
    alone.home.mkdir(mode=0o700)
    (alone.home / "config.toml").write_text("[sessions]\nmost = 1\n")
    assert alone("session", "list").stderr == b"bide: no session is open; start one with: bide session start\n"
    alone.out("session", "start", "a")
    told = alone("session", "start", "b")
    assert told.stdout == b"b\n"
    assert told.stderr == b"bide: session a was evicted to make room; what runs in it goes on\n"
    assert alone.json("session", "start", "c")["evicted"] == ["b"]
    assert b"evicted" in alone("daemon", "logs").stdout


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("session",), 2, "required"),
        (("session", "stop"), 2, "invalid choice"),
        (("session", "show"), 2, "which session? as in: bide session show work"),
        (("session", "list", "x"), 2, "takes no session; did you mean: bide session show x"),
        (("session", "start", "--forget"), 2, "'bide session start' does not take --forget"),
        (("session", "end", "x", "j"), 2, "does not take a job"),
        (("session", "start", "--var", "a=text"), 2, "the value of --var a is not JSON"),
        (("session", "start", "a/b"), 2, "cannot be a session's id"),
        (("session", "start", "--cwd", "/no/such"), 2, "no folder '/no/such'"),
        (("session", "show", "nobody"), 97, "no session 'nobody' is open"),
        (("session", "show", ".x"), 2, "cannot be a session's id"),
        (("run", "--session", "nobody", "--", "true"), 97, "no session 'nobody' is open"),
    ],
)
def test_a_wrong_command_says_what_to_do(bide: Shell, words: tuple[str, ...], status: int, says: str) -> None:
    done = bide(*words)
    assert (done.returncode, done.stdout) == (status, b"")
    assert says in done.stderr.decode()
    told = json.loads(bide(*words[:1], "--json", *words[1:]).stdout)
    assert told["error"]["code"] in ("usage", "bad_request", "folder_not_found", "session_not_found")


def test_session_ids_are_completed(bide: Shell, place: str) -> None:
    for words in (("run", "--session", ""), ("session", "show", ""), ("session", "end", place[:-1])):
        assert place in bide.out("__complete", "--", *words).split()
    assert bide.out("__complete", "--", "session", "u").split() == ["update"]
