"""A home on a file system that is mounted read-only, and a daemon without a free descriptor: errors of their own."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.shell import Shell
from tests.support import disks, homes

TRACEBACK = b"Traceback"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with disks.mounted(tmp_path / "disk", megabytes=16) as disk:
        yield disk


def remount(disk: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", disk], check=True)


@pytest.mark.root
def test_a_read_only_home_has_an_error_of_its_own(disk: Path) -> None:
    shell = Shell(disk / "home", disk.parent)
    job = shell.background("echo hi")
    assert shell("wait", job).returncode == 0
    shell.out("daemon", "stop")
    remount(disk, "ro")
    for words in (("ls",), ("show", job), ("run", "-c", "true"), ("daemon", "start")):
        done = shell(*words)
        assert done.returncode == 99
        assert TRACEBACK not in done.stderr
        assert b"is read-only" in done.stderr
    assert shell.json("ls")["error"]["code"] == "home_read_only"
    findings = {one["check"]: one for one in shell.json("doctor")["checks"]}
    assert (findings["home"]["level"], findings["daemon"]["level"]) == ("fail", "fail")
    for one in ("home", "daemon"):
        assert "read-only" in findings[one]["text"]
    assert "bide forget" not in shell("doctor").stdout.decode()
    remount(disk, "rw")
    assert shell.json("show", job)["exit_code"] == 0
    shell.close()


def test_a_daemon_without_a_free_descriptor_says_so(alone: Shell) -> None:
    alone.out("daemon", "start")
    pid = homes.daemon_pid(alone.home)
    used = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    subprocess.run(["prlimit", f"--pid={pid}", f"--nofile={used + 12}:{used + 12}"], check=True)
    codes = [alone.json("run", "--bg", "-c", "exec sleep 1000").get("error", {}).get("code") for _ in range(8)]
    assert set(codes) <= {None, "too_many_files"}
    assert codes[-1] == "too_many_files"
    assert TRACEBACK not in (alone.home / "daemon.log").read_bytes()
