"""`bide gc`, `bide forget --older-than`, and what is said of an output that was dropped."""

from datetime import timedelta

import pytest
from tests.cli.shell import Shell
from tests.support import past


@pytest.fixture
def old(alone: Shell) -> str:
    """A job with output that is too much for its home, and a day old; the daemon is stopped."""
    past.settle(alone.home, bytes=0)
    alone("run", "--name", "old", "-c", "echo hello; echo oops >&2")
    job = alone.json("show", "old")["id"]
    alone("daemon", "stop")
    past.make_older(alone.home, timedelta(days=1))
    return job


def test_a_dry_run_says_what_would_go_and_nothing_goes(alone: Shell, old: str) -> None:
    lines = alone.out("gc", "--dry-run").splitlines()
    assert lines == [
        f"would be emptied: {old} (old), 11 B",
        "0 jobs would be forgotten, 1 output would be dropped: 11 B would be free",
        "kept: 1 ended job; all outputs hold 0 B of 0 B",
    ]
    assert alone.out("logs", "--stream", "out", "old") == "hello\n"


def test_a_dropped_output_is_said_wherever_it_is_asked_for(alone: Shell, old: str) -> None:
    """Checklist 260."""
    assert alone.json("gc")["dropped"] == 1
    done = alone("logs", "old")
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.startswith(f"bide: the output of {old} was dropped at 20".encode())
    assert len(done.stderr.splitlines()) == 1
    assert "6 B, dropped 20" in alone.out("show", "old")
    job = alone.json("show", "old")
    assert job["output_dropped_at"].startswith("20")
    assert job["output"]["out"] == {"head": 6, "size": 6}
    assert alone.json("logs", "old")["out"] == {"text": "", "offset": 6, "next": 6, "size": 6, "head": 6}


def test_when_nothing_is_due_it_says_what_is_kept_and_why(alone: Shell) -> None:
    alone.background("true")
    alone("run", "-c", "true")
    said = alone.out("gc")
    assert said.startswith("nothing is due to go\nkept: ")


def test_what_nobody_has_seen_is_named(alone: Shell) -> None:
    job = alone.background("echo hello")
    while next(one["phase"] for one in alone.json("ls", "--all")["jobs"] if one["id"] == job) != "ended":
        pass
    assert "1 of them nobody has seen (6 B); they are kept longest" in alone.out("gc")


def test_old_jobs_are_forgotten_at_once_when_asked(alone: Shell) -> None:
    jobs = [alone.background("true", "--owner", owner) for owner in ("agent-1", "agent-2")]
    for job in jobs:
        alone("wait", job)
    assert alone.json("forget", "--older-than", "1h")["forgotten"] == 0
    assert [one["id"] for one in alone.json("forget", "--older-than", "0s", "--owner", "agent-2")["gone"]] == jobs[1:]
    assert alone("forget", "--older-than", "0s", BIDE_OWNER="agent-1").stdout.startswith(
        f"forgotten: {jobs[0]}".encode()
    )
    done = alone("show", jobs[0])
    assert done.returncode == 97
    assert b"(as asked); its record and output are gone" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["forget"], b"which jobs?"),
        (["forget", "--owner", "me", "x"], b"which jobs?"),
        (["forget", "x", "--older-than", "1d"], b"not both"),
        (["forget", "--older-than", "soon"], b"not a duration"),
        (["gc", "everything"], b"everything"),
        (["attend"], b"required: OWNER"),
        (["attend", "--", "true"], b"required: OWNER"),
        (["attend", "no such owner"], b"cannot be an owner"),
        (["run", "--lifetime", "session", "-c", "true"], b"only a job in a session can end with it"),
        (["run", "--lifetime", "week", "-c", "true"], b"invalid choice: 'week'"),
        (["run", "--ttl", "0s", "-c", "true"], b"a time to live must be above 0"),
        (["run", "--ttl", "soon", "-c", "true"], b"not a duration"),
    ],
)
def test_what_cannot_be_meant_is_refused(bide: Shell, words: list[str], said: bytes) -> None:
    done = bide(*words)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_time_to_live(alone: Shell) -> None:
    done = alone("run", "--ttl", "300ms", "--", "sleep", "1000")
    assert done.returncode == 143
    assert b"was killed by ttl" in done.stderr
    assert "at most 300ms" in alone.out("show", alone.json("ls", "--all")["jobs"][0]["id"])


def test_a_bad_settings_file_is_told_in_one_sentence(alone: Shell) -> None:
    past.settle(alone.home, keeps="1d")
    for words in (["ls"], ["run", "-c", "true"], ["daemon", "start"]):
        done = alone(*words)
        assert done.returncode == 99
        assert done.stderr.decode() == (
            f"bide: cannot use the settings in {alone.home}/config.toml: there is no setting 'retention.keeps'; "
            "did you mean retention.keep; correct or remove it there and try again\n"
        )
    assert alone.json("ls")["error"]["code"] == "bad_settings"
    assert alone("doctor").returncode == 1
    assert b"fail  settings    there is no setting 'retention.keeps'" in alone("doctor").stdout


def test_249_the_doctor_tells_of_a_vibe_that_logs_no_sessions(alone: Shell) -> None:
    vibe = alone.folder / "vibe"
    vibe.mkdir()
    alone.env["VIBE_HOME"] = str(vibe)
    for text, levels in (("", []), ("enabled = true\n", []), ("enabled = false\n", ["warn"])):
        (vibe / "config.toml").write_text(f"[session_logging]\n{text}", encoding="utf-8")
        found = [one for one in alone.json("doctor")["checks"] if one["check"] == "vibe"]
        assert [one["level"] for one in found] == levels
    assert "set [session_logging] enabled = true" in found[0]["advice"]


def test_the_doctor_names_what_is_set(alone: Shell) -> None:
    assert b"settings    all as usual" in alone("doctor").stdout
    past.settle(alone.home, keep="7d", bytes="1G")
    assert b"ok    settings    retention.keep = 7d, retention.bytes = 1G" in alone("doctor").stdout
