"""Pieces of a job's output as text: no character is cut, and pieces that follow each other join to the whole."""

from __future__ import annotations

from msgspec import Struct

from bide.api import Jobs
from bide.model.output import Slice, Stream
from bide.model.plaintext import decoded

_CONTINUATION = range(0x80, 0xC0)


class Piece(Struct, frozen=True):
    """Some of one stream."""

    text: str
    next: int
    """Where the next one begins, in bytes."""
    missing: int
    """Bytes that were asked for and come before it, but are dropped or left out."""
    left: int
    """Bytes that were there already and come after it."""


async def whole(jobs: Jobs, job: str, stream: Stream, most: int) -> Piece:
    """All of a stream; of a longer one, the last `most` bytes."""
    found = await jobs.read(job, stream=stream, offset=0, limit=most)
    if found.next < found.size:
        found = await jobs.read(job, stream=stream, offset=found.size - most, limit=most)
    return _piece(found, 0)


async def newer(jobs: Jobs, job: str, stream: Stream, offset: int, most: int) -> Piece:
    """What comes after an offset, at most so many bytes of it."""
    return _piece(await jobs.read(job, stream=stream, offset=offset, limit=most), offset)


async def none(jobs: Jobs, job: str, stream: Stream, offset: int) -> Piece:
    """Nothing of what comes after an offset, and how much that is."""
    found = await jobs.read(job, stream=stream, offset=offset, limit=1)
    begin = min(found.offset, found.size)
    return Piece("", begin, max(0, begin - offset), found.size - begin)


def _piece(found: Slice, asked: int) -> Piece:
    data = found.data
    missing = max(0, found.offset - asked)
    if missing:
        cut = _leading(data)
        data, missing = data[cut:], missing + cut
    text, rest = decoded(data, final=found.ended and found.next >= found.size)
    return Piece(text, found.next - rest, missing, max(0, found.size - found.next))


def _leading(data: bytes) -> int:
    """How many bytes at the beginning belong to a character that begins before them."""
    count = next((at for at, byte in enumerate(data[:4]) if byte not in _CONTINUATION), 0)
    return min(count, 3)
