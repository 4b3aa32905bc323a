"""A job as a handle, with what it wrote, in the words of seed 002."""

from __future__ import annotations

from collections.abc import Sequence

from bide.api import Jobs
from bide.model.fitting import EACH, as_json, largest, size_of, sizes
from bide.model.handles import error_of, state_of
from bide.model.job import Job
from bide.model.output import Stream
from bide.model.phase import Ended
from bide.model.plaintext import clean
from bide.model.question import Form
from bide.model.schema import Json
from bide.model.screen import screen_text
from bide.model.units import show_size

LARGEST = EACH
"""Bytes that one answer has at most, as JSON."""
_AROUND = 512
"""About what a handle takes beside its output."""
_NOTE = 200
"""About what the note on what is left out takes."""
_TRIES = 4
_SCREEN_BYTES = 64 * 1024
"""What of a terminal's output is replayed for its screen: many screens full."""


async def rows(jobs: Jobs, found: Sequence[tuple[str, Job]], most: int = LARGEST) -> list[Json]:
    """Return handles by their ids with what they wrote, within one answer: the longest are cut first."""
    written = [await _written_by(jobs, job) for _, job in found]
    allowed = largest(written, most - _AROUND * len(found))
    rooms = [LARGEST if wrote <= allowed else allowed for wrote in written]
    told: list[Json] = []
    for _ in range(_TRIES):
        told = [await row(jobs, job, ref, max(room, 0)) for (ref, job), room in zip(found, rooms, strict=True)]
        # As JSON it may take more: a newline is two characters there.
        taken = [size_of(as_json(one)) for one in told]
        allowed = largest(taken, most)
        if max(taken, default=0) <= allowed:
            break
        rooms = [
            room if size <= allowed else min(room, wrote) * allowed // size * 49 // 50
            for room, size, wrote in zip(rooms, taken, written, strict=True)
        ]
    return told


async def _written_by(jobs: Jobs, job: Job) -> int:
    """Return how many bytes of its output could be shown."""
    if job.spec.pty:
        return _SCREEN_BYTES
    kept = [await jobs.read(job.id, stream=stream, limit=1) for stream in Stream]
    return min(LARGEST, sum(one.size - one.head for one in kept))


async def row(jobs: Jobs, job: Job, ref: str, room: int = LARGEST) -> Json:
    """Return a handle with what it wrote: `content` while it runs, `result` once it stopped, and `error` if that failed."""
    data: Json = {"id": ref, "state": state_of(job), **_asked(job)}
    if job.spec.pty:
        out, err = await screen(jobs, job) if room else "", ""
    else:
        err = await written(jobs, job, Stream.ERR, max(room // 4, 1) if room else 0)
        out = await written(jobs, job, Stream.OUT, max(room - size_of(err), room // 2))
    error = error_of(job, err)
    if error is not None:
        return {**data, "result": error["message"], "error": error, **({"content": out} if out else {})}
    if isinstance(job.phase, Ended):
        data["result"] = out
    elif out:
        data["content"] = out
    return {**data, **({"stderr": err} if err else {})}


def pending_row(job: Job, ref: str, tool: str | None) -> Json:
    """Return a handle that has not stopped; one that asks, with its question and the call that answers it.

    `tool` is the one whose `apply` reaches it; `None` if there is none.
    """
    data: Json = {"id": ref, "state": state_of(job)}
    posed = None if job.facts is None else job.facts.question
    if posed is None:
        return data
    if posed.question.for_people or tool is None:
        whom = "a person" if posed.question.for_people else "an answer"
        return {**data, **_asked(job), "note": f"it waits for {whom}; at a terminal: bide answer {posed.job}"}
    shown = _asked(job) or {"prompt": posed.question.text}
    form = posed.question.form
    said = "|".join(("yes", "no") if form is Form.BOOLEAN else posed.question.options) or "text"
    arguments = {"action": "apply", "id": ref, "input": f"<{said}>"}
    return {**data, **shown, "next": {"tool": tool, "arguments": arguments}}


def _asked(job: Job) -> Json:
    """What it asks; what only a person may see is not shown to the assistant."""
    posed = None if job.facts is None else job.facts.question
    if posed is None or posed.typed_at is not None or posed.question.for_people:
        return {}
    return {"question": {**posed.question.to_json(), "id": posed.id}}


async def written(jobs: Jobs, job: Job, stream: Stream, room: int) -> str:
    """Return what a job wrote to a stream: whole if there is room, else its beginning, its end, and where all of it is.

    Of a job that failed it is what explains the failure, and the end. Without any room it is only where all of it is.
    """
    begun = await jobs.read(job.id, stream=stream, limit=max(room, 1))
    if not room:
        return _note(job, stream, begun.size - begun.head, 0) if begun.size else ""
    parts = [f"[the first {show_size(begun.head)} were dropped]\n"] if begun.head else []
    if begun.next >= begun.size:
        return "".join([*parts, clean(begun.data)])
    if isinstance(job.phase, Ended) and not job.phase.end.success:
        return "".join([*parts, await _explained(jobs, job, stream, room)])
    first = _whole_characters(begun.data[: room // 4])
    last = await jobs.read(job.id, stream=stream, offset=begun.size - (room - room // 4), limit=room)
    gap = (begun.offset + len(first), last.offset)
    note = f"\n{_note(job, stream, begun.size - begun.head, len(first) + len(last.data), gap)}"
    return "".join([*parts, clean(first), note, clean(_whole_characters(last.data))])


async def _explained(jobs: Jobs, job: Job, stream: Stream, room: int) -> str:
    """Return an excerpt; the first gap has the note on all of them."""
    (part,) = (await jobs.excerpt(job.id, stream=stream, budget=max(room - _NOTE, 0))).parts
    shown = sum(size_of(piece.text) for piece in part.pieces)
    note = _note(job, stream, part.next - part.start, shown, part.omitted[0]) if part.omitted else ""
    text, at = "", part.start
    for piece in part.pieces:
        if piece.start > at:
            text += "" if text.endswith("\n") or not text else "\n"
            text += note or f"... [{_gap(job, stream, (at, piece.start))}]\n"
            note = ""
        text += piece.text + (f"... [{piece.times} such lines]\n" if piece.times > 1 else "")
        at = piece.end
    if part.next > at and not note:
        note = f"... [{_gap(job, stream, (at, part.next))}]\n"
    return text + (f"\n{note}" if note else "")


def _note(job: Job, stream: Stream, before: int, after: int, gap: tuple[int, int] | None = None) -> str:
    """Return that output is cut, with the first gap and the resource that has all of it."""
    left = "" if gap is None else f"{_gap(job, stream, gap)}; "
    return f"... [truncated, {sizes(before, after)}; {left}all of it: {_resource(job, stream)}]\n"


def _gap(job: Job, stream: Stream, gap: tuple[int, int]) -> str:
    """Return which bytes are left out, and the resource that begins with them."""
    first, last = gap
    return f"bytes {first} to {last} left out: {_resource(job, stream)}?offset={first}"


def _resource(job: Job, stream: Stream) -> str:
    return f"job://{job.id}/{'stdout' if stream is Stream.OUT else 'stderr'}"


def _whole_characters(data: bytes) -> bytes:
    """Return a piece of output without the parts of characters at its ends."""
    start = next((at for at in range(min(len(data), 4)) if data[at] & 0xC0 != 0x80), 0)
    end = len(data)
    for back in range(1, min(len(data), 4) + 1):
        if data[-back] & 0xC0 != 0x80:
            length = 1 if data[-back] < 0x80 else 2 if data[-back] < 0xE0 else 3 if data[-back] < 0xF0 else 4
            end -= back if length > back else 0
            break
    return data[start:end]


async def screen(jobs: Jobs, job: Job) -> str:
    """The screen of a terminal as it is now."""
    size = (await jobs.read(job.id, limit=1)).size
    start = max(size - _SCREEN_BYTES, 0)
    data = (await jobs.read(job.id, offset=start, limit=_SCREEN_BYTES)).data
    return screen_text(data[data.find(b"\n") + 1 :] if start else data)
