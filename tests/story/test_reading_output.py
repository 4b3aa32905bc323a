"""Somebody looks at what a job wrote, while it runs and afterwards."""

from tests.support.gates import Gate
from tests.support.patience import LONG, end_of

from bide import Stream
from bide.api import Jobs


async def test_successive_reads_give_the_output_byte_for_byte_while_it_is_written(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(f"printf 'h\\xc3'; {gate.wait}; printf '\\xa9llo\\n'", background=True)).job.id

    first = await jobs.read(job, follow=LONG)
    gate.open()
    second = await jobs.read(job, offset=first.next, follow=LONG)
    last = await jobs.read(job, offset=second.next, follow=LONG)

    assert first.data == b"h\xc3"
    assert second.data == b"\xa9llo\n"
    assert last.data == b""
    assert last.eof


async def test_the_last_lines_are_read_without_the_rest(jobs: Jobs) -> None:
    job = (await jobs.run("seq 1000")).job.id

    last = await jobs.read(job, tail=2)

    assert last.data == b"999\n1000\n"
    assert last.offset == last.size - len(last.data)


async def test_matching_lines_are_found_with_their_offsets(jobs: Jobs) -> None:
    job = (await jobs.run("seq 100 >&2")).job.id

    found = await jobs.read(job, stream=Stream.ERR, grep="^5.$")

    assert [match.line for match in found.matches] == [b"%d" % n for n in range(50, 60)]
    offset = found.matches[0].offset
    assert (await jobs.read(job, stream=Stream.ERR, offset=offset, limit=3)).data == b"50\n"


async def test_stdout_and_stderr_can_be_one_stream_in_the_order_written(jobs: Jobs) -> None:
    ran = await jobs.run("echo 1; echo 2 >&2; echo 3; echo 4 >&2", merge=True)

    assert ran.out is not None
    assert ran.out.data == b"1\n2\n3\n4\n"


async def test_output_is_there_long_after_the_end(jobs: Jobs) -> None:
    job = (await jobs.run("echo kept", background=True)).job.id
    await end_of(jobs, job)

    assert (await jobs.read(job)).data == b"kept\n"
