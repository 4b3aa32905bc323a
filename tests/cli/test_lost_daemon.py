"""The daemon dies while a command needs it."""

import json
import os
import select
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from tests.cli.shell import BIDE, PATIENCE, Shell
from tests.cli.stub import Stub
from tests.support import homes

from bide.client.blocking import can_repeat
from bide.client.patience import Gone, Patience
from bide.model.errors import DaemonUnavailable, JobNotFound

COUNT = "for i in $(seq 1 300); do echo line $i; echo err $i >&2; sleep 0.005; done; exit 7"
LINES = b"".join(b"line %d\n" % i for i in range(1, 301))
ERRORS = b"".join(b"err %d\n" % i for i in range(1, 301))


def kill_daemon(shell: Shell) -> None:
    """End it as a crash would, and return when it is gone."""
    process = os.pidfd_open(homes.daemon_pid(shell.home))
    signal.pidfd_send_signal(process, signal.SIGKILL)
    assert select.select([process], [], [], PATIENCE)[0]
    os.close(process)


def copied(shell: Shell, *words: str) -> tuple[bytes, bytes, int]:
    """What a command prints while its daemon is killed twice."""
    with shell.started(*words) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        out = b""
        for line in process.stdout:
            out += line
            if line in (b"line 50\n", b"line 150\n"):
                kill_daemon(shell)
        return out, process.stderr.read(), process.wait()


def test_a_foreground_run_loses_and_repeats_nothing(alone: Shell) -> None:
    assert copied(alone, "run", "-c", COUNT) == (LINES, ERRORS, 7)
    assert len(alone.json("ls", "--all")["jobs"]) == 1


def test_following_loses_and_repeats_nothing(alone: Shell) -> None:
    job = alone.background(COUNT)
    assert copied(alone, "logs", "-f", job) == (LINES, ERRORS, 0)


def test_a_wait_goes_on_with_the_next_daemon(alone: Shell, tmp_path: Path) -> None:
    job = alone.background(f"until [ -e {tmp_path}/go ]; do sleep 0.02; done; exit 5")
    with alone.terminal("wait", job) as terminal:
        terminal.until(b"running")
        kill_daemon(alone)
        terminal.seen = b""
        terminal.until(b"running")
        (tmp_path / "go").touch()
        assert terminal.end() == 5


def test_input_goes_on_with_the_next_daemon(alone: Shell) -> None:
    with alone.started("run", "--stdin", "--", "cat") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for text in (b"one\n", b"two\n"):
            process.stdin.write(text)
            process.stdin.flush()
            assert process.stdout.readline() == text
            assert alone("daemon", "status").returncode == 0, "a while for the answer to what was sent"
            kill_daemon(alone)
        process.stdin.close()
        assert process.wait() == 0


def test_a_job_can_use_bide_when_the_daemon_is_gone(alone: Shell, tmp_path: Path) -> None:
    inner = " ".join([*BIDE, "run", "-c", "'echo inner; exit 3'"])
    job = alone.background(f"until [ -e {tmp_path}/go ]; do sleep 0.02; done; {inner}")
    kill_daemon(alone)
    (tmp_path / "go").touch()
    assert alone("wait", job).returncode == 3
    assert alone.out("logs", job) == "inner\n"


@pytest.mark.parametrize(
    ("method", "path", "body", "repeats"),
    [
        ("GET", "/v1/jobs/x", None, True),
        ("POST", "/v1/wait", {"jobs": ["x"]}, True),
        ("POST", "/v1/jobs", {"command": "x", "key": "k"}, True),
        ("POST", "/v1/jobs", {"command": "x"}, False),
        ("POST", "/v1/jobs/x/kill", {}, True),
        ("POST", "/v1/jobs/x/send", {"text": "y"}, False),
        ("POST", "/v1/daemon/stop", {}, False),
        ("DELETE", "/v1/jobs/x", None, False),
    ],
)
def test_only_what_can_be_repeated_is(method: str, path: str, body: dict[str, object] | None, *, repeats: bool) -> None:
    assert can_repeat(method, path, body) is repeats


OK = b'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{"a": 1}'


def test_a_request_is_asked_again_until_it_is_answered(stub: Stub) -> None:
    link = stub([b"", b"HTTP/1.1 200 OK\r\n", OK])
    assert link.call("GET", "/v1/daemon") == {"a": 1}
    link.close()


def test_what_cannot_be_repeated_is_asked_once(stub: Stub) -> None:
    link = stub([b""])
    with pytest.raises(DaemonUnavailable, match="may or may not have been carried out"):
        link.call("POST", "/v1/jobs/x/send", {"text": "y"})


def test_patience_ends(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bide.client.patience.PAUSES", (0.0, 0.0))
    link = stub([b"", b"", b""])
    with pytest.raises(DaemonUnavailable, match=f"process {os.getpid()} hung up 2 times in a row"):
        link.call("GET", "/v1/daemon")


def test_a_stream_gives_whole_frames_and_ends_with_its_connection(stub: Stub) -> None:
    link = stub([b"HTTP/1.1 200 OK\r\n\r\n\x01\x00\x00\x00\x02hi\x02\x00"])
    frames = link.frames("GET", "/v1/jobs/x/follow")
    assert next(frames) == (1, b"hi")
    with pytest.raises(Gone):
        next(frames)


def test_a_refused_stream_raises_what_was_answered(stub: Stub) -> None:
    body = json.dumps({"error": JobNotFound(job="x").to_json()}).encode()
    link = stub([b"HTTP/1.1 404 Not Found\r\nContent-Length: %d\r\n\r\n" % len(body) + body])
    with pytest.raises(JobNotFound):
        list(link.frames("GET", "/v1/jobs/x/follow"))


def test_an_answer_that_is_no_stream_is_not_taken_for_one(stub: Stub) -> None:
    link = stub([OK[:20], OK])
    with pytest.raises(Gone):
        list(link.frames("GET", "/v1/jobs/x/follow"))
    with pytest.raises(Gone, match="not a stream"):
        list(link.frames("GET", "/v1/jobs/x/follow"))


def test_a_connection_that_is_not_kept_is_not_used_again(stub: Stub) -> None:
    link = stub([OK.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)] * 2)
    assert link.call("GET", "/v1/daemon") == link.call("GET", "/v1/daemon")


def test_time_without_trouble_restores_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bide.client.patience.PAUSES", (0.0,))
    patience = Patience("/home")
    patience.failed(Gone())
    with pytest.raises(DaemonUnavailable):
        patience.failed(Gone())
    monkeypatch.setattr("bide.client.patience.STEADY_SECONDS", -1.0)
    patience.failed(Gone())


def test_patience_outlasts_any_number_of_daemons_but_not_one_that_hangs_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bide.client.patience.PAUSES", (0.0,) * 5)
    patience = Patience("/home")
    for daemon in range(1, 200):
        patience.failed(Gone("killed", daemon))
    for _ in range(4):
        patience.failed(Gone("hung up", 199))
    with pytest.raises(DaemonUnavailable, match="process 199 hung up 5 times in a row"):
        patience.failed(Gone("hung up", 199))


def test_a_request_that_every_daemon_dies_of_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bide.client.patience.PAUSES", (0.0,))
    patience = Patience("/home", lasting=False)
    for daemon in range(1, 21):
        patience.failed(Gone("killed", daemon))
    with pytest.raises(DaemonUnavailable, match="20 daemons went away in a row"):
        patience.failed(Gone("killed", 21))


def test_without_any_daemon_patience_ends_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bide.client.patience.PAUSES", (0.0,))
    none = DaemonUnavailable(home="/home", detail="it ended at once")
    patience = Patience("/home")
    with pytest.raises(DaemonUnavailable):
        patience.failed(none)
    patience.progressed()
    for _ in range(20):
        patience.failed(none)
    monkeypatch.setattr("bide.client.patience.GIVE_UP_SECONDS", -1.0)
    with pytest.raises(DaemonUnavailable):
        patience.failed(none)


@pytest.mark.parametrize("words", [("events", "--follow", "--once"), ("wait",), ("logs", "-f"), ("attend", "me")])
def test_following_outlasts_daemons_that_die_one_after_the_other(
    alone: Shell, tmp_path: Path, words: tuple[str, ...]
) -> None:
    job = alone.background(f"until [ -e {tmp_path}/go ]; do sleep 0.02; done; echo over; exit 5", "--name", "one")
    if words[0] == "attend":
        words = (*words, "--", "sh", "-c", f"until [ -e {tmp_path}/go ]; do sleep 0.02; done; exit 5")
    elif words[0] in ("wait", "logs"):
        words = (*words, job)
    with alone.started(*words) as process:
        for _ in range(8):
            assert alone("daemon", "status").returncode in (0, 3)
            alone("ls")
            kill_daemon(alone)
        (tmp_path / "go").touch()
        assert process.stdout is not None
        said = process.stdout.read()
        assert process.wait() == (5 if words[0] in ("wait", "attend") else 0)
    assert (b"one" in said or b"over" in said) is (words[0] != "attend")


def test_input_that_may_be_missing_is_said(alone: Shell) -> None:
    with alone.started("run", "--stdin", "--name", "fed", "-c", "echo ready; cat") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"ready\n"
        os.kill(homes.daemon_pid(alone.home), signal.SIGSTOP)
        process.stdin.write(b"lost?\n")
        process.stdin.flush()
        while sockets(process.pid) < 2:
            pass
        kill_daemon(alone)
        assert b"some of it may be missing" in process.stderr.readline()
        alone("kill", "fed")
        assert process.wait() == 143


def sockets(pid: int) -> int:
    """How many connections a process has."""
    found = 0
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found += os.readlink(fd).startswith("socket:")
    return found


def test_a_folder_in_place_of_the_socket_is_said_at_once(alone: Shell) -> None:
    alone.out("daemon", "start")
    pid, socket = homes.daemon_pid(alone.home), alone.home / "bide.sock"
    os.kill(pid, signal.SIGSTOP)  # it makes a socket that is gone anew at once
    socket.unlink()
    socket.mkdir()
    os.kill(pid, signal.SIGCONT)
    for words in (("ls",), ("daemon", "stop")):
        error = alone.json(*words)["error"]
        assert error["code"] == "daemon_unavailable"
        assert f"{socket} is a folder where its socket must be; remove it" in error["message"]
    findings = {one["check"]: one for one in alone.json("doctor")["checks"]}
    assert str(socket) in findings["daemon"]["text"]
    socket.rmdir()
    assert alone("ls").returncode == 0
    assert homes.daemon_pid(alone.home) == pid
