"""`excerpt`: what is worth reading of an output, in pieces with their bytes."""

from itertools import pairwise

import pytest

from bide import Stream
from bide.api import Jobs
from bide.model.errors import BadRequest
from bide.model.excerpt import Why


async def test_output_that_fits_is_whole(jobs: Jobs) -> None:
    job = (await jobs.run("echo one; echo two >&2")).job.id
    found = await jobs.excerpt(job)
    out, err = found.parts
    assert [(part.stream, part.pieces[0].text, part.pieces[0].why) for part in found.parts] == [
        (Stream.OUT, "one\n", Why.ALL),
        (Stream.ERR, "two\n", Why.ALL),
    ]
    assert (out.start, out.next, out.size, out.head, out.ended, out.omitted) == (0, 4, 4, 0, True, ())
    assert (err.next, found.cause, found.format) == (4, None, None)


async def test_a_stream_can_be_named(jobs: Jobs) -> None:
    job = (await jobs.run("echo one; echo two >&2")).job.id
    (part,) = (await jobs.excerpt(job, stream=Stream.ERR)).parts
    assert part.stream is Stream.ERR
    assert part.pieces[0].text == "two\n"


async def test_a_silent_job_has_no_pieces(jobs: Jobs) -> None:
    job = (await jobs.run("true")).job.id
    assert [part.pieces for part in (await jobs.excerpt(job)).parts] == [(), ()]


async def test_only_what_is_new_is_shown_since_an_offset(jobs: Jobs) -> None:
    job = (await jobs.run("echo one; echo two; echo err >&2")).job.id
    out, err = (await jobs.excerpt(job, since={Stream.OUT: 4, Stream.ERR: 4})).parts
    assert out.pieces[0].text == "two\n"
    assert (out.start, out.next, err.pieces, err.next) == (4, 8, (), 4)


async def test_pieces_and_what_is_omitted_cover_every_byte(jobs: Jobs) -> None:
    job = (await jobs.run("seq 50000")).job.id
    found = await jobs.excerpt(job, budget=2000)
    (out, _) = found.parts
    ranges = sorted([*((piece.start, piece.end) for piece in out.pieces), *out.omitted])
    assert ranges[0][0] == out.start == 0
    assert ranges[-1][1] == out.next == out.size
    assert all(one[1] == other[0] for one, other in pairwise(ranges))
    assert sum(len(piece.text) for piece in out.pieces) <= 2000
    assert out.pieces[-1].text.endswith("50000\n")
    assert out.pieces[-1].why is Why.LAST


@pytest.mark.parametrize("options", [{"budget": -1}, {"budget": 2_000_000}, {"since": {Stream.OUT: -1}}])
async def test_what_cannot_be_is_refused_by_name(local: Jobs, options: dict[str, object]) -> None:
    job = (await local.run("true")).job.id
    with pytest.raises(BadRequest) as caught:
        await local.excerpt(job, **options)  # pyright: ignore[reportArgumentType]
    assert f"'{next(iter(options))}'" in str(caught.value)
