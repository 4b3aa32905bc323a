"""Looking after the daemon."""

import json
import os
import signal
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.cli.shell import Shell
from tests.support import processes
from tests.support.freezer import Freezer

from bide.cli.main import main
from bide.client.start import try_connect
from bide.version import VERSION


def test_the_status_without_a_daemon_starts_none(alone: Shell) -> None:
    done = alone("daemon", "status")
    assert (done.returncode, done.stdout) == (3, b"")
    assert b"no daemon runs for" in done.stderr
    answer = alone("daemon", "status", "--json")
    assert answer.returncode == 3
    assert json.loads(answer.stdout) == {
        "pid": None,
        "home": str(alone.home),
        "socket": str(alone.home / "bide.sock"),
        "version": VERSION,
    }
    assert not alone.home.exists()


def test_the_status_has_what_scripts_rely_on(alone: Shell) -> None:
    assert alone.out("daemon", "start").startswith("daemon ")
    status = alone.json("daemon", "status")
    assert status["pid"] in processes.daemons(alone.home)
    assert status["home"] == str(alone.home)
    assert status["socket"] == str(alone.home / "bide.sock")
    assert status["version"] == VERSION
    assert f"pid         {status['pid']}\n" in alone.out("daemon", "status")
    assert stat.S_IMODE(alone.home.stat().st_mode) == 0o700


def test_a_stop_leaves_jobs_running_and_says_how_many(alone: Shell, tmp_path: Path) -> None:
    job = alone.background(f"until [ -e {tmp_path}/go ]; do sleep 0.02; done; exit 3")
    assert alone.out("daemon", "stop") == "stopped; 1 job goes on, and the next daemon takes it up\n"
    assert processes.daemons(alone.home) == []
    assert processes.of_folder(alone.home)
    (tmp_path / "go").touch()
    assert alone("wait", job).returncode == 3


def test_a_stop_can_kill(alone: Shell) -> None:
    job = alone.background("sleep 60")
    found: dict[str, object] = {"stopped": True, "running": 1, "killed": True, "unverified": [], "undelivered": {}}
    assert alone.json("daemon", "stop", "--kill") == found
    assert processes.of_folder(alone.home) == {}
    assert alone.json("show", job)["reason"] == "killed"


def test_055_a_stop_that_kills_says_what_was_not_delivered(alone: Shell) -> None:
    alone.home.mkdir(mode=0o700)
    (alone.home / "config.toml").write_text("[outbox.sinks.one]\nwebhook = 'http://127.0.0.1:1/nobody'\nall = true\n")
    failed = alone.background("exit 3")
    assert alone("wait", failed).returncode == 3
    alone.background("sleep 60")
    said = alone.out("daemon", "stop", "--kill").splitlines()
    assert said == [
        "stopped; 1 job killed",
        "2 notices to sink:one not delivered in time; the next daemon delivers them",
    ]


@pytest.mark.root
def test_a_stop_that_kills_says_what_survives(alone: Shell, freezer: Freezer) -> None:
    with alone.started("run", "--name", "s", "-c", "setsid sleep 1000 & echo $!; wait") as running:
        assert running.stdout is not None
        pid = int(running.stdout.readline())
        job = alone.json("show", "s")["id"]
        freezer.freeze(pid)
        done = alone("daemon", "stop", "--kill")
    assert (done.returncode, done.stdout.decode()) == (1, f"stopped; 1 job killed\n{job} still has {pid} (sleep)\n")


def test_jobs_without_a_daemon_can_be_killed_as_well(alone: Shell) -> None:
    alone.background("sleep 60")
    alone("daemon", "stop")
    assert alone.out("daemon", "stop", "--kill") == "stopped; 1 job killed\n"
    assert processes.of_folder(alone.home) == {}


def test_a_stop_without_a_daemon_does_nothing(alone: Shell) -> None:
    assert alone.out("daemon", "stop") == f"no daemon runs for {alone.home}\n"
    assert alone.json("daemon", "stop", "--kill")["stopped"] is False
    assert not alone.home.exists()


def test_a_restart_replaces_the_daemon_under_its_jobs(alone: Shell) -> None:
    job = alone.background("sleep 60")
    before = alone.json("daemon", "status")["pid"]
    assert b"1 job went on meanwhile" in alone("daemon", "restart").stdout
    after = alone.json("daemon", "status")
    assert after["pid"] != before
    assert after["running"] == 1
    assert alone.json("show", job)["phase"] == "running"
    assert alone.json("daemon", "restart")["pid"] != after["pid"]


def test_a_restart_with_settings_that_cannot_be_leaves_the_daemon_as_it_is(alone: Shell) -> None:
    before = alone.json("daemon", "start")["pid"]
    (alone.home / "config.toml").write_text("queue = 3\n")
    refused = alone("daemon", "restart")
    assert refused.returncode != 0
    assert b"config.toml" in refused.stderr
    assert alone.json("daemon", "status")["pid"] == before


def test_many_commands_at_once_start_one_daemon(alone: Shell) -> None:
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(alone, ["run"] * 8, ["-c"] * 8, [f"exit {number}" for number in range(8)]))
    assert [run.returncode for run in done] == list(range(8))
    assert len(alone.json("ls", "--all")["jobs"]) == 8


def test_the_daemon_holds_nothing_of_whoever_started_it(alone: Shell) -> None:
    read_end, write_end = os.pipe()
    os.set_inheritable(write_end, True)  # noqa: FBT003 - the system's signature
    command = ["/bin/sh", "-c", 'exec "$@"', "sh", *alone.command("run", "--", "true")]
    pid = os.posix_spawn(command[0], command, alone.env)
    os.close(write_end)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert os.read(read_end, 1) == b""
    os.close(read_end)


def test_a_home_with_a_long_path_works(tmp_path: Path) -> None:
    home = tmp_path / ("x" * 100) / ("y" * 100)
    shell = Shell(home, tmp_path)
    assert shell("run", "-c", "exit 6").returncode == 6
    connection = try_connect(str(home))
    assert connection is not None
    connection.close()
    shell.close()


def test_the_log_can_be_read(alone: Shell) -> None:
    assert b"no daemon has run here" in alone("daemon", "logs").stderr
    alone("daemon", "start")
    assert f"serving {alone.home}" in alone.out("daemon", "logs")
    assert len(alone.out("daemon", "logs", "--tail", "1").splitlines()) == 1
    assert alone.json("daemon", "logs")["path"] == str(alone.home / "daemon.log")


def test_the_log_can_be_followed(alone: Shell) -> None:
    alone("daemon", "start")
    with alone.started("daemon", "logs", "-f", "--tail", "1") as process:
        assert process.stdout is not None
        assert b"serving" in process.stdout.readline()
        log = alone.home / "daemon.log"
        with log.open("a") as file:
            file.write("first\n")
        assert process.stdout.readline() == b"first\n"
        log.rename(alone.home / "daemon.log.1")
        log.write_text("after it was begun anew\n")
        assert process.stdout.readline() == b"after it was begun anew\n"
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130


def test_a_daemon_that_cannot_start_says_why(alone: Shell) -> None:
    alone.home.mkdir(mode=0o700)
    (alone.home / "jobs").write_text("a file where a folder belongs")
    done = alone("ls")
    assert done.returncode == 99
    assert done.stderr.startswith(b"bide: ")
    assert done.stderr.count(b"\n") == 1


def test_the_version_is_told_without_a_daemon(alone: Shell) -> None:
    assert alone.out("version") == alone.out("--version") == f"bide {VERSION}\n"
    assert alone.json("version") == {"version": VERSION}
    assert not alone.home.exists()
    assert main(["version"]) == 0
