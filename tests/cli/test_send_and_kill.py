"""Input, keys, signals and kills."""

import json
import signal

import pytest
from tests.cli.shell import PATIENCE, Shell
from tests.support.freezer import Freezer


@pytest.fixture
def echo(bide: Shell) -> str:
    """A job that copies its input."""
    return bide.background("cat", "--stdin")


def test_text_gets_a_newline_and_eof_closes(bide: Shell, echo: str) -> None:
    assert bide.out("send", echo, "hello", "there") == ""
    bide("send", echo, "no newline", "--no-enter")
    bide("send", echo, "--eof")
    assert bide("wait", echo).returncode == 0
    assert bide.out("logs", echo) == "hello there\nno newline"


def test_stdin_is_sent_as_it_is(bide: Shell, echo: str) -> None:
    data = bytes(range(256)) * 3000
    assert bide("send", echo, "-", "--eof", stdin=data).returncode == 0
    bide("wait", echo)
    assert bide("logs", echo).stdout == data


def test_words_that_look_like_options_come_after_the_sign(bide: Shell, echo: str) -> None:
    bide("send", echo, "--", "--eof", "-x")
    bide("send", echo, "--eof")
    bide("wait", echo)
    assert bide.out("logs", echo) == "--eof -x\n"


def test_in_json_the_answer_is_the_job(bide: Shell, echo: str) -> None:
    assert bide.json("send", echo, "--eof")["id"] == echo
    bide("wait", echo)


def test_keys_are_what_a_terminal_would_send(bide: Shell) -> None:
    job = bide.background("stty raw -echo; echo ready; dd bs=1 count=8 2>/dev/null | od -An -tx1", "--pty")
    bide("wait", "--until-log", "ready", job)
    bide("send", job, "x", "--key", "up", "--key", "enter", "--key", "ctrl-c", "--key", "tab", "--key", "backspace")
    assert bide("wait", job).returncode == 0
    assert "78 1b 5b 41 0d 03 09 7f" in bide.out("logs", job)


def test_enter_on_a_terminal_ends_a_line(bide: Shell) -> None:
    job = bide.background("read line; echo got $line", "--pty")
    bide("send", job, "yes")
    bide("wait", job)
    assert "got yes" in bide.out("logs", job)


@pytest.mark.parametrize(("key", "instead"), [("ctrl-c", b"--signal INT"), ("ctrl-d", b"--eof")])
def test_keys_that_mean_nothing_without_a_terminal_say_what_to_use(
    bide: Shell, echo: str, key: str, instead: bytes
) -> None:
    done = bide("send", echo, "--key", key)
    assert done.returncode == 2
    assert instead in done.stderr
    bide("send", echo, "--eof", "--key", "enter")
    assert bide("wait", echo).returncode == 0
    assert bide.out("logs", echo) == "\n"


def test_nothing_to_send_is_a_mistake(bide: Shell, echo: str) -> None:
    assert bide("send", echo).returncode == 2
    bide("kill", echo)


def test_a_signal_reaches_the_job(bide: Shell) -> None:
    job = bide.background("trap 'exit 42' USR1; echo ready; while :; do sleep 0.02; done")
    bide("wait", "--until-log", "ready", job)
    bide("send", job, "--signal", "usr1")
    assert bide("wait", job).returncode == 42


def test_a_job_without_stdin_says_how_to_start_one(bide: Shell) -> None:
    job = bide.background("sleep 30")
    done = bide("send", job, "x")
    assert done.returncode == 98
    assert b"start it with stdin or a pty" in done.stderr
    bide("kill", job)


def test_an_ended_job_takes_nothing(bide: Shell) -> None:
    job = bide.background("true", "--stdin")
    bide("wait", job)
    assert bide("send", job, "x").returncode == 98
    assert bide.json("send", job, "x")["error"]["code"] == "job_ended"


def test_a_kill_says_what_was_signalled_and_that_nothing_is_left(bide: Shell) -> None:
    job = bide.background("sleep 60 & sleep 60", "--name", "doomed")
    done = bide("kill", "doomed")
    assert done.returncode == 0
    assert done.stdout.decode().startswith(f"{job} (doomed) was killed by user; SIGTERM sent to ")
    assert done.stdout.endswith(b" processes; nothing of it is left\n"), "and no word of SIGKILL"
    assert bide("wait", job).returncode == 143


def test_a_second_kill_says_that_it_had_ended(bide: Shell) -> None:
    job = bide.background("exit 3")
    bide("wait", job)
    done = bide("kill", job)
    assert (done.returncode, done.stdout.decode()) == (
        0,
        f"{job} had ended before (exited with 3); nothing of it is left\n",
    )


def test_another_signal_and_another_grace_can_be_given(bide: Shell) -> None:
    job = bide.background("trap '' TERM INT; echo ready; while :; do sleep 0.02; done")
    bide("wait", "--until-log", "ready", job)
    done = bide("kill", "--signal", "INT", "--grace", "100ms", job)
    assert done.returncode == 0
    assert b"SIGINT sent to" in done.stdout
    assert b", then SIGKILL; nothing of it is left" in done.stdout
    assert bide("wait", job).returncode == 137


def test_what_survives_is_listed_and_is_a_failure(bide: Shell) -> None:
    job = bide.background("trap '' TERM; echo ready; while :; do sleep 0.02; done")
    bide("wait", "--until-log", "ready", job)
    done = bide("kill", "--grace", "0", job)
    assert done.returncode == 1
    assert b"still runs; SIGTERM sent to" in done.stdout
    assert b"not everything ended:" in done.stdout
    assert bide("kill", "--signal", "KILL", job).returncode == 0


def test_several_are_killed_even_if_one_is_not_there(bide: Shell) -> None:
    jobs = [bide.background("sleep 60"), bide.background("sleep 60")]
    done = bide("kill", jobs[0], "nobody", jobs[1], "--json")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 97
    assert [answer.get("verified_empty") for answer in answers] == [True, None, True]


def test_who_killed_is_on_record(bide: Shell) -> None:
    job = bide.background("sleep 60")
    bide("kill", job, BIDE_OWNER="agent-3")
    assert bide.json("show", job)["by"] == "agent-3"


@pytest.mark.root
def test_what_survives_a_kill_is_named_by_whoever_waits(alone: Shell, freezer: Freezer) -> None:
    with alone.started("run", "--name", "s", "-c", "setsid sleep 1000 & echo $!; wait") as running:
        assert running.stdout is not None
        pid = int(running.stdout.readline())
        freezer.freeze(pid)
        killed = alone("kill", "--signal", "KILL", "s")
        assert killed.returncode == 1
        assert running.wait(PATIENCE) == 128 + signal.SIGKILL
        assert running.stderr is not None
        assert f"not everything of it ended: {pid} (sleep)\n" in running.stderr.read().decode()
    named = f"(s): not everything of it ended: {pid} (sleep)\n"
    assert named in alone("wait", "s").stdout.decode()
    freezer.thaw()
    alone("kill", "s")
    assert "not everything" not in alone("wait", "s").stdout.decode()
