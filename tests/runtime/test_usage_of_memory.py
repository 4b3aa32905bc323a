"""Peak memory: what counts as such, and the figures of jobs that ran out of it."""

import os
import signal
from pathlib import Path

import pytest
from tests.support import processes
from tests.support.meters import MB, meter, said_ms, usage_of
from tests.support.patience import LONG, end_of, ended, eventually

from bide import Limits, Reason, Until
from bide.api import Jobs
from bide.keeper import groups, place


@pytest.fixture
def no_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine without cgroups that we may use."""

    def nowhere(_home: str) -> place.Place:
        return place.Place({})

    monkeypatch.setattr(groups, "find", nowhere)


needs_cgroups = pytest.mark.skipif("memory" not in place.find("/").bases, reason="no cgroup to make groups in")


def hungry(path: Path) -> str:
    """A shell command that uses CPU until the gate says go, and then all memory."""
    return meter(f"burn({str(path)!r}, 0.5)\nx = []\nwhile True: x.append(bytearray(1 << 20)); burn({str(path)!r}, 0)")


@pytest.mark.usefixtures("no_groups")
async def test_a_child_that_ran_out_of_memory_is_counted_where_memory_is_sampled(local: Jobs, tmp_path: Path) -> None:
    spent = tmp_path / "spent"
    ran = await local.run(f"{hungry(spent)} | cat", limits=Limits(memory_bytes=60 * MB), deadline=LONG)
    end = ended(ran.job).end
    assert end.reason is Reason.OOM
    assert end.usage.cpu_ms is not None
    assert end.usage.cpu_ms >= said_ms(spent) * 0.95 > 450
    assert end.usage.memory_source == "sampled"


@needs_cgroups
async def test_a_child_that_ran_out_of_memory_is_counted_where_a_cgroup_says_so(local: Jobs, tmp_path: Path) -> None:
    spent = tmp_path / "spent"
    ran = await local.run(f"{hungry(spent)} | cat", limits=Limits(memory_bytes=60 * MB), deadline=LONG)
    end = ended(ran.job).end
    assert end.reason is Reason.OOM
    assert end.usage.cpu_ms is not None
    assert end.usage.cpu_ms >= said_ms(spent) * 0.95 > 450
    assert end.usage.memory_source == "cgroup"
    assert end.usage.memory_peak_bytes is not None
    assert 55 * MB <= end.usage.memory_peak_bytes <= 60 * MB


@pytest.mark.parametrize("how", ["read", "mapped"])
async def test_page_cache_is_no_memory_of_the_job(local: Jobs, tmp_path: Path, how: str) -> None:
    file = Path("/var/tmp" if os.access("/var/tmp", os.W_OK) else tmp_path) / f"bide-test-{os.getpid()}"
    body = (
        f"file = open({str(file)!r}, 'wb+')\n"
        f"for _ in range(200): file.write(bytes({MB}))\n"
        "file.flush(); file.seek(0)\n"
        "page = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)\n"
        + (
            "sum(page[at] for at in range(0, len(page), 4096))\n"
            if how == "mapped"
            else "while file.read(1 << 20): pass\n"
        )
        + "print('read', flush=True)\ntime.sleep(1000)"
    )
    try:
        for limits in (Limits(), Limits(memory_bytes=400 * MB)):
            job = (await local.run(meter(body), background=True, limits=limits)).job.id
            await local.wait([job], until=Until(log="read"), timeout=LONG)
            await local.kill(job, signal=signal.SIGKILL)
            usage = (await end_of(local, job)).end.usage
            assert 2 * MB < (usage.memory_peak_bytes or 0) < 60 * MB
    finally:
        file.unlink()


async def test_memory_that_forked_processes_share_counts_once(local: Jobs) -> None:
    body = (
        "x = bytearray(80 << 20)\n"
        "for _ in range(4):\n"
        "    if os.fork() == 0: time.sleep(1000)\n"
        "print('up', flush=True)\n"
        "time.sleep(1000)"
    )
    job = (await local.run(meter(body), background=True)).job.id

    async def sampled() -> bool:
        return usage_of(await local.get(job)).processes == 5

    await eventually(sampled)
    await local.kill(job, signal=signal.SIGKILL)
    usage = (await end_of(local, job)).end.usage
    assert 80 * MB < (usage.memory_peak_bytes or 0) < 160 * MB


@needs_cgroups
async def test_a_leader_that_ran_out_of_memory_takes_its_tree_along(local: Jobs) -> None:
    script = f"sleep 1000 & echo $!; exec {meter('x = []' + chr(10) + 'while True: x.append(bytearray(1 << 20))')}"
    ran = await local.run(script, limits=Limits(memory_bytes=60 * MB), deadline=LONG)
    end = ended(ran.job).end
    assert (end.reason, end.survivors) == (Reason.OOM, ())
    assert not processes.is_alive(int((await local.read(ran.job.id)).data))
