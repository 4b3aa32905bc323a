"""Turns, groups, pauses and reuse, as they are typed."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.cli.shell import Shell

from bide.cli.turns import parse_start

HEAD = ["GROUP", "LIMIT", "RUNNING", "WAITING", "STATUS"]


def rows(text: str) -> list[list[str]]:
    return [line.replace("(all jobs)", "all").split() for line in text.splitlines()]


def test_groups_are_limited_paused_resumed_and_listed(alone: Shell) -> None:
    assert rows(alone.out("group")) == [HEAD, ["all", "-", "0", "0", "open"]]
    assert rows(alone.out("group", "limit", "build", "2")) == [HEAD, ["build", "2", "0", "0", "open"]]
    assert rows(alone.out("group", "limit", "--all", "8")) == [HEAD, ["all", "8", "0", "0", "open"]]
    assert rows(alone.out("group", "pause", "build")) == [HEAD, ["build", "2", "0", "0", "paused"]]
    assert alone.json("group", "resume", "build") == {
        "name": "build",
        "limit": 2,
        "paused": False,
        "running": 0,
        "waiting": 0,
    }
    assert [group["name"] for group in alone.json("group", "list")["groups"]] == [None, "build"]
    assert rows(alone.out("group", "limit", "build", "none")) == [HEAD, ["build", "-", "0", "0", "open"]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("limit", "build"), "write 'bide group limit NAME N (or none)', or --all in place of NAME"),
        (("limit", "--all", "build", "3"), "write 'bide group limit NAME N (or none)'"),
        (("limit", "build", "many"), "a limit is a whole number or 'none', not 'many'"),
        (("pause",), "write 'bide group pause NAME', or --all in place of NAME"),
        (("pause", "no such thing"), "'no such thing' cannot be a group"),
        (("list", "build"), "'bide group list' shows every group"),
        (("grow", "build"), "invalid choice: 'grow'"),
    ],
)
def test_what_cannot_be_meant_of_groups_is_said(bide: Shell, words: tuple[str, ...], said: str) -> None:
    done = bide("group", *words)
    assert done.returncode == 2
    assert said in done.stderr.decode()


def test_a_job_that_has_to_wait_says_for_what_and_runs_when_its_turn_comes(bide: Shell) -> None:
    bide("group", "pause", "later")
    done = bide("run", "--bg", "--group", "later", "--priority", "5", "--", "echo", "hello")
    job = done.stdout.decode().strip()
    assert done.stderr.decode() == f"bide: job {job} is queued, place 1: group 'later' is paused\n"
    page = bide.out("show", job)
    assert "status    queued\n" in page
    assert "waits     group 'later' is paused  (place 1)\n" in page
    assert "group     later\n" in page
    assert "priority  5\n" in page
    assert bide.json("show", job)["queue"] == {"place": 1, "why": "group 'later' is paused"}
    assert job in bide.out("ls", "--phase", "queued")
    assert bide("wait", "--timeout", "50ms", job).returncode == 75
    signalled = bide("send", "--signal", "HUP", job)
    assert signalled.returncode == 98
    assert f"job {job} has not started, so there is no process to send a signal to" in signalled.stderr.decode()
    deferred = bide("run", "--group", "later", "--deadline", "50ms", "--", "true")
    assert deferred.returncode == 75
    assert b"is still queued" in deferred.stderr
    bide("group", "resume", "later")
    assert bide("wait", job).returncode == 0
    assert bide.out("logs", job) == "hello\n"


def test_a_queued_job_is_killed(bide: Shell) -> None:
    bide("group", "pause", "held")
    job = bide.out("run", "--bg", "--group", "held", "--", "true").strip()
    assert "was killed by user" in bide.out("kill", job)
    assert bide("wait", job).returncode == 143


def test_what_can_never_start_says_why(bide: Shell) -> None:
    failed = bide.out("run", "--bg", "--", "false").strip()
    bide("wait", failed)
    done = bide("run", "--after", failed, "--", "echo", "never")
    assert done.returncode == 143
    why = f"it was to start after the success of {failed}, which exited with 1"
    assert f"never started: {why}" in done.stderr.decode()
    assert bide("run", "--after", failed, "--after-any", "--", "echo", "now").stdout == b"now\n"


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--after", "nobody"), 97, "no job 'nobody' here"),
        (("--name", "me", "--after", "me"), 2, "a job cannot wait for itself: 'me' is its own name"),
        (("--after-any",), 2, "name them"),
        (("--priority", "high"), 2, "'high' is not a whole number"),
        (("--priority", "2000"), 2, "a priority is a whole number from -1000 to 1000, not 2000"),
        (("--group", "a b"), 2, "'a b' cannot be a group"),
        (("--at", "noon"), 2, "'noon' is not a time to start at; write 2026-01-31T08:00 or +10m"),
        (("--fresh",), 2, "give --reuse running or --reuse recent as well"),
        (("--window", "5m"), 2, "give --reuse running or --reuse recent as well"),
        (("--reuse", "always"), 2, "invalid choice: 'always'"),
    ],
)
def test_a_turn_that_cannot_be_meant_is_said(bide: Shell, words: tuple[str, ...], status: int, said: str) -> None:
    done = bide("run", *words, "--", "true")
    assert done.returncode == status
    assert said in done.stderr.decode()


def test_times_to_start_at() -> None:
    assert parse_start("2026-01-31T08:00+01:00") == "2026-01-31T07:00:00.000Z"
    ahead = datetime.fromisoformat(parse_start("+1h30m")) - datetime.now(UTC)
    assert timedelta(minutes=89) < ahead <= timedelta(minutes=90)


def test_a_job_waits_for_its_time(bide: Shell) -> None:
    job = bide.out("run", "--bg", "--at", "+1h", "--", "true").strip()
    assert "waits     it starts at 20" in bide.out("show", job)
    bide("kill", job)
    assert bide("run", "--at", "+100ms", "--", "echo", "late").stdout == b"late\n"


def test_a_run_that_joins_says_so_and_which(bide: Shell, tmp_path: Path) -> None:
    build = ("--reuse", "recent", "-c", f"echo built; echo x >> {tmp_path / 'log'}")
    first = bide("run", *build)
    assert (first.stdout, first.stderr) == (b"built\n", b"")
    job = bide.json("ls", "--limit", "1")["jobs"][0]["id"]
    second = bide("run", *build)
    assert second.stdout == b"built\n"
    assert second.stderr.decode() == f"bide: joined {job}, which was asked for before (exit 0)\n"
    third = bide("run", "--bg", *build)
    assert third.stdout.decode() == f"{job}\n"
    assert f"joined {job}" in third.stderr.decode()
    answer = bide.json("run", *build)
    assert (answer["joined"], answer["job"]["id"], answer["out"]["text"]) == (True, job, "built\n")
    assert (tmp_path / "log").read_text() == "x\n"
    fresh = bide.json("run", "--fresh", *build)
    assert (fresh["joined"], fresh["job"]["id"] == job) == (False, False)
    assert bide.json("run", "--window", "0", *build)["joined"] is False


def test_a_joined_job_is_not_fed_what_was_meant_for_another(bide: Shell) -> None:
    feed = ("run", "--reuse", "recent", "--stdin", "--", "cat")
    assert bide(*feed, stdin=b"first").stdout == b"first"
    assert bide(*feed, stdin=b"second").stdout == b"first"


def test_a_job_is_paused_and_resumed(bide: Shell) -> None:
    job = bide.background("sleep 1000")
    assert bide.out("pause", job) == f"{job} is paused\n"
    assert "status    paused\n" in bide.out("show", job)
    assert bide.json("pause", job)["paused"] is True
    assert bide.out("resume", job) == f"{job} goes on\n"
    assert bide.json("show", job)["paused"] is False
    bide("pause", job)
    bide("kill", job)
    failed = bide("pause", "nobody", job)
    assert failed.returncode == 97
    assert "no job 'nobody'" in failed.stderr.decode()
    assert f"job {job} has ended (killed)" in failed.stderr.decode()


def test_a_full_queue_is_said_with_what_to_do(alone: Shell) -> None:
    alone.home.mkdir()
    (alone.home / "config.toml").write_text("[queue]\nrunning = 0\nwaiting = 1\n")
    alone("run", "--bg", "--", "true")
    done = alone("--json", "run", "--bg", "--", "true")
    assert done.returncode == 98
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "queue_full"
    assert error["message"].startswith("1 jobs wait for their turn already, which is the limit; wait for some to end")
