"""The keeper as a process: alone in its folder, quiet, and patient."""

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support import homes, processes
from tests.support.gates import Gate
from tests.support.patience import LONG, PATIENCE, end_of, ended, eventually

import bide
from bide import Reason, Until
from bide.api import Jobs
from bide.keeper import folder, launch
from bide.keeper.launch import KEEPER
from bide.model.job import Job, JobId, Spec


async def test_a_stopped_keeper_holds_the_job_up_and_loses_nothing(local: Jobs, home: Path, gate: Gate) -> None:
    job = (await local.run(f"echo up; {gate.wait}; seq -f %09.0f 50000; exit 3", background=True)).job
    await local.wait([job.id], until=Until(log="up"), timeout=LONG)
    (keeper,) = processes.keepers(home / "jobs")
    os.kill(keeper, signal.SIGSTOP)
    gate.open()
    assert (await local.wait([job.id], timeout=timedelta(seconds=0.3))).timed_out
    os.kill(keeper, signal.SIGCONT)
    assert (await end_of(local, job.id)).end.exit_code == 3
    assert (await local.read(job.id)).data == b"up\n" + b"".join(b"%09d\n" % number for number in range(1, 50_001))


async def test_a_keeper_does_nothing_while_its_job_does_nothing(local: Jobs, home: Path) -> None:
    """Checklist 264."""
    job = (await local.run("sleep 1000", background=True)).job
    await local.wait([job.id], timeout=timedelta(seconds=1.2))
    (keeper,) = processes.keepers(home / "jobs")
    before = _switches(keeper)
    await local.wait([job.id], timeout=timedelta(seconds=1.5))
    assert _switches(keeper) - before <= 3


def _switches(pid: int) -> int:
    lines = processes.read(pid, "status").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(b"voluntary_ctxt_switches"))


async def test_a_keeper_outlives_who_asked_for_it_and_has_a_session_of_its_own(home: Path, gate: Gate) -> None:
    async with bide.local(home) as jobs:
        job = (await jobs.run(f"{gate.wait}; exit 2", background=True)).job.id
    (keeper,) = processes.keepers(home / "jobs")
    assert os.getsid(keeper) == keeper
    assert {os.readlink(f"/proc/{keeper}/fd/{fd}") for fd in (0, 1, 2)} == {"/dev/null"}
    async with homes.local(home) as jobs:
        gate.open()
        assert (await end_of(jobs, job)).end.exit_code == 2


async def test_a_finished_folder_holds_what_is_documented_and_nothing_else(local: Jobs, home: Path) -> None:
    job = (await local.run("echo out; echo err >&2; cat", stdin=True, background=True)).job.id
    await local.send(job, data=b"in\n", eof=True)
    await end_of(local, job)
    await eventually(lambda: not processes.keepers(home))
    documented = Path("docs/keeper.md").read_text(encoding="utf-8")
    found = sorted(os.listdir(home / "jobs" / job))
    assert [name for name in found if f"`{name}`" not in documented] == []
    assert {"end", "err", "in", "out", "spec", "started"} <= set(found)
    assert "end.tmp" not in found


@pytest.mark.parametrize("arguments", [[], ["/nowhere"], ["-X", "1", "2"], ["/"]])
def test_a_keeper_without_a_job_to_keep_leaves_at_once(arguments: list[str]) -> None:
    done = subprocess.run([KEEPER, *arguments], timeout=5, check=False)
    assert done.returncode > 0


async def test_a_folder_is_kept_by_one_keeper(local: Jobs, home: Path, gate: Gate) -> None:
    job = (await local.run(gate.wait, background=True)).job.id
    folder = home / "jobs" / job
    second = subprocess.run([KEEPER, str(folder)], timeout=5, check=False)  # noqa: ASYNC221 - it leaves at once
    assert second.returncode > 0
    assert len(processes.keepers(home / "jobs")) == 1


async def test_no_keeper_takes_over_a_job_of_another_boot(local: Jobs, home: Path, gate: Gate) -> None:
    """Its pids would be those of other processes."""
    job = (await local.run(gate.wait, background=True)).job.id
    spec = home / "jobs" / job / "spec"
    before, mark, after = spec.read_bytes().partition(b"\0boot=")
    spec.write_bytes(before + mark + b"00000000" + after[8:])
    keeper = launch.holder(str(spec.parent))
    assert keeper is not None
    os.kill(keeper, signal.SIGKILL)
    end = (await end_of(local, job)).end
    assert (end.reason, end.error) == (Reason.LOST, "the machine restarted while it ran")
    gate.open()


async def test_a_job_that_has_run_is_never_run_again(local: Jobs, home: Path, tmp_path: Path) -> None:
    job = (await local.run(f"echo ran >> '{tmp_path}/ran'")).job
    folder = home / "jobs" / job.id
    await eventually(lambda: not processes.keepers(home / "jobs"))
    before = (folder / "end").read_bytes()
    subprocess.run([KEEPER, str(folder)], timeout=5, check=False)  # noqa: ASYNC221 - it leaves at once
    (folder / "end").unlink()
    subprocess.run([KEEPER, str(folder)], timeout=5, check=False)  # noqa: ASYNC221
    assert (tmp_path / "ran").read_text() == "ran\n"
    (folder / "end").write_bytes(before)
    assert ended(await local.get(job.id)) == job.phase


IGNORES = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    while time.process_time() < 0.6: pass
    os._exit(0)
try: os.wait()
except ChildProcessError: pass
"""


@pytest.mark.root
@pytest.mark.parametrize(
    ("hierarchy", "counted"), [("cpuacct", "cpuacct.usage"), ("unified", "cpu.stat"), (".", "cpu.stat")]
)
def test_the_cpu_time_that_a_group_counts_is_the_jobs(tmp_path: Path, hierarchy: str, counted: str) -> None:
    """The kernel drops the figures of children of a process that ignores SIGCHLD."""
    root = Path("/sys/fs/cgroup", hierarchy)
    if not (root / "cgroup.procs").exists():
        pytest.skip(f"no control groups at {root}")
    group = root / f"bide-test-{os.getpid()}"
    group.mkdir()
    job = Job(JobId("j0000000000"), Spec((sys.executable, "-c", IGNORES), "x", str(tmp_path)), datetime.now(UTC))
    path = tmp_path / "jobs" / job.id
    path.parent.mkdir()
    groups = {"join": [f"{group}/cgroup.procs"], "cg_cpu": [f"{group}/{counted}"], "remove": [str(group)]}
    folder.prepare(str(path), job, folder.Orders(env={}, groups=groups))
    assert subprocess.run([KEEPER, str(path)], timeout=PATIENCE, check=False).returncode == 0
    assert json.loads((path / "end").read_bytes())["cpu_ms"] >= 600
    assert not group.exists()
