"""`read`: bytes by absolute offset, as lines, as matches, and while they are written."""

import re
from datetime import timedelta
from typing import Any

import anyio
import pytest
from tests.support.gates import Gate
from tests.support.patience import LONG, end_of

from bide import Stream
from bide.api import Jobs
from bide.model.errors import BadRequest, JobNotFound

SHORT = timedelta(seconds=0.2)


async def test_a_slice_says_where_it_begins_and_where_to_go_on(jobs: Jobs) -> None:
    job = (await jobs.run("printf 0123456789")).job.id
    found = await jobs.read(job, offset=3, limit=4)
    assert (found.data, found.offset, found.next, found.size, found.head) == (b"3456", 3, 7, 10, 0)
    assert found.ended
    assert not found.eof
    assert (await jobs.read(job, offset=7)).eof


async def test_an_offset_beyond_the_end_reads_nothing(jobs: Jobs) -> None:
    job = (await jobs.run("printf 0123456789")).job.id
    found = await jobs.read(job, offset=99)
    assert (found.data, found.offset, found.next) == (b"", 10, 10)
    assert found.eof


async def test_the_streams_are_apart(jobs: Jobs) -> None:
    job = (await jobs.run("echo out; echo err >&2")).job.id
    assert (await jobs.read(job, stream=Stream.OUT)).data == b"out\n"
    assert (await jobs.read(job, stream=Stream.ERR)).data == b"err\n"


async def test_a_silent_job_reads_as_nothing(jobs: Jobs) -> None:
    job = (await jobs.run("true")).job.id
    assert (await jobs.read(job)).eof
    assert (await jobs.read(job, tail=5)).data == b""
    assert (await jobs.read(job, grep="x")).matches == ()


@pytest.mark.parametrize(
    ("lines", "tail"), [(0, b""), (1, b"5"), (2, b"4\n5"), (5, b"1\n2\n3\n4\n5"), (50, b"1\n2\n3\n4\n5")]
)
async def test_the_last_lines_also_when_the_last_has_no_newline(local: Jobs, lines: int, tail: bytes) -> None:
    job = (await local.run(r"printf '1\n2\n3\n4\n5'")).job.id
    found = await local.read(job, tail=lines)
    assert found.data == tail
    assert found.next == found.size == 9


async def test_the_last_lines_of_long_output_stay_within_the_limit(local: Jobs) -> None:
    job = (await local.run("seq 200000")).job.id
    found = await local.read(job, tail=100_000, limit=1000)
    assert len(found.data) == 1000
    assert found.data.endswith(b"\n200000\n")


async def test_matches_go_on_where_the_limit_cut_them(jobs: Jobs) -> None:
    job = (await jobs.run("seq 1000")).job.id
    lines: list[bytes] = []
    offset = 0
    while True:
        found = await jobs.read(job, grep="7$", offset=offset, limit=40)
        lines += [match.line for match in found.matches]
        assert found.data == b"".join(match.line + b"\n" for match in found.matches)
        offset = found.next
        if found.eof:
            break
    assert lines == [b"%d" % n for n in range(1001) if n % 10 == 7]


async def test_a_last_line_without_a_newline_matches_once_the_job_has_ended(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(f"env printf 'whole\\nhal'; {gate.wait}; printf f", background=True)).job.id
    first = await jobs.read(job, follow=LONG)
    assert first.data == b"whole\nhal"
    running = await jobs.read(job, grep="hal|whole")
    assert [match.line for match in running.matches] == [b"whole"]
    gate.open()
    await end_of(jobs, job)
    later = await jobs.read(job, grep="hal", offset=running.next)
    assert [(match.offset, match.line) for match in later.matches] == [(6, b"half")]
    assert later.eof


async def test_matches_keep_bytes_that_are_no_text(jobs: Jobs) -> None:
    job = (await jobs.run(r"printf 'a\xff\x00b\nother\n'")).job.id
    found = await jobs.read(job, grep="^a")
    assert [match.line for match in found.matches] == [b"a\xff\x00b"]


async def test_following_waits_for_the_next_bytes(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(f"{gate.wait}; echo first; {gate.wait}", background=True)).job.id
    gate.open()
    found = await jobs.read(job, follow=LONG)
    assert found.data == b"first\n"
    assert not found.ended


async def test_following_waits_for_the_end(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(gate.wait, background=True)).job.id
    gate.open()
    found = await jobs.read(job, follow=LONG)
    assert found.data == b""
    assert found.eof


async def test_following_gives_up_when_its_time_is_over(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(gate.wait, background=True)).job.id
    found = await jobs.read(job, follow=SHORT)
    assert found.data == b""
    assert not found.ended


async def test_two_followers_of_two_streams_see_each_their_own(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(f"{gate.wait}; echo out; echo err >&2; {gate.wait}", background=True)).job.id
    seen: dict[Stream, bytes] = {}

    async def follow(stream: Stream) -> None:
        seen[stream] = (await jobs.read(job, stream=stream, follow=LONG)).data

    async with anyio.create_task_group() as group:
        for stream in Stream:
            group.start_soon(follow, stream)
        gate.open()
    assert seen == {Stream.OUT: b"out\n", Stream.ERR: b"err\n"}


async def test_joining_reads_of_any_size_gives_the_output_while_it_is_written(jobs: Jobs) -> None:
    job = (await jobs.run('for i in $(seq 300); do echo "line $i \u2713"; done', background=True)).job.id
    joined = b""
    while True:
        found = await jobs.read(job, offset=len(joined), limit=7, follow=LONG)
        assert found.offset == len(joined)
        joined += found.data
        if found.eof:
            break
    assert joined.decode() == "".join(f"line {n} \u2713\n" for n in range(1, 301))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"limit": 0}, "'limit' must be above 0, not 0"),
        ({"offset": -1}, "'offset' cannot be negative, and is -1"),
        ({"tail": -1}, "'tail' cannot be negative, and is -1"),
        ({"grep": "x", "limit": 0}, "'limit' must be above 0, not 0"),
        ({"grep": "x", "offset": -1}, "'offset' cannot be negative, and is -1"),
        ({"grep": "("}, "'(' is not a regular expression: missing ): ("),
    ],
)
async def test_a_read_that_cannot_be_meant_is_refused(local: Jobs, options: dict[str, Any], sentence: str) -> None:
    job = (await local.run("echo x")).job.id
    with pytest.raises(BadRequest, match=re.escape(sentence)):
        await local.read(job, **options)


async def test_an_unknown_job_cannot_be_read(jobs: Jobs) -> None:
    sentence = "no job 'nobody' here, and none is on record as forgotten; list jobs to see which exist"
    with pytest.raises(JobNotFound, match=sentence) as refused:
        await jobs.read("nobody")
    assert refused.value.code == "job_not_found"
