"""Starting a daemon that does not start."""

import fcntl
import os
import resource
import subprocess
from pathlib import Path

import pytest
from tests.support import processes

from bide.client import start
from bide.client.blocking import Link
from bide.model.errors import DaemonUnavailable, HomeBusy, HomeReadOnly, HomeUnusable


@pytest.fixture
def instead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script that is run in place of the daemon; to be written by the test."""
    path = tmp_path / "instead"
    monkeypatch.setattr("sys.executable", str(path))
    monkeypatch.setattr("bide.client.blocking.PAUSES", (0.0,))
    return path


def write(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_a_daemon_that_ends_at_once_is_said_with_its_status(instead: Path, home: Path) -> None:
    write(instead, "exit 7")
    with pytest.raises(DaemonUnavailable, match="it ended at once with status 7"):
        Link(str(home)).call("GET", "/v1/daemon")


def test_what_the_daemon_says_is_wrong_is_raised(instead: Path, home: Path) -> None:
    write(instead, """echo '{"error": {"code": "home_busy", "facts": {"home": "h", "pid": "1"}}}'""")
    with pytest.raises(HomeBusy):
        start.ensure_daemon(str(home))


def test_a_daemon_that_is_never_there_is_not_tried_for_ever(instead: Path, home: Path) -> None:
    write(instead, "echo nonsense")
    with pytest.raises(DaemonUnavailable, match="takes no connection"):
        Link(str(home)).call("GET", "/v1/daemon")


def test_a_daemon_that_takes_too_long_is_said(instead: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "READY_SECONDS", 0.05)
    write(instead, "exec sleep 0.3")
    with pytest.raises(DaemonUnavailable, match="was not ready"):
        start.ensure_daemon(str(home))
    assert os.wait()[1] == 0


def test_a_program_that_is_not_there_is_said(instead: Path, home: Path) -> None:
    assert not instead.exists()
    with pytest.raises(DaemonUnavailable, match="it could not be started"):
        start.ensure_daemon(str(home))


def test_a_link_can_be_told_to_start_nothing(home: Path) -> None:
    with pytest.raises(DaemonUnavailable, match="none is running"):
        Link(str(home), starts=False).call("GET", "/v1/daemon")
    assert not home.exists()


def test_a_home_below_a_file_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HomeUnusable):
        start.prepare_home(str(tmp_path / "file" / "home"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_home_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(HomeUnusable, match="no permission"):
        start.prepare_home(str(tmp_path))


def test_a_daemon_is_started_where_more_is_open_than_may_be(instead: Path, home: Path) -> None:
    write(instead, """echo '{"ready": true}'""")
    high = fcntl.fcntl(0, fcntl.F_DUPFD, 700)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (600, hard))
    try:
        start.ensure_daemon(str(home))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        os.close(high)


@pytest.mark.root
def test_a_home_on_a_file_system_that_is_read_only_is_said(small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(HomeReadOnly, match="is read-only"):
        start.prepare_home(str(small_disk))


@pytest.mark.root
def test_nothing_is_made_in_a_home_of_another_user(instead: Path, home: Path) -> None:
    home.mkdir()
    os.chown(home, 65534, 65534)
    write(instead, """echo '{"ready": true}'""")
    for use in (start.prepare_home, start.ensure_daemon, start.try_connect):
        with pytest.raises(HomeUnusable, match="it belongs to uid 65534"):
            use(str(home))
    assert list(home.iterdir()) == []


def test_inside_a_job_the_keeper_is_asked(
    instead: Path, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(instead, """touch $0.ran; echo '{"ready": true}'""")
    (home / "jobs" / "j1").mkdir(parents=True)
    os.mkfifo(home / "jobs" / "j1" / "ctl")
    ctl = os.open(home / "jobs" / "j1" / "ctl", os.O_RDONLY | os.O_NONBLOCK)
    monkeypatch.setattr(start, "KEEPER_SECONDS", 0.0)
    monkeypatch.setenv("BIDE_HOME", str(home))
    monkeypatch.setenv("BIDE_JOB", "j1")
    start.ensure_daemon(str(home))
    assert os.read(ctl, 100) == b"daemon\n"
    os.close(ctl)
    start.ensure_daemon(str(home))
    assert (tmp_path / "instead.ran").exists(), "without a keeper to ask, it starts one itself"
    while processes.reap():
        pass
