"""`excerpt`: what of a job's output one answer shows. The files are looked through in threads, a slice of time each."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Generator, Mapping, Sequence

from bide.excerpts.blocks import Source
from bide.excerpts.choosing import Chosen, chosen, whole
from bide.excerpts.scanning import Scan
from bide.model.errors import BadRequest
from bide.model.excerpt import LARGEST, Excerpt, Part
from bide.model.job import Job
from bide.model.output import Stream
from bide.model.phase import Ended, Kept
from bide.runtime.core import Core
from bide.runtime.reading import kept
from bide.runtime.searching import Due

_CHUNK = 1024 * 1024
"""So much is looked through at once: about 4 ms."""
_AT_ONCE = 16 * 1024
"""Output of so many bytes that fits is not worth a thread."""
_WHOLE: Mapping[Stream, int] = dict.fromkeys(Stream, 0)


async def excerpt(
    core: Core, ref: str, stream: Stream | None, budget: int, since: Mapping[Stream, int] | None
) -> Excerpt:
    """Return what is worth showing of a job's output, within a budget of characters."""
    begins = _checked(budget, since)
    job = core.find(ref)
    core.seen.mark(job)
    return await selected(core, job, tuple(Stream) if stream is None else (stream,), budget, begins)


async def selected(
    core: Core, job: Job, wanted: Sequence[Stream], budget: int, begins: Mapping[Stream, int] = _WHOLE
) -> Excerpt:
    """Return what is worth showing of some streams, each from an offset on. Nobody counts as told of the job."""
    with contextlib.ExitStack() as files:
        stored = [files.enter_context(_stored(core, job, one, begins[one])) for one in wanted]
        sources = [one.source for one in stored]
        written = sum(source.end - source.start for source in sources)
        found = whole(sources, budget) if written <= min(budget, _AT_ONCE) else None
        if found is None:
            found = await core.searches.through(lambda due: _looked_through(stored, budget, due))
        return Excerpt(tuple(_part(job, one, found) for one in stored), found.cause, found.format)


def _checked(budget: int, since: Mapping[Stream, int] | None) -> dict[Stream, int]:
    if not 0 <= budget <= LARGEST:
        raise BadRequest(detail=f"'budget' is from 0 to {LARGEST} characters, not {budget}")
    begins = {one: (since or {}).get(one, 0) for one in Stream}
    for one, at in begins.items():
        if at < 0:
            raise BadRequest(detail=f"'since' cannot be negative, and is {at} for {one}")
    return begins


class _Stored:
    """A stream as it is now, from an offset on, and how far it was looked through."""

    def __init__(self, fd: int | None, stream: Stream, held: Kept, since: int) -> None:
        self._fd = fd
        self.held = held
        start = min(max(since, held.head), held.size)
        self.source = Source(stream, self.read, start, held.size, Scan(start))

    def read(self, start: int, size: int) -> bytes:
        """Return bytes of the file; none of a job that wrote nothing, or whose output is gone."""
        return b"" if self._fd is None or size <= 0 else os.pread(self._fd, size, start)

    def look_on(self) -> bool:
        """Look through some more; return true at the end."""
        scan, end = self.source.scan, self.source.end
        at = self._next_data(scan.offset)
        if at > scan.offset:
            scan.skip(min(at, end))
        data = self.read(scan.offset, min(_CHUNK, end - scan.offset))
        scan.feed(data)
        return not data

    def _next_data(self, at: int) -> int:
        """Return where there is something after an offset: a file may have holes."""
        if self._fd is None or at >= self.source.end:
            return at
        try:
            return os.lseek(self._fd, at, os.SEEK_DATA)
        except OSError as error:
            return self.source.end if error.errno == errno.ENXIO else at


@contextlib.contextmanager
def _stored(core: Core, job: Job, stream: Stream, since: int) -> Generator[_Stored]:
    held, fd = kept(core, job, stream), None
    # Its folder may go where it belongs between these two.
    for path in (core.folder(job), core.home.job(job.id)):
        with contextlib.suppress(FileNotFoundError):
            fd = os.open(f"{path}/{stream}", os.O_RDONLY | os.O_CLOEXEC)
            break
    try:
        yield _Stored(fd, stream, held, since)
    finally:
        if fd is not None:
            os.close(fd)


def _looked_through(stored: list[_Stored], budget: int, due: Due) -> Chosen | None:
    """Look through the streams; return nothing when the slice of time is over before the end."""
    for one in stored:
        while not one.look_on():
            if due():
                return None
    sources = [one.source for one in stored]
    return whole(sources, budget) or chosen(sources, budget)


def _part(job: Job, stored: _Stored, found: Chosen) -> Part:
    source, held = stored.source, stored.held
    return Part(
        stream=source.stream,
        pieces=found.pieces[source.stream],
        start=source.start,
        next=source.end,
        size=held.size,
        head=held.head,
        ended=isinstance(job.phase, Ended),
    )
