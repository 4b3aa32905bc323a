"""What the doctor finds, and what to do about it."""

import json
import os
import signal
import socket
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.shell import Shell
from tests.cli.stub import Stub
from tests.support import homes

from bide.cli.checks import home as home_checks
from bide.cli.checks import limits, machine
from bide.cli.checks.finding import Finding
from bide.cli.checks.settings import check_settings
from bide.client.blocking import Link
from bide.keeper import place
from bide.version import VERSION


def test_a_usable_machine_passes(alone: Shell) -> None:
    done = alone("doctor")
    assert done.returncode == 0, done.stdout
    checked = [line.split()[1] for line in done.stdout.decode().splitlines() if not line.startswith(" ")]
    assert checked == [
        "home",
        "filesystem",
        "disk",
        "inodes",
        "settings",
        "database",
        "daemon",
        "keeper",
        "pidfd",
        "exit",
        "fence",
        "limits",
        "service",
    ]
    assert not alone.home.exists()


def test_a_database_that_this_version_cannot_read_is_found(tmp_path: Path) -> None:
    path = tmp_path / "bide.db"
    assert home_checks.check_database(str(path)).level == "ok"
    for schema, level in ((1, "ok"), (999, "fail")):
        with closing(sqlite3.connect(path)) as database:
            database.execute(f"PRAGMA user_version = {schema}")
        assert home_checks.check_database(str(path)).level == level
    path.write_bytes(b"garbage")
    found = home_checks.check_database(str(path))
    assert (found.level, found.advice) == ("warn", "the next daemon rebuilds it from the job folders")


@pytest.mark.parametrize("name", ["bide.db", "bide.db-wal", "bide.db-seal"])
def test_what_is_no_file_where_the_database_belongs_is_told_of_and_put_aside(alone: Shell, name: str) -> None:
    job = alone("run", "--bg", "--", "true").stdout.decode().strip()
    alone("wait", job)
    alone("daemon", "stop")
    (alone.home / name).unlink(missing_ok=True)
    (alone.home / name).mkdir()
    said = alone("doctor").stdout.decode()
    assert f"{name} is not a file" in said
    assert job in alone("show", job).stdout.decode()
    assert ("rebuilt from 1 job folders" in alone("doctor").stdout.decode()) == (
        name != "bide.db-wal"
    )  # all was in the file


def test_what_was_put_into_quarantine_is_told_of(alone: Shell) -> None:
    alone("run", "--", "true")
    alone("daemon", "stop")
    (alone.home / "jobs" / "jnone").mkdir()
    (alone.home / "bide.db").unlink()
    alone("ls")
    said = alone("doctor").stdout.decode()
    assert "1 folders that could not be read" in said
    assert "jnone" in said


def test_a_rebuild_of_the_index_is_told_of(alone: Shell) -> None:
    alone("run", "--", "true")
    alone("daemon", "stop")
    (alone.home / "bide.db").write_bytes(b"garbage" * 1000)
    assert len(alone.json("ls", "--all")["jobs"]) == 1
    found = next(check for check in alone.json("doctor")["checks"] if check["check"] == "database")
    assert found["level"] == "warn"
    assert "rebuilt from 1 job folders" in found["text"]
    assert "is kept in" in found["advice"]


def test_in_json_each_check_is_an_object(alone: Shell) -> None:
    alone("daemon", "start")
    checks = alone.json("doctor")["checks"]
    assert {"level", "check", "text", "advice"} == set(checks[0])
    assert any(check["check"] == "daemon" and "jobs running" in check["text"] for check in checks)


def test_a_failure_is_the_status(alone: Shell) -> None:
    alone.home.write_text("not a folder")
    done = alone("doctor")
    assert done.returncode == 1
    assert b"fail  home" in done.stdout
    assert b"set BIDE_HOME to another folder" in done.stdout


def test_a_home_that_others_can_read_is_a_warning(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    found = home_checks.check_home(str(tmp_path))
    assert (found.level, found.advice) == ("warn", f"chmod 700 {tmp_path}")


@pytest.mark.root
def test_a_home_of_somebody_else_fails(tmp_path: Path) -> None:
    os.chown(tmp_path, 1234, 1234)
    assert home_checks.check_home(str(tmp_path)).level == "fail"


@pytest.mark.root
def test_a_file_of_somebody_else_in_the_home_fails(tmp_path: Path) -> None:
    (tmp_path / "daemon.log").touch()
    os.chown(tmp_path / "daemon.log", 1234, 1234)
    found = home_checks.check_home(str(tmp_path))
    assert (found.level, found.text) == ("fail", f"another user owns files in {tmp_path}: daemon.log")
    assert found.advice == f"as root: chown -R {os.geteuid()} {tmp_path}"


@pytest.mark.root
def test_root_is_told_whose_home_it_is_also_while_a_daemon_serves_it(alone: Shell) -> None:
    alone.home.mkdir(mode=0o700)
    os.chown(alone.home, 65534, 65534)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(alone.home / "bide.sock"))
        listening.listen()
        done = alone("ls")
        daemon = next(check for check in alone.json("doctor")["checks"] if check["check"] == "daemon")
    assert done.returncode == 99
    assert b"it belongs to uid 65534" in done.stderr
    assert (daemon["level"], "it belongs to uid 65534" in daemon["text"]) == ("fail", True)
    assert [entry.name for entry in alone.home.iterdir()] == ["bide.sock"]


def test_the_folder_above_a_missing_home_is_looked_at() -> None:
    assert home_checks.nearest_folder("/usr/no/such/thing") == "/usr"
    assert home_checks.check_home("/tmp/no/such/home").text.endswith("(made when it is first needed)")


def test_a_secret_of_the_settings_is_not_shown(tmp_path: Path) -> None:
    sink = "[outbox.sinks.team]\nwebhook = 'https://example.org/bide'\nsecret = 'hush'\n"
    (tmp_path / "config.toml").write_text(sink, encoding="utf-8")
    found = check_settings(str(tmp_path))
    assert found.text == "outbox.sinks.team.webhook = https://example.org/bide, outbox.sinks.team.secret = (not shown)"


def test_a_socket_left_behind_is_said(tmp_path: Path) -> None:
    (tmp_path / "bide.sock").touch()
    assert "left from an earlier one" in home_checks.check_daemon(Link(str(tmp_path))).text


@pytest.mark.parametrize(("kind", "level"), [("ext4", "ok"), ("nfs4", "warn"), ("tmpfs", "warn"), ("9p", "warn")])
def test_filesystems_that_lose_jobs_are_a_warning(kind: str, level: str) -> None:
    assert home_checks.check_filesystem(kind).level == level


@pytest.mark.parametrize(("free", "level"), [(5 << 30, "ok"), (500 << 20, "warn"), (1 << 20, "fail")])
def test_little_space_is_a_warning_and_none_a_failure(free: int, level: str) -> None:
    assert home_checks.check_space(free).level == level


@pytest.mark.parametrize(("free", "level"), [(100_000, "ok"), (500, "warn"), (0, "fail")])
def test_few_inodes_are_a_warning_and_none_a_failure(free: int, level: str) -> None:
    assert home_checks.check_inodes(free, 200_000).level == level
    assert home_checks.check_inodes(0, 0).level == "ok"


def daemon_says(**facts: object) -> bytes:
    body = json.dumps({"pid": 1, "version": VERSION, "running": 0} | facts).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def test_a_daemon_of_another_version_is_a_warning(stub: Stub) -> None:
    found = home_checks.check_daemon(stub([daemon_says(version="0.0.1")]))
    assert (found.level, found.advice) == ("warn", "bide daemon restart  (jobs go on)")


def test_a_socket_that_others_can_use_is_a_warning(stub: Stub) -> None:
    (stub.home / "bide.sock").chmod(0o777)
    assert home_checks.check_daemon(stub([daemon_says()])).level == "warn"
    (stub.home / "bide.sock").chmod(0o600)
    assert home_checks.check_daemon(stub([daemon_says()])).level == "ok"


def test_a_daemon_that_hangs_is_a_failure(alone: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bide.cli.daemon.ANSWER_SECONDS", 0.1)
    alone("daemon", "start")
    daemon = homes.daemon_pid(alone.home)
    os.kill(daemon, signal.SIGSTOP)
    found = home_checks.check_daemon(Link(str(alone.home)))
    os.kill(daemon, signal.SIGCONT)
    assert found.level == "fail"
    assert "has not answered" in found.text
    assert f"'kill -9 {daemon}' ends it and no job" in found.text


def test_the_kind_of_filesystem_is_known() -> None:
    assert home_checks.filesystem_of("/proc/self") == "proc"


@pytest.mark.parametrize(("content", "mode"), [(None, 0), ("#!/no/such/interpreter\n", 0o755), ("", 0o644)])
def test_a_keeper_that_does_not_run_fails(tmp_path: Path, content: str | None, mode: int) -> None:
    keeper = tmp_path / "keeper"
    if content is not None:
        keeper.write_text(content)
        keeper.chmod(mode)
    found = home_checks.check_keeper(str(keeper))
    assert found.level == "fail"
    assert "C compiler" in found.advice


@pytest.mark.parametrize(
    ("release", "level"),
    [("6.18.44-fc", "ok"), ("6.15.0", "ok"), ("6.12.1-arch1", "warn"), ("5.10.0-21-amd64", "warn"), ("7.0-rc1", "ok")],
)
def test_kernels_that_tell_exit_statuses(release: str, level: str) -> None:
    assert machine.check_exit_info(release).level == level


@pytest.mark.parametrize(("abi", "level"), [(0, "warn"), (5, "warn"), (6, "ok"), (7, "ok")])
def test_kernels_that_can_fence_signals(abi: int, level: str) -> None:
    assert machine.check_landlock(abi).level == level


def enforced(**by: str) -> dict[str, str]:
    return {"memory": "cgroup v2", "cpu": "cgroup v2", "pids": "cgroup v2", "why": "", "advice": "", **by}


def test_limits_that_hold_are_fine_and_others_are_a_warning_that_says_why() -> None:
    assert limits.check_limits(enforced()).level == "ok"
    loose = enforced(memory="cgroup v1", cpu="none", pids="sampled", why="it is read-only", advice="elsewhere")
    found = limits.check_limits(loose)
    assert (found.level, found.advice) == ("warn", "elsewhere")
    assert found.text == "memory by cgroup v1, cpu by nothing, pids by sampling: it is read-only"
    assert limits.check_limits({}).level == "warn"


def test_what_doctor_says_of_limits_is_what_a_job_gets(alone: Shell) -> None:
    ran = json.loads(alone("run", "--json", "--memory", "1G", "--cpus", "1", "--pids", "50", "--", "true").stdout)
    link = Link(str(alone.home))
    asked = limits.place(link)
    link.close()
    assert ran["job"]["enforced"] == {name: asked[name] for name in ("memory", "cpu", "pids")}


def test_without_a_daemon_doctor_says_what_its_jobs_would_get(tmp_path: Path) -> None:
    found = limits.place(Link(str(tmp_path / "not" / "there")))
    here = place.find(str(tmp_path))
    assert found == here.to_json()


SESSION = "/user.slice/user-1000.slice/session-3.scope"
DESKTOP = "/user.slice/user-1000.slice/user@1000.service/app.slice/vte.scope"


@pytest.mark.parametrize(
    ("group", "stays", "ends", "scoped", "said"),
    [
        (SESSION, True, False, True, "the daemon and all jobs go on after logout"),
        ("/system.slice/bide-daemon-1.scope", True, True, True, "the daemon and all jobs go on after logout"),
        (SESSION, True, True, True, "the daemon is in a login session, which may end with its processes"),
        (SESSION, False, False, False, "the daemon and all jobs go on after logout"),
        (SESSION, False, True, True, "logout ends the daemon and all jobs (KillUserProcesses=yes)"),
    ],
)
def test_what_logout_does_to_jobs_is_said(group: str, stays: bool, ends: bool, scoped: bool, said: str) -> None:
    found = limits.check_logout(group, stays=stays, ends=ends, scoped=scoped)
    assert found.text == said
    assert (found.level == "ok") == (said == "the daemon and all jobs go on after logout")


def test_jobs_that_end_with_the_service_manager_are_a_warning_with_the_remedy() -> None:
    everything = limits.check_logout(DESKTOP, stays=False, ends=False, scoped=True)
    assert everything.level == "warn"
    assert "the daemon and all jobs end with it" in everything.text
    assert "loginctl enable-linger" in everything.advice


def test_jobs_that_a_daemon_in_the_session_keeps_are_said_to_need_it() -> None:
    limited = limits.check_logout(SESSION, stays=False, ends=False, scoped=True)
    assert limited.level == "ok"
    assert "without a daemon, jobs with a limit of memory, CPU or processes end" in limited.text


def found_in(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str) -> Finding:
    """What is found in this control group if systemd answers so."""
    program = tmp_path / "systemctl"
    program.write_text(f"#!/bin/sh\necho {mode}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return machine.check_service({"": path})


def test_a_service_that_would_end_jobs_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = found_in("/system.slice/agent.service", tmp_path, monkeypatch, "control-group")
    assert (found.level, found.text) == ("warn", "in agent.service, KillMode=control-group: jobs end when it stops")
    assert "KillMode=process" in found.advice


def test_a_service_that_lets_jobs_live_is_fine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = "/user.slice/user-1000.slice/user@1000.service/app.slice/agent.service"
    assert found_in(path, tmp_path, monkeypatch, "process").level == "ok"


def test_without_systemd_there_is_nothing_to_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "its KillMode is not known" in machine.check_service({"": "/system.slice/agent.service"}).text
    assert machine.check_service({"": "/user.slice/session-3.scope"}).text == "in session-3.scope"
    assert machine.check_service({"": "/", "name=systemd": "/"}).level == "ok"
