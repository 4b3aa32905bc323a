"""`read`: bytes by absolute offset, from the files, however much was dropped before them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterator
from datetime import timedelta

import anyio

from bide.api import READ_LIMIT
from bide.keeper import folder
from bide.model.errors import BadRequest
from bide.model.expression import Expression
from bide.model.job import Job
from bide.model.output import Match, Slice, Stream, last_lines_start
from bide.model.phase import Ended, Kept
from bide.runtime.core import Core, size_of
from bide.runtime.hub import heard
from bide.runtime.live import Live
from bide.runtime.searching import Due

_SCAN = 128 * 1024
_LINE_MAX = 256 * 1024
"""A line of a megabyte of bytes that are no text takes more than ten as JSON, and so does each search that found one."""
_MATCHES_BYTES = 256 * 1024
_MATCHES_MOST = 4000
"""So many lines of so many bytes are in one answer: in JSON they take several times as much."""


def kept(core: Core, job: Job, stream: Stream) -> Kept:
    """What a stream holds at this moment."""
    if isinstance(job.phase, Ended):
        return job.phase.end.out if stream is Stream.OUT else job.phase.end.err
    path = core.folder(job)
    page = folder.read_live(path)
    return Kept(page.get(f"{stream}_head", 0), size_of(path, stream))


def _bytes(core: Core, job: Job, stream: Stream, start: int, limit: int) -> bytes:
    if limit <= 0:
        return b""
    # Its folder may go where it belongs between these two.
    for path in (core.folder(job), core.home.job(job.id)):
        try:
            fd = os.open(f"{path}/{stream}", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            return os.pread(fd, limit, start)
        finally:
            os.close(fd)
    return b""


def slice_at(core: Core, job: Job, stream: Stream, offset: int, limit: int) -> Slice:
    """Bytes from an offset, or from the head if the offset was dropped meanwhile."""
    while True:
        before = kept(core, job, stream)
        start = min(max(offset, before.head), before.size)
        data = _bytes(core, job, stream, start, min(limit, before.size - start))
        # The oldest bytes may have been dropped while they were read; then they are zeros, so look again.
        if isinstance(job.phase, Ended) or kept(core, job, stream).head <= start:
            break
    return Slice(
        stream=stream,
        data=data,
        offset=start,
        next=start + len(data),
        size=before.size,
        head=before.head,
        ended=isinstance(job.phase, Ended),
    )


def tail(core: Core, job: Job, stream: Stream, limit: int) -> Slice:
    """The last bytes of a stream."""
    return slice_at(core, job, stream, max(kept(core, job, stream).size - limit, 0), limit)


def _tail_lines(core: Core, job: Job, stream: Stream, lines: int, limit: int) -> Slice:
    last = tail(core, job, stream, READ_LIMIT)
    start = max(last_lines_start(last.data, lines), len(last.data) - limit)
    data = last.data[start:]
    return Slice(stream, data, last.offset + start, last.next, last.size, last.head, last.ended)


@contextlib.contextmanager
def watching(live: Live | None) -> Generator[None]:
    """While inside, the job's output bell rings when there is more."""
    if live is None:
        yield
        return
    live.watch_output()
    try:
        yield
    finally:
        live.unwatch_output()


async def read(
    core: Core, ref: str, stream: Stream, offset: int | None, limit: int, lines: int | None, follow: timedelta | None
) -> Slice:
    """One slice; with `follow`, an empty one only when the time is up or nothing will come."""
    _check(offset or 0, limit, lines or 0)
    limit = min(limit, READ_LIMIT)
    job = core.find(ref)
    core.seen.mark(job)
    if lines is not None:
        return _tail_lines(core, job, stream, lines, limit)
    start = offset or 0
    found = slice_at(core, job, stream, start, limit)
    live = core.live(job)
    if follow is None or found.data or live is None:
        return found
    with anyio.move_on_after(follow.total_seconds()), watching(live), core.watches.watching([job]):
        while not found.data and not live.ended:
            with heard([live.output, live.changed]) as alarm:
                found = slice_at(core, live.job, stream, start, limit)
                if not found.data and not live.ended:
                    await alarm.wait()
    core.seen.mark(live.job)
    return found if found.data else slice_at(core, live.job, stream, start, limit)


def _check(offset: int, limit: int, lines: int = 0) -> None:
    if limit <= 0:
        raise BadRequest(detail=f"'limit' must be above 0, not {limit}")
    for what, given in (("offset", offset), ("tail", lines)):
        if given < 0:
            raise BadRequest(detail=f"{what!r} cannot be negative, and is {given}")


async def grep(core: Core, ref: str, stream: Stream, offset: int, limit: int, pattern: str) -> Slice:
    """Whole lines that match, from an offset on, until the limit in bytes is reached."""
    _check(offset, limit)
    wanted = await core.searches.compiled(pattern)
    job = core.find(ref)
    core.seen.mark(job)
    scanner, matches = LineScanner(core, stream, offset), Matches(min(limit, _MATCHES_BYTES))
    await core.searches.through(lambda due: True if _grep(scanner, job, wanted, matches, due) else None)
    held = kept(core, job, stream)
    start = matches.lines[0].offset if matches.lines else offset
    ended = isinstance(job.phase, Ended)
    return Slice(stream, matches.data(), start, scanner.offset, held.size, held.head, ended, tuple(matches.lines))


class Matches:
    """Lines that matched, as far as there is room for them; the first one fits always."""

    def __init__(self, limit: int) -> None:
        """Begin with none."""
        self.lines: list[Match] = []
        self._room = limit

    def take(self, match: Match) -> bool:
        """Keep a line; return false if there is no room for it."""
        self._room -= len(match.line) + 1
        if self.lines and (self._room < 0 or len(self.lines) == _MATCHES_MOST):
            return False
        self.lines.append(match)
        return True

    def data(self) -> bytes:
        """Return the lines, each with a newline."""
        return b"".join(match.line + b"\n" for match in self.lines)


def _grep(scanner: LineScanner, job: Job, wanted: Expression, matches: Matches, due: Due) -> bool:
    """Go on looking; return true at the end of the stream, or of the room for matches."""
    for match in scanner.lines(job):
        if wanted.is_in(match.line) and not matches.take(match):
            scanner.offset = match.offset
            return True
        if due():
            return False
    return True


class LineScanner:
    """Lines of one stream, as they become complete; remembers how far it came."""

    def __init__(self, core: Core, stream: Stream, offset: int = 0) -> None:
        """Begin at an offset."""
        self.core = core
        self.stream = stream
        self.offset = offset
        """Where the first line not yet given begins."""

    def lines(self, job: Job, *, partial: bool = False) -> Iterator[Match]:
        """Every complete line from here on; at the end of the job also a last one without a newline.

        With `partial`, also an unfinished line, which is given again when there is more of it. A line longer than
        256 KiB is given in pieces.
        """
        pending = b""
        at = self.offset
        while True:
            piece = slice_at(self.core, job, self.stream, at, _SCAN)
            if piece.offset > at:
                pending = b""
                self.offset = piece.offset
            at = piece.next
            *whole, pending = (pending + piece.data).split(b"\n")
            for line in whole:
                yield self._next(line, len(line) + 1)
            if not piece.data:
                break
            if len(pending) > _LINE_MAX:
                yield self._next(pending, len(pending))
                pending = b""
        if pending and isinstance(job.phase, Ended):
            yield self._next(pending, len(pending))
        elif pending and partial:
            yield self._next(pending, 0)

    def _next(self, line: bytes, used: int) -> Match:
        found = Match(self.stream, self.offset, line)
        self.offset += used
        return found
