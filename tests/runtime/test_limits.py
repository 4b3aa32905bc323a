"""Limits of time, output and processes, kept by the keeper whether or not a daemon is alive."""

import os
import signal
import sys
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from tests.support import homes, processes
from tests.support.gates import Gate
from tests.support.patience import LONG, end_of, ended, eventually

import bide
from bide import Limits, OnOutputCap, Reason, Stream, Until
from bide.api import Jobs
from bide.model.phase import Kept

KB = 1024
MB = 1024 * KB


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


async def test_a_timeout_ends_the_whole_tree_that_ignores_term(jobs: Jobs) -> None:
    """Checklist 256 and 257."""
    limits = Limits(timeout=seconds(0.3), grace=seconds(0.2))
    ran = await jobs.run("trap '' TERM; (while :; do sleep 0.05; done) & while :; do sleep 0.05; done", limits=limits)
    end = ended(ran.job).end
    assert (end.reason, end.signal, end.exit_code, end.by) == (Reason.TIMED_OUT, signal.SIGKILL, None, "limit")
    assert end.error == "it ran longer than 0.3 s"
    assert end.status == 124
    assert end.survivors == ()
    assert seconds(0.3) <= end.duration < seconds(3)


async def test_a_timed_out_job_that_answers_with_exit_0_is_no_success(jobs: Jobs) -> None:
    """Checklist 256."""
    script = "trap 'exit 0' TERM; while :; do sleep 0.02; done"
    end = ended((await jobs.run(script, limits=Limits(timeout=seconds(0.2)))).job).end
    assert (end.reason, end.exit_code, end.success) == (Reason.TIMED_OUT, None, False)


OBEYS = "trap 'exit 3' TERM; (trap '' TERM; echo deaf $(exec sh -c 'echo $PPID'); while :; do sleep 0.05; done) & {}; while :; do sleep 0.02; done"
"""Its leader obeys TERM, and leaves a child that does not."""


@pytest.mark.parametrize(
    ("limits", "flood", "reason"),
    [
        (Limits(timeout=seconds(0.5), grace=seconds(1)), ":", Reason.TIMED_OUT),
        (Limits(idle=seconds(0.5), grace=seconds(1)), ":", Reason.IDLE),
        (
            Limits(output_bytes=KB, on_output_cap=OnOutputCap.KILL, grace=seconds(1)),
            "sleep 0.5; head -c 2000 /dev/zero",
            Reason.OVERFLOW,
        ),
    ],
)
async def test_the_end_of_a_job_over_its_limit_is_told_when_its_tree_is_gone(
    jobs: Jobs, limits: Limits, flood: str, reason: Reason
) -> None:
    ran = await jobs.run(OBEYS.format(flood), limits=limits, deadline=LONG)
    word, pid = (await jobs.read(ran.job.id, stream=Stream.OUT)).data[:100].split()[:2]
    assert word == b"deaf"
    end = ended(ran.job).end
    assert (end.reason, end.survivors) == (reason, ())
    assert not processes.is_alive(int(pid))
    assert end.duration >= seconds(1)


async def test_the_end_of_a_killed_job_is_told_when_its_tree_is_gone(local: Jobs) -> None:
    job = (await local.run(OBEYS.format(":"), background=True)).job.id
    await local.wait([job], until=Until(log="deaf"), timeout=LONG)
    pid = int((await local.read(job)).data.split()[1])
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: local.kill(job, grace=seconds(0.5)))
        end = (await end_of(local, job)).end
        assert not processes.is_alive(pid)
        assert (end.reason, end.survivors) == (Reason.KILLED, ())


async def test_what_a_kill_leaves_alive_is_named_by_the_end(local: Jobs) -> None:
    job = (await local.run(OBEYS.format(":"), background=True)).job.id
    await local.wait([job], until=Until(log="deaf"), timeout=LONG)
    pid = int((await local.read(job)).data.split()[1])
    killed = await local.kill(job, grace=seconds(0))
    assert not killed.verified_empty
    assert pid in {left.pid for left in (await end_of(local, job)).end.survivors}
    assert (await local.kill(job, signal=signal.SIGKILL)).verified_empty


async def test_a_job_within_its_limits_is_left_alone(jobs: Jobs) -> None:
    limits = Limits(timeout=LONG, idle=LONG, output_bytes=MB, on_output_cap=OnOutputCap.KILL)
    end = ended((await jobs.run("echo fine; exit 124", limits=limits)).job).end
    assert (end.reason, end.exit_code) == (Reason.EXITED, 124)


async def test_limits_hold_while_nobody_serves_the_home(home: Path) -> None:
    async with bide.local(home) as jobs:
        slow = (await jobs.run("sleep 1000", limits=Limits(timeout=seconds(0.4)), background=True)).job.id
        idle = (await jobs.run("sleep 1000", limits=Limits(idle=seconds(0.4)), background=True)).job.id
    for job in (slow, idle):
        await eventually((home / "jobs" / job / "end").exists)
    async with homes.local(home) as jobs:
        assert (await end_of(jobs, slow)).end.reason is Reason.TIMED_OUT
        assert (await end_of(jobs, idle)).end.reason is Reason.IDLE


async def test_limits_hold_while_the_daemon_is_stopped(remote: Jobs, home: Path) -> None:
    job = (await remote.run("sleep 1000", limits=Limits(timeout=seconds(0.4)), background=True)).job.id
    pid = homes.daemon_pid(home)
    os.kill(pid, signal.SIGSTOP)
    await eventually((home / "jobs" / job / "end").exists)
    os.kill(pid, signal.SIGCONT)
    assert (await end_of(remote, job)).end.reason is Reason.TIMED_OUT


async def test_an_idle_job_is_ended_and_any_output_keeps_it_alive(jobs: Jobs) -> None:
    script = "for i in 1 2 3 4 5; do echo $i >&$((1 + i % 2)); sleep 0.15; done; sleep 1000"
    end = ended((await jobs.run(script, limits=Limits(idle=seconds(0.4)))).job).end
    assert end.reason is Reason.IDLE
    assert end.error == "it wrote nothing for 0.4 s"
    assert end.status == 125
    assert end.duration >= seconds(0.6 + 0.4)


async def test_a_job_that_computes_is_idle_unless_cpu_counts(local: Jobs, gate: Gate) -> None:
    script = f"for ((i = 0; i < 1000000000; i++)); do :; done & {gate.wait}; exit 6"
    idle = Limits(idle=seconds(0.3), grace=seconds(0.1))
    assert ended((await local.run(script, limits=idle)).job).end.reason is Reason.IDLE

    busy = Limits(idle=seconds(0.3), idle_needs_no_cpu=True)
    job = (await local.run(script, limits=busy, background=True)).job.id
    assert (await local.wait([job], timeout=seconds(1))).timed_out
    gate.open()
    assert (await end_of(local, job)).end.exit_code == 6
    await local.kill(job, signal=signal.SIGKILL)


async def test_a_job_that_sleeps_is_idle_also_when_cpu_counts(local: Jobs) -> None:
    limits = Limits(idle=seconds(0.3), idle_needs_no_cpu=True)
    assert ended((await local.run("sleep 1000", limits=limits)).job).end.reason is Reason.IDLE


async def test_output_beyond_the_cap_kills_if_asked_and_the_files_are_exactly_the_cap(jobs: Jobs) -> None:
    limits = Limits(output_bytes=100_000, on_output_cap=OnOutputCap.KILL)
    ran = await jobs.run("echo err >&2; while :; do echo 0123456789; done", limits=limits)
    end = ended(ran.job).end
    assert (end.reason, end.by, end.status) == (Reason.OVERFLOW, "limit", 126)
    assert end.error == "it wrote more than 100000 bytes"
    assert end.out.size + end.err.size == 100_000
    assert end.out.head == end.err.head == 0
    data = (await jobs.read(ran.job.id)).data
    assert len(data) == end.out.size
    assert data == (b"0123456789\n" * 10_000)[: len(data)]


async def test_output_of_exactly_the_cap_kills_nobody(local: Jobs) -> None:
    limits = Limits(output_bytes=100_000, on_output_cap=OnOutputCap.KILL)
    end = ended((await local.run("head -c 100000 /dev/zero", limits=limits)).job).end
    assert (end.reason, end.exit_code, end.out) == (Reason.EXITED, 0, Kept(0, 100_000))


async def test_by_default_the_oldest_output_goes_and_offsets_stay_absolute(jobs: Jobs, home: Path) -> None:
    ran = await jobs.run("seq -f %09.0f 1000000", limits=Limits(output_bytes=MB))
    end = ended(ran.job).end
    assert (end.reason, end.exit_code, end.missing_bytes) == (Reason.EXITED, 0, 0)
    assert end.out.size == 10_000_000
    assert MB <= end.out.size - end.out.head <= MB + 128 * KB
    file = home / "jobs" / ran.job.id / "out"
    assert file.stat().st_size == 10_000_000
    assert file.stat().st_blocks * 512 <= 2 * MB

    found = await jobs.read(ran.job.id, offset=0, limit=40)
    assert found.offset == found.head == end.out.head
    line, into = divmod(found.offset, 10)
    expected = b"".join(b"%09d\n" % number for number in range(line + 1, line + 7))
    assert found.data == expected[into : into + 40]
    last = await jobs.read(ran.job.id, tail=1)
    assert (last.data, last.offset) == (b"001000000\n", 9_999_990)


async def test_joining_reads_over_a_dropped_head_gives_every_kept_byte_once(jobs: Jobs) -> None:
    limits = Limits(output_bytes=256 * KB)
    job = (await jobs.run("seq -f %09.0f 500000", limits=limits, background=True)).job.id
    seen: dict[int, bytes] = {}
    at = 0
    while True:
        found = await jobs.read(job, offset=at, limit=64 * KB, follow=LONG)
        assert found.offset >= at
        assert found.next == found.offset + len(found.data)
        seen[found.offset] = found.data
        at = found.next
        if found.eof:
            break
    assert at == 5_000_000
    whole = b"".join(b"%09d\n" % number for number in range(1, 500_001))
    for offset, data in seen.items():
        assert data == whole[offset : offset + len(data)]


async def test_matches_and_waits_pass_over_a_dropped_head(local: Jobs, gate: Gate) -> None:
    script = f"seq -f %09.0f 200000; {gate.wait}"
    job = (await local.run(script, limits=Limits(output_bytes=64 * KB), background=True)).job.id
    waited = await local.wait([job], until=Until(log="^000200000$"), timeout=LONG)
    assert waited.match is not None
    assert waited.match.offset == 1_999_990
    assert (await local.read(job, grep="^000000001$")).matches == ()
    found = await local.read(job, grep="99$")
    assert found.matches[-1].line == b"000199999"
    facts = (await local.get(job)).facts
    assert facts is not None
    assert facts.out.size == 2_000_000
    assert facts.out.head > 1_700_000


async def test_both_streams_share_the_cap(local: Jobs) -> None:
    program = "import os\nfor i in range(3000): os.write(1, b'o' * 1000); os.write(2, b'e' * 1000)"
    ran = await local.run([sys.executable, "-c", program], limits=Limits(output_bytes=MB))
    end = ended(ran.job).end
    assert end.out.size == end.err.size == 3_000_000
    kept = (end.out.size - end.out.head) + (end.err.size - end.err.head)
    assert MB <= kept <= MB + 128 * KB
    for stream in Stream:
        found = await local.read(ran.job.id, stream=stream)
        assert set(found.data) == {ord("o" if stream is Stream.OUT else "e")}


@pytest.mark.parametrize("limits", [Limits(timeout=timedelta(microseconds=1)), Limits(idle=timedelta(microseconds=1))])
async def test_the_shortest_limit_is_a_limit(local: Jobs, limits: Limits) -> None:
    ran = await local.run("sleep 1000", limits=limits, deadline=LONG)
    assert ended(ran.job).end.reason in (Reason.TIMED_OUT, Reason.IDLE)
