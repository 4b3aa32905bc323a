"""`bide service`, `bide wait --until-ready` and `bide ls --ports`, as a person has them. Checklist 68."""

import os
import signal
from pathlib import Path

import pytest
from tests.cli.shell import Shell
from tests.support.servers import free_port, is_free, server

STAYS = "echo up; exec sleep 100"


@pytest.fixture
def port() -> int:
    return free_port()


def test_68_start_ps_logs_restart_and_stop(alone: Shell, port: int) -> None:
    started = alone.out("service", "start", "web", "--port", str(port), "--restart", "on-failure", "--", *server(port))
    assert started.endswith(f"(web) is ready, listens on {port}\n")

    table = alone.out("service", "ps")
    assert table.split()[:7] == ["NAME", "ID", "STATUS", "RUN", "UPTIME", "PORTS", "COMMAND"]
    assert table.splitlines()[1].split()[0] == "web"
    assert str(port) in table
    assert alone.out("service", "logs", "web") == "listening\n"
    assert alone.out("wait", "--until-ready", "web").endswith("(web) ready\n")
    listed = alone.out("ls", "--ports")
    assert "ready" in listed
    assert str(port) in listed

    first = alone.json("show", "web")
    again = alone.json("service", "restart", "web")["job"]
    assert again["ready"]
    assert again["id"] != first["id"]
    assert alone.json("show", first["id"])["by"] == "user"

    stopped = alone("service", "stop", "web")
    assert stopped.returncode == 0
    assert b"nothing of it is left" in stopped.stdout
    assert is_free(port)
    assert alone.out("service", "stop", "web") == "web: had ended before\n"

    assert alone("service", "start", "web").returncode == 0
    assert not is_free(port)
    assert len(alone.json("service", "ps")["services"]) == 1


def test_a_service_that_fails_is_told_with_its_tail(bide: Shell) -> None:
    done = bide("service", "start", "flop", "--ready-log", "never", "-c", "echo one; echo two >&2; exit 3")
    assert done.returncode == 1
    assert b"(flop) exited with 3 before it was ready\nbide:   one\nbide:   two\n" in done.stderr
    shown = bide.out("show", "flop")
    assert "restart   no" in shown


def test_a_service_that_is_not_ready_in_time_goes_on(bide: Shell) -> None:
    done = bide("service", "start", "slow", "--ready-log", "never", "--ready-timeout", "200ms", "-c", STAYS)
    assert done.returncode == 75
    assert b"is not ready after 200ms and goes on" in done.stderr
    assert b"up" in done.stderr
    assert bide.json("show", "slow")["ready"] is False
    assert "not ready" in bide.out("service", "ps", "slow")
    assert bide("service", "stop", "slow").returncode == 0


def test_start_follows_a_service_over_its_restarts(bide: Shell, tmp_path: Path) -> None:
    script = "test -e again && { echo up; exec sleep 100; }; touch again; exit 1"
    options = ("--ready-log", "up", "--restart", "on-failure", "-c", script)
    told = bide.json("service", "start", "second-time", *options)["job"]
    assert told["ready"]
    assert told["service"]["run"] == 1
    assert (tmp_path / "again").exists()
    os.kill(told["pid"], signal.SIGKILL)
    assert bide("wait", told["id"]).returncode == 128 + signal.SIGKILL
    assert bide("service", "stop", "second-time").returncode == 0


def test_a_port_that_is_held_is_told(bide: Shell, port: int) -> None:
    bide.out("service", "start", "holder", "--port", str(port), "--", *server(port))
    done = bide("service", "start", "other", "--port", str(port), "--", *server(port))
    assert done.returncode == 98
    assert f"port {port} is held by job ".encode() in done.stderr
    assert bide.json("service", "start", "other", "--port", str(port), "-c", "x")["error"]["code"] == "port_in_use"
    bide.out("service", "stop", "holder")


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["service", "stop"], 2, "which service?"),
        (["service", "stop", "x", "--", "y"], 2, "only 'start' takes a command"),
        (["service", "start", "x", "-c", "a", "--", "b"], 2, "not both"),
        (["service", "start", "x", "--port", "70000", "-c", "a"], 2, "port 70000 is out of range"),
        (["service", "start", "x", "--ready-log", "(", "-c", "a"], 2, "not a regular expression"),
        (["service", "start", "nobody"], 97, "no job 'nobody'"),
        (["service", "restart", "nobody"], 97, "no job 'nobody'"),
        (["service", "up"], 2, "invalid choice"),
    ],
)
def test_what_cannot_be_meant_is_told(bide: Shell, words: list[str], status: int, told: str) -> None:
    done = bide(*words)
    assert done.returncode == status
    assert told in done.stderr.decode()
