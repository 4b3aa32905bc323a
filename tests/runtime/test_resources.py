"""Memory, CPU and processes: by cgroup where there is one, else by what is said; and what a tree used."""

import os
import shlex
import signal
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from tests.support import homes
from tests.support.gates import Gate
from tests.support.patience import LONG, end_of, ended, eventually

from bide import Job, Limits, Reason
from bide.api import Jobs
from bide.keeper import groups, hierarchy, place
from bide.model.errors import LimitsUnavailable
from bide.model.turn import Turn
from bide.runtime.local import LocalJobs

MB = 1024 * 1024
GROWS = "x = []\nwhile True: x.append(bytearray(1 << 20))"
HOLDS = "x = bytearray(80 << 20); print('up', flush=True); import time; time.sleep(1000)"


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def enforced(job: Job) -> dict[str, str]:
    return dict(job.spec.enforced)


def nowhere(_home: str) -> place.Place:
    return place.Place({}, "there is none", "get one")


@pytest.fixture
def no_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine without cgroups that we may use."""
    monkeypatch.setattr(groups, "find", nowhere)


needs_v1 = pytest.mark.skipif("cpu" not in hierarchy.v1_bases(), reason="no cgroup v1 to leave")
needs_cgroups = pytest.mark.skipif("memory" not in place.find("/").bases, reason="no cgroup to make groups in")


@needs_cgroups
async def test_going_over_the_memory_limit_is_told_as_oom_with_the_limit(jobs: Jobs) -> None:
    ran = await jobs.run(python(GROWS), limits=Limits(memory_bytes=64 * MB), deadline=LONG)
    end = ended(ran.job).end
    how = enforced(ran.job)["memory"]
    assert how in ("cgroup v1", "cgroup v2")
    assert (end.reason, end.signal, end.exit_code, end.by) == (Reason.OOM, signal.SIGKILL, None, "limit")
    assert end.error == f"it went over its memory limit of {64 * MB} bytes ({how})"
    assert end.status == 137
    assert end.usage.memory_source == "cgroup"
    assert end.usage.memory_peak_bytes is not None
    assert 60 * MB <= end.usage.memory_peak_bytes <= 64 * MB


@needs_cgroups
async def test_a_child_over_the_limit_ends_the_whole_job_as_oom(local: Jobs) -> None:
    script = f"{sys.executable} -c '{GROWS}'; echo went on; sleep 1000"
    limits = Limits(memory_bytes=64 * MB)
    ids = [(await local.run(script, limits=limits, background=True)).job.id for _ in range(3)]
    waited = await local.wait(ids, timeout=timedelta(seconds=3))
    assert [job.phase_name for job in waited.jobs] == ["ended"] * 3
    assert {ended(job).end.reason for job in waited.jobs} == {Reason.OOM}
    assert {ended(job).end.survivors for job in waited.jobs} == {()}


@needs_cgroups
async def test_a_job_below_its_memory_limit_is_left_alone_and_its_group_is_removed(
    local: LocalJobs, gate: Gate
) -> None:
    limits = Limits(memory_bytes=256 * MB, cpus=2, pids=50)
    uses = python("x = bytearray(50 << 20); print(len(x))")
    job = (await local.run(f"{shlex.join(uses)}; {gate.wait}", limits=limits, background=True)).job.id
    bases = local.core.keeping.groups.place().bases.values()
    made = {f"{base.path}/{job}" for base in bases}
    assert made
    assert all(map(os.path.isdir, made))
    gate.open()
    end = (await end_of(local, job)).end
    assert end.success
    peak = end.usage.memory_peak_bytes
    assert peak is not None
    assert 50 * MB <= peak < 80 * MB
    await eventually(lambda: not any(map(os.path.exists, made)))


@needs_cgroups
async def test_a_cpu_limit_throttles_and_kills_nobody(local: Jobs) -> None:
    program = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
    ran = await local.run(python(program), limits=Limits(cpus=0.25))
    assert enforced(ran.job)["cpu"].startswith("cgroup")
    assert ended(ran.job).end.success
    assert ended(ran.job).end.duration >= timedelta(seconds=0.8)


@needs_cgroups
async def test_a_pids_limit_makes_fork_fail(local: Jobs) -> None:
    program = "import os\nn = 0\ntry:\n  while os.fork(): n += 1\n  import time; time.sleep(1000)\nexcept OSError as e: print(n, e.errno)"
    ran = await local.run(python(program), limits=Limits(pids=5))
    assert enforced(ran.job)["pids"].startswith("cgroup")
    assert ran.out is not None
    assert ran.out.data == b"4 11\n", ended(ran.job)
    await local.kill(ran.job.id, signal=signal.SIGKILL)


LEAVE = "open('{}/cgroup.procs', 'w').write('0'); "


def outside(name: str) -> str:
    """Python code with which a job leaves its group."""
    return LEAVE.format(hierarchy.v1_bases()[name].path)


@pytest.mark.root
@needs_v1
async def test_a_job_that_leaves_its_memory_group_is_sampled_and_the_answer_says_so(jobs: Jobs) -> None:
    limits = Limits(memory_bytes=40 * MB, pids=50)
    ran = await jobs.run(python(outside("memory") + HOLDS), limits=limits, deadline=LONG)
    end = ended(ran.job).end
    assert (end.reason, end.by, end.escaped) == (Reason.OOM, "limit", ("memory",))
    assert ran.job.enforced == {"memory": "sampled", "pids": "cgroup v1"}
    assert end.usage.memory_source == "sampled"
    assert end.usage.memory_peak_bytes is not None
    assert end.usage.memory_peak_bytes > 40 * MB
    assert (await jobs.get(ran.job.id)).enforced == ran.job.enforced
    expected = f"it went over its memory limit of {40 * MB} bytes (sampled, since a process left its control group)"
    assert end.error == expected


@pytest.mark.root
@needs_v1
async def test_a_running_job_that_has_left_a_group_says_which_limits_are_loose(jobs: Jobs, gate: Gate) -> None:
    program = f"{outside('cpu')}import subprocess; subprocess.run({gate.wait!r}, shell=True)"
    job = (await jobs.run(python(program), limits=Limits(cpus=2, pids=50), background=True)).job.id

    async def escaped() -> bool:
        return (await jobs.get(job)).enforced == {"cpu": "none", "pids": "cgroup v1"}

    while not await escaped():
        await jobs.wait([job], timeout=timedelta(seconds=0.1))
    gate.open()
    assert (await end_of(jobs, job)).end.escaped == ("cpu",)


@pytest.mark.root
@needs_v1
async def test_a_group_that_a_job_made_in_its_own_goes_with_it(local: Jobs) -> None:
    base = hierarchy.v1_bases()["pids"].path
    own = f"g={base}$(sed -n 's/^[0-9]*:pids://p' /proc/self/cgroup)"
    ran = await local.run(f"{own}; mkdir -p $g/a/b && echo $g", limits=Limits(pids=50))
    assert ran.out is not None
    group = Path(ran.out.data.decode().strip())
    assert group.name == ran.job.id
    await eventually(lambda: not group.exists())


@needs_cgroups
async def test_a_limit_that_the_kernel_refuses_is_named_where_limits_are_required(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("limits.required = true\n")
    async with homes.local(home) as jobs:
        with pytest.raises(
            LimitsUnavailable, match=r"\(the kernel refuses 1000000000: Invalid argument\).*another value"
        ):
            await jobs.run("true", limits=Limits(cpus=1e9))


@needs_cgroups
async def test_a_job_that_stays_in_its_groups_is_not_said_to_have_left(jobs: Jobs) -> None:
    script = "for i in 1 2 3 4 5 6 7 8 9; do (sleep 0.2 & sleep 0.3; true); done"
    ran = await jobs.run(script, limits=Limits(memory_bytes=256 * MB, cpus=2, pids=50))
    assert ended(ran.job).end.escaped == ()
    assert set(ran.job.enforced) == {"memory", "cpu", "pids"}


@needs_cgroups
async def test_limits_that_hold_are_accepted_where_they_are_required(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("limits.required = true\n")
    async with homes.local(home) as jobs:
        assert ended((await jobs.run("true", limits=Limits(memory_bytes=256 * MB))).job).end.success


@pytest.mark.usefixtures("no_groups")
async def test_a_limit_that_cannot_be_enforced_is_refused_where_limits_are_required(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("limits.required = true\n")
    async with homes.local(home) as jobs:
        assert ended((await jobs.run("true")).job).end.success
        with pytest.raises(LimitsUnavailable) as refused:
            await jobs.run("true", limits=Limits(memory_bytes=256 * MB, cpus=1))
        assert str(refused.value) == (
            "--memory and --cpus cannot be enforced here (there is none), and the setting limits.required refuses such "
            "jobs; get one, or leave the limit out"
        )
        assert len((await jobs.list()).jobs) == 1


async def test_a_queued_job_whose_group_cannot_be_made_again_is_sampled(
    home: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restart of the machine, or of the user's service manager, removes groups."""
    async with homes.local(home) as jobs:
        first = (await jobs.run(gate.wait, background=True)).job.id
        limits = Limits(memory_bytes=40 * MB, pids=50)
        turn = Turn(after=(first,))
        second = (await jobs.run(python(HOLDS), limits=limits, turn=turn, background=True)).job
        assert isinstance(jobs, LocalJobs)
        jobs.core.keeping.groups.forget()
        monkeypatch.setattr(groups, "find", nowhere)
        gate.open()
        end = (await end_of(jobs, second.id)).end
        assert end.reason is Reason.OOM
        assert (await jobs.get(second.id)).enforced == {"memory": "sampled", "pids": "sampled"}
        jobs.core.keeping.groups.sweep(set())


@pytest.mark.usefixtures("no_groups")
async def test_without_cgroups_memory_is_sampled_and_the_answer_says_so(local: Jobs) -> None:
    ran = await local.run(python(HOLDS), limits=Limits(memory_bytes=40 * MB), deadline=LONG)
    end = ended(ran.job).end
    assert enforced(ran.job) == {"memory": "sampled"}
    assert end.reason is Reason.OOM
    assert end.error == f"it went over its memory limit of {40 * MB} bytes (sampled)"
    assert end.usage.memory_source == "sampled"
    assert end.usage.memory_peak_bytes is not None
    assert end.usage.memory_peak_bytes > 40 * MB


@pytest.mark.usefixtures("no_groups")
async def test_without_cgroups_processes_are_sampled_and_cpu_is_not_limited(local: Jobs) -> None:
    script = "trap 'echo told; exit' TERM; for i in 1 2 3 4 5 6; do sleep 1000 & done; wait"
    ran = await local.run(script, limits=Limits(pids=4, cpus=0.5), deadline=LONG)
    end = ended(ran.job).end
    assert enforced(ran.job) == {"pids": "sampled", "cpu": "none"}
    assert (end.reason, end.by, end.signal) == (Reason.KILLED, "pids limit", signal.SIGKILL)
    assert (end.survivors, end.out.size) == ((), 0)


@pytest.mark.usefixtures("no_groups")
async def test_a_sampled_limit_holds_in_the_grace_of_a_job_that_is_told_to_end(local: Jobs) -> None:
    script = "trap 'for i in 1 2 3 4 5 6; do sleep 1000 & done' TERM; while :; do sleep 0.05; done"
    limits = Limits(pids=4, timeout=timedelta(seconds=0.2), grace=timedelta(seconds=1000))
    end = ended((await local.run(script, limits=limits, deadline=LONG)).job).end
    assert (end.reason, end.signal, end.survivors) == (Reason.TIMED_OUT, signal.SIGKILL, ())


async def test_no_limit_on_address_space_is_ever_set(local: Jobs) -> None:
    ran = await local.run("ulimit -v", limits=Limits(memory_bytes=64 * MB))
    assert ran.out is not None
    assert ran.out.data == b"unlimited\n"


async def test_the_end_says_what_the_whole_tree_used(jobs: Jobs) -> None:
    burn = "import time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass"
    program = (
        f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', '''{burn}'''])\n"
        "x = b'x' * (40 << 20)\nf = open('/dev/null', 'wb'); f.write(x); f.close()\n"
        "open('/dev/zero', 'rb').read(30 << 20)\n"
        f"{burn}"
    )
    usage = ended((await jobs.run(python(program))).job).end.usage
    assert None not in (usage.cpu_ms, usage.memory_peak_bytes, usage.read_bytes, usage.written_bytes)
    assert 400 <= (usage.cpu_ms or 0) < 3000
    assert usage.memory_source in ("maxrss", "sampled")
    assert 40 * MB <= (usage.memory_peak_bytes or 0) < 150 * MB
    assert 30 * MB <= (usage.read_bytes or 0) < 60 * MB
    assert 40 * MB <= (usage.written_bytes or 0) < 60 * MB
    assert not usage.sampled


async def test_orphans_that_ended_are_counted(local: Jobs, tmp_path: Path) -> None:
    burn = "import time; end = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
    over = tmp_path / "over"
    orphan = f"(setsid sh -c \"{sys.executable} -c '{burn}'; touch '{over}'\" &)"
    ran = await local.run(f"{orphan}; until test -e '{over}'; do sleep 0.02; done; sleep 0.05")
    assert (ended(ran.job).end.usage.cpu_ms or 0) >= 300


async def test_a_running_job_shows_samples(jobs: Jobs, gate: Gate) -> None:
    script = f"sleep 1000 & {sys.executable} -c 'x = bytearray(80 << 20); import time; time.sleep(1000)' & {gate.wait}"
    job = (await jobs.run(script, background=True)).job.id

    async def sampled() -> bool:
        facts = (await jobs.get(job)).facts
        assert facts is not None
        assert facts.usage is not None
        assert facts.usage.sampled
        return facts.usage.processes == 3 and (facts.usage.memory_peak_bytes or 0) > 80 * MB

    await eventually(sampled)


async def test_a_job_is_chosen_before_its_keeper_when_memory_runs_out(local: Jobs) -> None:
    ran = await local.run("cat /proc/self/oom_score_adj")
    ours = int(Path("/proc/self/oom_score_adj").read_text())
    assert ran.out is not None
    assert int(ran.out.data) == max(ours, 200)
