"""A disk without a free byte, or without a free inode, and no daemon: what runs there can still be seen and ended."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from tests.cli.shell import Shell
from tests.support import disks, homes, processes
from tests.support.gates import Gate
from tests.support.patience import eventually

pytestmark = pytest.mark.root

FILL = {"bytes": (disks.fill_bytes,), "inodes": (disks.fill_inodes,), "both": (disks.fill_bytes, disks.fill_inodes)}


class FullHome:
    """A home on a full disk: a small job that ended, a large one, one that runs, and no daemon."""

    def __init__(self, disk: Path, kind: str) -> None:
        self.shell = Shell(disk / "home", disk.parent)
        self.home = disk / "home"
        self.kind = kind
        self._disk = disk
        self.small = self.shell.background("echo small; exit 3", "--name", "small")
        self.large = self.shell.background("head -c 300K /dev/zero", "--name", "large")
        assert self.shell("wait", self.small, self.large).returncode == 3
        self.running = self.shell.background("echo begun; exec sleep 1000", "--name", "running")
        self.shell("wait", "--until-log", "begun", self.running)
        if kind == "inodes":
            self.stalled = ""
        else:
            self.stalled = self.shell.background("cat /dev/zero", "--name", "stalled")
        self.end_daemon()

    def end_daemon(self) -> None:
        """Kill the daemon as a crash would, and leave nothing free."""
        pid = homes.daemon_pid(self.home)
        os.kill(pid, signal.SIGKILL)
        anyio.run(eventually, lambda: not processes.is_alive(pid))
        anyio.run(eventually, lambda: not [name for name in os.listdir(self.home / "new") if name.startswith("spare-")])
        self.fill()

    def fill(self) -> None:
        for fill in FILL[self.kind]:
            fill(self._disk)

    def make_room(self) -> None:
        """Free what was filled, and end what would fill it again."""
        if self.stalled:
            self.shell("kill", self.stalled)
            self.shell("forget", self.stalled)
        (self._disk / "filler").unlink(missing_ok=True)
        shutil.rmtree(self._disk / "fillers", ignore_errors=True)

    def phase(self, job: str) -> str:
        shown = self.shell.json("show", job)
        assert "phase" in shown, shown
        return shown["reason"] or shown["phase"]


class WaitingHome:
    """A home on a small disk: a job that runs, one that waits for its success, and one that waits for a time."""

    def __init__(self, disk: Path, kind: str) -> None:
        self.shell = Shell(disk / "home", disk.parent)
        self.home = disk / "home"
        self._disk = disk
        self._kind = kind
        self.first = self.shell.background("exec sleep 1000")
        self.follower = self.shell.background("true", "--after", self.first)
        self.asked = self.shell.background("true", "--at", "2100-01-01T00:00:00Z")

    def fill(self, but: int = 0) -> None:
        """Leave nothing free, or so many pages."""
        for fill in FILL[self._kind]:
            fill(self._disk)
        if but:
            filler = self._disk / "filler"
            os.truncate(filler, filler.stat().st_size - but * 4096)

    def make_room(self) -> None:
        """Free what was filled."""
        (self._disk / "filler").unlink(missing_ok=True)
        shutil.rmtree(self._disk / "fillers", ignore_errors=True)

    def crash(self) -> None:
        """Kill the daemon as a crash would."""
        pid = homes.daemon_pid(self.home)
        os.kill(pid, signal.SIGKILL)
        anyio.run(eventually, lambda: not processes.is_alive(pid))

    def phase(self, job: str) -> str:
        shown = self.shell.json("show", job)
        return shown["reason"] or shown["phase"]


@pytest.fixture(params=FILL)
def full(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[FullHome]:
    with disks.mounted(tmp_path / "disk", megabytes=16, inodes=300) as disk:
        home = FullHome(disk, request.param)
        yield home
        home.shell.close()


def test_the_daemon_starts(full: FullHome) -> None:
    assert full.shell("daemon", "start").returncode == 0
    assert full.shell("daemon", "status").returncode == 0


def test_ls_lists_every_job(full: FullHome) -> None:
    jobs = {job["name"]: job for job in full.shell.json("ls")["jobs"]}
    assert {name: jobs[name]["phase"] for name in ("small", "large", "running")} == {
        "small": "ended",
        "large": "ended",
        "running": "running",
    }
    assert jobs["small"]["exit_code"] == 3


def test_show_and_logs_and_wait_tell_what_was(full: FullHome) -> None:
    assert full.shell.json("show", full.small)["exit_code"] == 3
    assert full.shell.json("show", full.running)["phase"] == "running"
    assert full.shell.out("logs", full.small) == "small\n"
    assert full.shell.out("logs", full.running) == "begun\n"
    assert full.shell("wait", full.small).returncode == 3
    assert full.shell("wait", "--timeout", "50ms", full.running).returncode == 75


def test_the_past_can_be_seen_and_jobs_ended_without_the_reserve(full: FullHome) -> None:
    shutil.rmtree(full.home / "reserve")
    full.fill()
    assert {job["name"] for job in full.shell.json("ls")["jobs"]} >= {"small", "large", "running"}
    assert full.shell.json("show", full.small)["exit_code"] == 3
    assert full.shell.out("logs", full.running) == "begun\n"
    assert full.shell("kill", full.running).returncode == 0
    full.end_daemon()
    assert full.phase(full.running) == "killed"


def test_a_database_that_was_deleted_is_made_anew_in_memory(full: FullHome) -> None:
    for file in full.home.glob("bide.db*"):
        file.unlink()
    full.fill()
    assert {job["name"] for job in full.shell.json("ls")["jobs"]} >= {"small", "large", "running"}
    assert full.shell.json("show", full.small)["exit_code"] == 3
    assert full.shell("forget", full.large).returncode == 0
    full.fill()
    full.end_daemon()
    assert full.shell.json("show", full.small)["exit_code"] == 3
    assert full.shell("show", full.large).returncode == 97
    assert full.phase(full.running) == "running"


def test_all_is_as_it_was_when_there_is_room_again(full: FullHome) -> None:
    assert full.shell("forget", full.small).returncode == 0
    assert full.shell("kill", full.running).returncode == 0
    full.make_room()
    assert full.shell("run", "-c", "exit 4").returncode == 4
    full.end_daemon()
    full.make_room()
    assert full.shell.json("show", full.small)["error"]["code"] == "job_forgotten"
    assert full.phase(full.running) == "killed"
    assert sorted(os.listdir(full.home / "reserve")) == [str(number) for number in range(8)]
    assert os.listdir(full.home / "new") == []


def test_kill_ends_a_job_for_good(full: FullHome) -> None:
    for job in filter(None, (full.running, full.stalled)):
        assert full.shell("kill", job).returncode == 0
        assert full.phase(job) == "killed"
    full.end_daemon()
    for job in filter(None, (full.running, full.stalled)):
        assert full.phase(job) == "killed"


@pytest.fixture(params=FILL)
def waiting(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[WaitingHome]:
    with disks.mounted(tmp_path / "disk", megabytes=16, inodes=300) as disk:
        home = WaitingHome(disk, request.param)
        yield home
        home.shell.close()


def test_the_end_of_a_queued_job_holds_after_a_crash(waiting: WaitingHome) -> None:
    waiting.fill()
    waiting.shell.out("kill", waiting.asked)
    waiting.shell.out("kill", waiting.first)
    anyio.run(eventually, lambda: waiting.phase(waiting.follower) == "killed")
    ended = [waiting.shell.json("show", job) for job in (waiting.asked, waiting.follower)]
    waiting.crash()
    waiting.make_room()
    assert [waiting.shell.json("show", job) for job in (waiting.asked, waiting.follower)] == ended


def test_a_queued_job_that_cannot_be_ended_for_want_of_room_waits_on(waiting: WaitingHome) -> None:
    waiting.fill()
    shutil.rmtree(waiting.home / "reserve")
    waiting.fill()
    assert waiting.shell.json("kill", waiting.asked)["error"]["code"] == "disk_full"
    assert waiting.phase(waiting.asked) == "queued"
    assert waiting.shell("kill", waiting.first).returncode == 0
    assert waiting.phase(waiting.follower) == "queued"
    waiting.make_room()
    anyio.run(eventually, lambda: waiting.phase(waiting.follower) == "killed")
    assert waiting.phase(waiting.asked) == "queued"
    assert waiting.shell("kill", waiting.asked).returncode == 0
    waiting.crash()
    assert waiting.phase(waiting.asked) == "killed"


@pytest.mark.parametrize("waiting", ["bytes"], indirect=True)
def test_what_was_forgotten_while_the_index_was_in_memory_does_not_come_back(waiting: WaitingHome) -> None:
    waiting.crash()
    shutil.rmtree(waiting.home / "reserve")
    (waiting.home / "bide.db-seal").unlink()
    waiting.fill(but=10)
    assert waiting.shell("kill", waiting.first).returncode == 0
    assert waiting.shell("forget", waiting.first).returncode == 0
    assert "the index is built in memory" in (waiting.home / "daemon.log").read_text()
    for again in (lambda: waiting.fill(but=10), waiting.make_room, waiting.make_room):
        waiting.crash()
        again()
        assert waiting.first not in {job["id"] for job in waiting.shell.json("ls")["jobs"]}
        assert waiting.shell("show", waiting.first).returncode == 97
    assert [name for name in os.listdir(waiting.home / "new") if not name.startswith("spare-")] == []


def test_forget_forgets_for_good(full: FullHome) -> None:
    for job in (full.small, full.large):
        done = full.shell("forget", job)
        assert done.returncode == 0, done
        assert full.shell.json("show", job)["error"]["code"] == "job_forgotten"
        full.fill()
    full.end_daemon()
    for job in (full.small, full.large):
        assert full.shell.json("show", job)["error"]["code"] == "job_forgotten"
    assert not (full.home / "jobs" / full.large).exists()


def test_gc_drops_what_retention_does_not_keep(full: FullHome) -> None:
    done = full.shell("forget", "--older-than", "0s")
    assert done.returncode == 0, done
    assert full.shell.json("show", full.large)["error"]["code"] == "job_forgotten"
    full.fill()
    assert full.shell("gc").returncode == 0
    assert full.shell.json("gc", "--dry-run")["forgotten"] == 0


def test_what_needs_room_is_refused_and_leaves_nothing(full: FullHome) -> None:
    before = set(os.listdir(full.home / "jobs"))
    assert full.shell.json("run", "-c", "true")["error"]["code"] == "disk_full"
    assert full.shell.json("run", "--bg", "-c", "true")["error"]["code"] == "disk_full"
    assert set(os.listdir(full.home / "jobs")) == before
    assert [name for name in os.listdir(full.home / "new") if not name.startswith("spare-")] == []


def test_doctor_names_what_is_full(full: FullHome) -> None:
    findings = {one["check"]: one for one in full.shell.json("doctor")["checks"]}
    assert findings["disk"]["level"] == ("ok" if full.kind == "inodes" else "fail") or full.kind == "inodes"
    assert (findings["inodes"]["level"] == "fail") == (full.kind != "bytes")
    assert full.shell("doctor").returncode == 1


def test_a_foreground_run_says_when_it_stalls_and_when_it_goes_on(tmp_path: Path, gate: Gate) -> None:
    with disks.mounted(tmp_path / "disk", megabytes=8) as disk:
        shell = Shell(disk / "home", tmp_path)
        with shell.started("run", "--name", "writer", "-c", f"{gate.wait}; head -c 20K /dev/zero; {gate.wait}") as run:
            assert run.stdout is not None
            assert run.stderr is not None
            anyio.run(eventually, lambda: shell("show", "writer").returncode == 0)
            filler = disks.fill_bytes(disk)
            gate.open()
            said = iter(run.stderr.readline, b"")
            assert b"is stalled: the disk is full" in next(said)
            assert [job["stalled"] for job in shell.json("ls")["jobs"]] == [True]
            assert " stalled " in shell.out("ls")
            assert shell.out("show", "writer").count("stalled") > 0
            filler.unlink()
            assert any(b"goes on: the disk has room again" in line for line in said)
            gate.open()
            assert len(run.stdout.read()) == 20 * 1024
            assert run.wait() == 0
        shell.close()
