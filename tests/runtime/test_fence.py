"""The fence: signals from a job reach only the job."""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.gates import Gate
from tests.support.patience import ended

from bide.api import Jobs

LANDLOCK_CREATE_RULESET = 444
SIGNAL_SCOPE = 6


def landlock() -> int:
    """The version of Landlock that this kernel has; below 0 if none."""
    return ctypes.CDLL(None).syscall(LANDLOCK_CREATE_RULESET, None, 0, 1)


pytestmark = pytest.mark.skipif(landlock() < SIGNAL_SCOPE, reason="this kernel cannot fence signals")

PROBE = "kill -0 1 2>/dev/null && echo reached || echo refused"


@pytest.mark.root
async def test_a_job_cannot_signal_what_is_not_its_own(jobs: Jobs, gate: Gate) -> None:
    other = (await jobs.run(gate.wait, background=True)).job
    pid = getattr(other.phase, "pid", 0)
    ran = await jobs.run(f"{PROBE}; kill -0 {pid} 2>&1; kill -9 {os.getpid()} 2>&1; kill -0 $PPID 2>&1")
    assert ran.out is not None
    lines = ran.out.data.decode().splitlines()
    assert lines[0] == "refused"
    assert len([line for line in lines if "Operation not permitted" in line]) == 3
    assert (await jobs.get(other.id)).phase_name == "running"


@pytest.mark.root
async def test_without_a_fence_it_can(jobs: Jobs) -> None:
    ran = await jobs.run(PROBE, fence=False)
    assert ran.out is not None
    assert ran.out.data == b"reached\n"
    assert not ran.job.spec.fence


async def test_a_job_can_signal_its_own_children(jobs: Jobs) -> None:
    ran = await jobs.run(
        "sleep 1000 & kill -TERM $!; wait $!; echo $?; setsid sleep 1000 & kill -9 $!; wait $!; echo $?"
    )
    assert ran.out is not None
    assert ran.out.data == b"143\n137\n"
    assert ended(ran.job).end.survivors == ()


IN_A_NAMESPACE = """
import anyio, sys
import bide

async def main():
    async with bide.connect(sys.argv[1]) as jobs:
        other = (await jobs.run("sleep 1000", background=True)).job
        ran = await jobs.run("kill -9 -1; sleep 1000 & sleep 0.1; kill -9 -1; echo survived $?")
        print(ran.job.phase.end.reason, ran.out.data)
        print((await jobs.get(other.id)).phase_name)
        print((await jobs.run("echo the daemon lives")).out.data)

anyio.run(main)
"""


@pytest.mark.root
@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_kill_everything_inside_a_job_ends_nobody_else(home: Path) -> None:
    """In a pid namespace of its own, so that a hole in the fence would end nothing but the test's own processes."""
    inner = [sys.executable, "-c", IN_A_NAMESPACE, str(home)]
    done = subprocess.run(
        ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", *inner],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1:] == ["running", "b'the daemon lives\\n'"]
