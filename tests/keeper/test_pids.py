"""A pid is never trusted without its start time. Checklist 266."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bide.keeper import launch

REUSED = """
import anyio, os, signal, subprocess, sys
import bide
from pathlib import Path
from tests.support import homes, processes
from tests.support.patience import eventually

home = Path(sys.argv[1])

async def main():
    async with bide.connect(home) as jobs:
        job = (await jobs.run("sleep 1000", background=True)).job
    pid = job.phase.pid
    (keeper,) = processes.keepers(home)
    os.kill(homes.daemon_pid(home), signal.SIGKILL)
    os.kill(keeper, signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
    await eventually(lambda: not processes.of_folder(home))
    stranger = None
    for _ in range(300):
        processes.reap()
        Path("/proc/sys/kernel/ns_last_pid").write_text(str(pid - 1))
        stranger = subprocess.Popen(["sleep", "1000"])
        if stranger.pid == pid:
            break
        stranger.kill()
        stranger.wait()
    assert stranger.pid == pid, "the pid could not be had again"
    async with bide.connect(home) as jobs:
        waited = await jobs.wait([job.id], timeout=__import__("datetime").timedelta(seconds=30))
        print(waited.jobs[0].phase.end.reason)
        killed = await jobs.kill(job.id, signal=9)
        print(killed.signalled, killed.verified_empty)
    print("alive" if stranger.poll() is None else "dead")
    stranger.kill()
    await homes.stop_daemon(home)

anyio.run(main)
"""

CROWDED = """
import anyio, subprocess, sys
from datetime import timedelta
from pathlib import Path
import bide
from bide.runtime.local import open_jobs

FORKS = '''
import os, signal
for _ in range(1400):
    if os.fork() == 0:
        signal.pause()
print("made", flush=True)
signal.pause()
'''

async def main():
    stranger = subprocess.Popen(["sleep", "1000"])
    assert stranger.pid == 2
    Path("/proc/sys/kernel/ns_last_pid").write_text("20000")
    async with open_jobs(sys.argv[1]) as jobs:
        job = (await jobs.run([sys.executable, "-c", FORKS], background=True)).job
        await jobs.wait([job.id], until=bide.Until(log="made"), timeout=timedelta(seconds=30))
        killed = await jobs.kill(job.id, signal=9)
        print(killed.signalled, killed.verified_empty)
    print("alive" if stranger.poll() is None else "dead")
    stranger.kill()

anyio.run(main)
"""


def in_a_pid_namespace(script: str, home: Path) -> list[str]:
    """What it prints, where the next pid can be chosen."""
    words = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable, "-c", script, str(home)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=55, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.root
@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_a_stranger_that_got_the_pid_of_a_lost_job_is_not_touched(home: Path) -> None:
    assert in_a_pid_namespace(REUSED, home) == ["lost", "0 True", "alive"]


@pytest.mark.root
@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_a_stranger_whose_pid_is_how_the_pid_of_one_of_many_children_begins_is_not_touched(home: Path) -> None:
    """The kernel's list of them is longer than what is read at once."""
    assert in_a_pid_namespace(CROWDED, home) == ["1401 True", "alive"]


def test_a_process_is_alive_only_under_its_own_start_time() -> None:
    with subprocess.Popen(["sleep", "1000"]) as process:
        ticks = launch.start_ticks(process.pid)
        assert ticks is not None
        assert launch.is_alive(process.pid, ticks)
        assert not launch.is_alive(process.pid, ticks + 1)
        process.kill()
    assert not launch.is_alive(process.pid, ticks)
    assert launch.start_ticks(process.pid) is None


def test_a_zombie_is_not_alive() -> None:
    with subprocess.Popen(["true"], stdout=subprocess.PIPE) as process:
        ticks = launch.start_ticks(process.pid)
        assert ticks is not None
        assert process.stdout is not None
        process.stdout.read()
        status = None
        while status is None:
            status = launch.peek(process.pid)
        assert status == 0
        assert not launch.is_alive(process.pid, ticks)


@pytest.mark.parametrize(("script", "status"), [("exit 3", 3 << 8), ("kill -9 $$", 9)])
def test_a_childs_status_can_be_seen_without_taking_it(script: str, status: int) -> None:
    with subprocess.Popen(["sh", "-c", script]) as process:
        found = None
        while found is None:
            found = launch.peek(process.pid)
        assert found == status
        assert launch.peek(process.pid) == status
        assert launch.reap(process.pid) == status
        assert launch.reap(process.pid) is None
        assert launch.peek(process.pid) is None


def test_a_folder_without_a_keeper_has_no_holder(tmp_path: Path) -> None:
    assert launch.holder(str(tmp_path)) is None
    assert launch.live_keeper(str(tmp_path)) is None
