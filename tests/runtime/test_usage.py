"""Usage figures against an outside measurement: what the processes themselves last said before they were killed."""

import os
import signal
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from tests.support import processes
from tests.support.gates import Gate
from tests.support.meters import MB, burner, burnt, close_to, counts, meter, said_ms, usage_of
from tests.support.patience import LONG, end_of, ended, eventually

from bide import Limits, Reason, Until
from bide.api import Jobs


async def test_the_cpu_time_of_a_pipeline_that_timed_out_is_true(jobs: Jobs, tmp_path: Path) -> None:
    spent = tmp_path / "spent"
    ran = await jobs.run(f"{burner(spent)} | cat", limits=Limits(timeout=timedelta(seconds=1.5)), deadline=LONG)
    end = ended(ran.job).end
    assert end.reason is Reason.TIMED_OUT
    assert close_to(end.usage.cpu_ms, said_ms(spent)), (end.usage, said_ms(spent))


@pytest.mark.parametrize(
    "shape", ["{} & wait", "(setsid {} &) ; sleep 1000", "({} &) ; sleep 1000", "trap '' TERM; {}"]
)
async def test_the_cpu_time_of_a_killed_tree_is_true(local: Jobs, tmp_path: Path, shape: str) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    script = f"{burner(one)} & {shape.format(burner(two))}"
    job = (await local.run(script, background=True)).job.id
    await burnt(600, one, two)
    await local.kill(job, grace=timedelta(milliseconds=50))
    usage = (await end_of(local, job)).end.usage
    assert close_to(usage.cpu_ms, said_ms(one, two)), (usage, said_ms(one, two))


async def test_the_cpu_time_of_threads_and_of_children_that_endedcounts(local: Jobs, tmp_path: Path) -> None:
    spent = tmp_path / "spent"
    body = (
        f"threads = [threading.Thread(target=burn, args=({str(spent)!r},)) for _ in range(3)]\n"
        "for one in threads: one.start()\n"
    )
    gone = tmp_path / "gone"
    job = (await local.run(f"{burner(gone, 0.4)}; {meter(body)} | cat", background=True)).job.id
    await burnt(400, spent)
    await local.kill(job, signal=signal.SIGKILL)
    usage = (await end_of(local, job)).end.usage
    assert close_to(usage.cpu_ms, said_ms(spent, gone)), (usage, said_ms(spent, gone))


async def test_a_tree_that_somebody_else_killed_is_counted(local: Jobs, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    job = (await local.run(f"{burner(one)} & exec {burner(two)}", background=True)).job
    await burnt(600, one, two)
    tree = [
        pid for pid in processes.pids() if f"BIDE_JOB={job.id}".encode() in processes.read(pid, "environ").split(b"\0")
    ]
    for pid in tree:
        processes.end(pid)
    phase = await end_of(local, job.id)
    assert (phase.end.reason, phase.end.signal) == (Reason.SIGNALED, signal.SIGKILL)
    assert close_to(phase.end.usage.cpu_ms, said_ms(one, two)), (phase.end.usage, said_ms(one, two))


async def test_what_a_survivor_used_until_the_endcounts(local: Jobs, tmp_path: Path, gate: Gate) -> None:
    spent = tmp_path / "spent"
    job = (await local.run(f"{burner(spent, 0.5)} && sleep 1000 & {gate.wait}", background=True)).job.id
    await burnt(499, spent)
    gate.open()
    end = (await end_of(local, job)).end
    assert end.reason is Reason.EXITED
    assert [left.command for left in end.survivors]
    assert close_to(end.usage.cpu_ms, said_ms(spent)), (end.usage, said_ms(spent))
    await local.kill(job)


@pytest.mark.parametrize("how", ["killed", "timed out"])
async def test_the_bytes_that_a_child_wrote_are_true(jobs: Jobs, how: str) -> None:
    script = f"{meter(f'write(None, {50 * MB})')}; (echo written; sleep 1000) | cat"
    limits = Limits(timeout=timedelta(seconds=2)) if how == "timed out" else Limits()
    job = (await jobs.run(script, background=True, limits=limits)).job.id
    if how == "killed":
        await jobs.wait([job], until=Until(log="written"), timeout=LONG)
        await jobs.kill(job, signal=signal.SIGKILL)
    usage = (await end_of(jobs, job)).end.usage
    assert usage.written_bytes is not None
    assert 50 * MB <= usage.written_bytes <= 52.5 * MB


async def test_the_bytes_that_a_killed_writer_wrote_are_true(local: Jobs) -> None:
    body = "for _ in range(30): sys.stdout.buffer.write(bytes(1 << 20))\nsys.stdout.flush(); time.sleep(1000)"
    job = (await local.run(f"{meter(body)} | cat > /dev/null & sleep 1000", background=True)).job.id

    async def all_of_it() -> bool:
        usage = usage_of(await local.get(job))
        return usage.written_bytes is not None and usage.written_bytes >= 60 * MB

    await eventually(all_of_it)
    await local.kill(job, signal=signal.SIGKILL)
    usage = (await end_of(local, job)).end.usage
    assert usage.written_bytes is not None
    assert 60 * MB <= usage.written_bytes <= 63 * MB


async def test_many_short_children_count_once(local: Jobs, tmp_path: Path) -> None:
    spent = tmp_path / "spent"
    body = (
        f"page = meter({str(spent)!r})\n"
        "import resource\n"
        "n = 0\n"
        "while n < 400:\n"
        "    if os.fork() == 0: os._exit(0)\n"
        "    os.wait()\n"
        "    n += 1\n"
        "    own, all = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "    struct.pack_into('d', page, 0, own.ru_utime + own.ru_stime + all.ru_utime + all.ru_stime)\n"
        "print('done', flush=True)\n"
        "time.sleep(1000)"
    )
    job = (await local.run(f"{meter(body)} & wait", background=True)).job.id
    seen = [0]

    async def done() -> bool:
        seen.append(usage_of(await local.get(job)).cpu_ms or 0)
        return "done" in (await local.read(job)).data.decode()

    await eventually(done)
    await local.kill(job, signal=signal.SIGKILL)
    usage = (await end_of(local, job)).end.usage
    seen.append(usage.cpu_ms or 0)
    assert seen == sorted(seen)
    assert close_to(usage.cpu_ms, said_ms(spent)), (usage, said_ms(spent))


async def test_figures_never_decrease_while_children_come_and_go(local: Jobs, tmp_path: Path) -> None:
    paths = [tmp_path / str(number) for number in range(4)]
    script = " & ".join(burner(path, 0.3) for path in paths)
    job = (await local.run(f"{script} & wait; sleep 1000", background=True)).job.id
    seen: list[tuple[int, int, int, int]] = []

    async def all_ended() -> bool:
        usage = usage_of(await local.get(job))
        if usage.cpu_ms is not None:
            assert usage.memory_peak_bytes is not None
            assert usage.read_bytes is not None
            assert usage.written_bytes is not None
            seen.append((usage.cpu_ms, usage.memory_peak_bytes, usage.read_bytes, usage.written_bytes))
        return bool(seen) and seen[-1][0] * 1.05 >= said_ms(*paths) >= 1190

    await eventually(all_ended)
    await local.kill(job)
    usage = (await end_of(local, job)).end.usage
    for before, after in pairwise(seen):
        assert all(was <= now for was, now in zip(before, after, strict=True))
    assert usage.cpu_ms is not None
    assert usage.cpu_ms >= seen[-1][0]


async def test_figures_are_unknown_before_the_first_sample(jobs: Jobs) -> None:
    job = (await jobs.run("sleep 1000", background=True)).job.id
    while True:
        usage = usage_of(await jobs.get(job))
        figures = (usage.cpu_ms, usage.memory_peak_bytes, usage.read_bytes, usage.written_bytes, usage.processes)
        if usage.memory_peak_bytes is not None:
            break
        assert figures == (None,) * 5
    assert None not in figures
    assert usage.memory_peak_bytes > 0
    assert usage.processes == 1
    await jobs.kill(job)


async def test_a_job_shorter_than_the_first_sample_has_exact_figures(jobs: Jobs) -> None:
    ran = await jobs.run("head -c 3000000 /dev/zero > /dev/null")
    usage = ended(ran.job).end.usage
    assert usage.written_bytes is not None
    assert 3_000_000 <= usage.written_bytes < 3_050_000
    assert usage.cpu_ms is not None
    assert usage.memory_source in ("maxrss", "sampled")
    assert usage.memory_peak_bytes


async def test_a_tree_on_a_terminal_is_counted(local: Jobs, tmp_path: Path) -> None:
    spent = tmp_path / "spent"
    job = (await local.run(f"{burner(spent)} | cat", pty=True, background=True)).job.id
    await burnt(500, spent)
    await local.kill(job, signal=signal.SIGKILL)
    usage = (await end_of(local, job)).end.usage
    assert close_to(usage.cpu_ms, said_ms(spent)), (usage, said_ms(spent))


async def test_a_paused_tree_keeps_its_figures(local: Jobs, tmp_path: Path) -> None:
    spent = tmp_path / "spent"
    job = (await local.run(f"{burner(spent)} | cat", background=True)).job.id
    await burnt(300, spent)
    await local.send(job, pause=True)
    await local.send(job, pause=False)
    await burnt(500, spent)
    await local.send(job, pause=True)
    await local.kill(job, signal=signal.SIGKILL)
    usage = (await end_of(local, job)).end.usage
    assert close_to(usage.cpu_ms, said_ms(spent)), (usage, said_ms(spent))


async def test_children_of_a_parent_that_ignores_sigchld_count_as_far_as_they_were_sampled(
    local: Jobs, tmp_path: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    body = (
        "import signal\n"
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        f"for path in ({str(first)!r}, {str(second)!r}):\n"
        "    if os.fork() == 0:\n"
        "        start = time.process_time()\n"
        "        burn(path, start + 0.5)\n"
        "        os.open(path + '.done', os.O_CREAT)\n"
        "        while not os.path.exists(path + '.go'): time.sleep(0.01)\n"
        "        os._exit(0)\n"
        "    try: os.wait()\n"
        "    except ChildProcessError: pass\n"
        "time.sleep(1000)"
    )
    job = (await local.run(f"{meter(body)} | cat", background=True)).job.id
    for path in (first, second):
        await eventually(Path(f"{path}.done").exists)
        await eventually(lambda: counts(local, job, said_ms(first, second)))
        Path(f"{path}.go").touch()
    await local.kill(job, signal=signal.SIGKILL)
    usage = (await end_of(local, job)).end.usage
    assert close_to(usage.cpu_ms, said_ms(first, second)), (usage, said_ms(first, second))


@pytest.mark.parametrize("shape", ["{} | cat", "(setsid {} &) ; sleep 1000"])
async def test_figures_survive_the_keeper(remote: Jobs, home: Path, tmp_path: Path, shape: str) -> None:
    gone, spent = tmp_path / "gone", tmp_path / "spent"
    job = (await remote.run(f"{burner(gone, 0.4)}; {shape.format(burner(spent))}", background=True)).job.id
    await burnt(300, spent)
    await eventually(lambda: counts(remote, job, said_ms(gone)))
    before = usage_of(await remote.get(job))
    (keeper,) = processes.keepers(home / "jobs")
    os.kill(keeper, signal.SIGKILL)
    await eventually(lambda: _kept_by_another(home, keeper))
    after = usage_of(await remote.get(job))
    assert (after.cpu_ms or 0) >= (before.cpu_ms or 0) > 0
    assert (after.written_bytes or 0) >= (before.written_bytes or 0)
    await burnt(600, spent)
    await remote.kill(job, signal=signal.SIGKILL)
    usage = (await end_of(remote, job)).end.usage
    assert usage.sampled
    assert close_to(usage.cpu_ms, said_ms(gone, spent)), (usage, said_ms(gone, spent))


def _kept_by_another(home: Path, keeper: int) -> bool:
    found = processes.keepers(home / "jobs")
    return len(found) == 1 and found != [keeper]


@pytest.mark.root
async def test_a_cgroup_says_the_same_of_a_tree_that_timed_out(local: Jobs, tmp_path: Path) -> None:
    root = next(
        (path for path in (Path("/sys/fs/cgroup/cpuacct"), Path("/sys/fs/cgroup")) if (path / "cgroup.procs").exists()),
        None,
    )
    if root is None:
        pytest.skip("no cgroup to measure with")
    group = root / f"bide-test-{os.getpid()}"
    group.mkdir()
    try:
        spent = tmp_path / "spent"
        script = f"echo $$ > {group}/cgroup.procs; {burner(spent)} & for n in $(seq 200); do (/bin/true &) ; done; {burner(spent)} | cat"
        ran = await local.run(script, limits=Limits(timeout=timedelta(seconds=1.5)), deadline=LONG)
        if (group / "cpuacct.usage").exists():
            outside = int((group / "cpuacct.usage").read_text()) / 1e6
        else:
            outside = int((group / "cpu.stat").read_text().split()[1]) / 1e3
        found = ended(ran.job).end.usage.cpu_ms
        assert found is not None
        assert outside * 0.95 <= found <= outside * 1.05, (found, outside)
    finally:
        await eventually(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()
