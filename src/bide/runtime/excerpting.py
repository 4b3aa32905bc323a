"""`excerpt`: what of a job's output one answer shows, looked for beside the files."""

from __future__ import annotations

from collections.abc import Mapping

from bide.model.errors import BadRequest
from bide.model.excerpt import LARGEST, Excerpt, Part, Piece, Why
from bide.model.job import Job
from bide.model.output import Stream
from bide.model.phase import Ended
from bide.model.plaintext import clean
from bide.runtime.core import Core
from bide.runtime.reading import kept, slice_at


async def excerpt(
    core: Core, ref: str, stream: Stream | None, budget: int, since: Mapping[Stream, int] | None
) -> Excerpt:
    """Return what is worth showing of a job's output, within a budget of characters."""
    begins = {one: (since or {}).get(one, 0) for one in Stream}
    if not 0 <= budget <= LARGEST:
        raise BadRequest(detail=f"'budget' is from 0 to {LARGEST} characters, not {budget}")
    for one, at in begins.items():
        if at < 0:
            raise BadRequest(detail=f"'since' cannot be negative, and is {at} for {one}")
    job = core.find(ref)
    core.seen.mark(job)
    wanted = tuple(Stream) if stream is None else (stream,)
    written = {one: max(kept(core, job, one).size - begins[one], 0) for one in wanted}
    rooms = _rooms(written, budget)
    return Excerpt(tuple(_part(core, job, one, begins[one], rooms[one]) for one in wanted))


def _rooms(written: Mapping[Stream, int], budget: int) -> dict[Stream, int]:
    """Share the budget: what one stream does not need, the other has."""
    half = budget // len(written)
    spare = sum(max(half - size, 0) for size in written.values())
    return {one: half + spare if size > half else half for one, size in written.items()}


def _part(core: Core, job: Job, stream: Stream, since: int, room: int) -> Part:
    held = kept(core, job, stream)
    start = min(max(since, held.head), held.size)
    first = slice_at(core, job, stream, start, room)
    pieces: list[Piece] = []
    if first.next >= held.size:
        pieces += [Piece(first.offset, first.next, clean(first.data), Why.ALL)] if first.data else []
    else:
        top = first.data[: first.data.rfind(b"\n", 0, room // 4) + 1]
        last = slice_at(core, job, stream, held.size - (room - len(top)), room - len(top))
        cut = last.data.find(b"\n") + 1
        pieces += [Piece(first.offset, first.offset + len(top), clean(top), Why.FIRST)] if top else []
        pieces += [Piece(last.offset + cut, last.next, clean(last.data[cut:]), Why.LAST)] if room else []
    end = max(first.next, pieces[-1].end if pieces else 0)
    return Part(stream, tuple(pieces), first.offset, end, held.size, held.head, isinstance(job.phase, Ended))
