"""Output is bytes: whatever they are, however many, whoever holds the pipe."""

import hashlib
import os
import sys
from datetime import timedelta
from pathlib import Path

from tests.support import processes
from tests.support.gates import Gate
from tests.support.patience import LONG, end_of, ended, eventually

from bide import Limits, Reason, Stream
from bide.api import Jobs
from bide.model.phase import Kept

MB = 1024 * 1024


async def everything(jobs: Jobs, job: str, stream: Stream = Stream.OUT) -> bytes:
    """The whole of a stream, as joined reads."""
    parts: list[bytes] = []
    at = 0
    while True:
        found = await jobs.read(job, stream=stream, offset=at, follow=LONG)
        assert found.offset == at
        parts.append(found.data)
        at = found.next
        if found.eof:
            return b"".join(parts)


async def test_every_byte_value_is_kept_as_it_is(jobs: Jobs) -> None:
    """Checklist 262: invalid UTF-8, NUL bytes, carriage returns."""
    program = "import sys; b = bytes(range(256)) * 3; sys.stdout.buffer.write(b); sys.stderr.buffer.write(b[::-1])"
    ran = await jobs.run([sys.executable, "-c", program])
    assert ran.out is not None
    assert ran.err is not None
    assert ran.out.data == bytes(range(256)) * 3
    assert ran.err.data == (bytes(range(256)) * 3)[::-1]


async def test_100_mb_without_a_newline_arrive_exactly(local: Jobs) -> None:
    """Checklist 262."""
    program = (
        "import hashlib, os, sys; block = os.urandom(1 << 20).replace(b'\\n', b'x'); h = hashlib.sha256()\n"
        "for _ in range(100): sys.stdout.buffer.write(block); h.update(block)\n"
        "sys.stderr.write(h.hexdigest())"
    )
    ran = await local.run([sys.executable, "-c", program])
    assert ended(ran.job).end.out == Kept(0, 100 * MB)
    digest, at = hashlib.sha256(), 0
    while True:
        found = await local.read(ran.job.id, offset=at)
        digest.update(found.data)
        at = found.next
        if found.eof:
            break
    assert ran.err is not None
    assert digest.hexdigest() == ran.err.data.decode()
    assert (await local.read(ran.job.id, grep="nowhere")).matches == ()
    assert len((await local.read(ran.job.id, tail=1)).data) <= 16 * MB


async def test_many_small_writes_arrive_in_order(jobs: Jobs) -> None:
    program = "import os\nfor i in range(20000): os.write(1, b'%05d' % i)"
    job = (await jobs.run([sys.executable, "-c", program], background=True)).job.id
    assert await everything(jobs, job) == b"".join(b"%05d" % number for number in range(20000))


async def test_a_job_can_open_its_output_anew_and_truncate_nothing(local: Jobs) -> None:
    ran = await local.run("echo one; echo two > /dev/stdout; echo three > /proc/self/fd/1; echo e > /dev/stderr")
    assert ran.out is not None
    assert ran.err is not None
    assert ran.out.data == b"one\ntwo\nthree\n"
    assert ran.err.data == b"e\n"


async def test_a_job_that_closes_its_output_runs_on(local: Jobs, gate: Gate) -> None:
    job = (await local.run(f"echo before; exec >&- 2>&-; {gate.wait}; exit 3", background=True)).job.id
    found = await local.read(job, follow=LONG)
    again = await local.read(job, offset=found.next, follow=timedelta(seconds=0.2))
    assert (found.data, again.data, again.ended) == (b"before\n", b"", False)
    gate.open()
    assert (await end_of(local, job)).end.exit_code == 3


async def test_a_job_ends_with_its_leader_though_a_child_holds_the_pipe(jobs: Jobs) -> None:
    """Checklist 258."""
    ran = await jobs.run("sleep 1000 & echo $!; echo done", deadline=LONG)
    assert ran.out is not None
    assert ran.out.data.endswith(b"done\n")
    assert ended(ran.job).end.exit_code == 0
    assert ended(ran.job).end.duration < timedelta(seconds=2)
    sleeper = int(ran.out.data.split()[0])
    assert [process.pid for process in ended(ran.job).end.survivors] == [sleeper]
    killed = await jobs.kill(ran.job.id)
    assert killed.verified_empty


async def test_late_bytes_of_a_child_are_collected_for_a_moment(local: Jobs) -> None:
    """Checklist 258."""
    ran = await local.run("(sleep 0.1; echo late) & echo early")
    assert ran.out is not None
    assert ran.out.data == b"early\nlate\n"


async def test_a_child_that_writes_after_the_end_is_not_blocked_and_changes_nothing(
    local: Jobs, gate: Gate, tmp_path: Path
) -> None:
    script = f"({gate.wait}; head -c 1000000 /dev/zero; echo done > '{tmp_path}/done') & echo early"
    job = (await local.run(script)).job
    gate.open()
    await eventually((tmp_path / "done").exists)
    assert (await local.read(job.id)).data == b"early\n"
    assert (await local.get(job.id)).phase == job.phase


async def test_the_output_of_an_orphan_before_the_end_is_the_jobs(local: Jobs, gate: Gate) -> None:
    job = (await local.run(f"setsid sh -c 'sleep 0.05; echo orphan' & {gate.wait}", background=True)).job.id
    found = await local.read(job, follow=LONG)
    gate.open()
    assert found.data == b"orphan\n"
    await end_of(local, job)


async def test_sparse_followers_and_no_reader_never_block_a_job(local: Jobs) -> None:
    """Output goes to the file whether or not anybody reads it."""
    ran = await local.run("head -c 20000000 /dev/zero", limits=Limits(timeout=LONG))
    assert ended(ran.job).end.reason is Reason.EXITED
    assert ended(ran.job).end.out.size == 20_000_000


async def test_memory_of_the_daemon_stays_bounded_under_much_output(remote: Jobs, home: Path) -> None:
    """Checklist 262."""
    await remote.run("true")
    pid = processes.daemons(home)[0]
    before = _resident(pid)
    ran = await remote.run("head -c 60000000 /dev/urandom | base64 -w 0")
    assert (await remote.read(ran.job.id, grep="zzzzzzzzzz")).size == 80_000_000
    assert (await remote.read(ran.job.id, tail=3)).size == 80_000_000
    assert _resident(pid) - before < 60 * MB


def _resident(pid: int) -> int:
    return int(processes.read(pid, "statm").split()[1]) * os.sysconf("SC_PAGESIZE")
