"""A job as a handle, with what it wrote, in the words of seed 002."""

from __future__ import annotations

from bide.api import Jobs
from bide.model.handles import error_of, state_of
from bide.model.job import Job
from bide.model.output import Stream
from bide.model.phase import Ended
from bide.model.schema import Json
from bide.model.screen import screen_text
from bide.model.units import show_size

LARGEST = 256 * 1024
"""Bytes of output in one answer."""
_SCREEN_BYTES = 64 * 1024
"""What of a terminal's output is replayed for its screen: many screens full."""


async def row(jobs: Jobs, job: Job, ref: str, room: int = LARGEST) -> Json:
    """A handle with what it wrote: `content` while it runs, `result` once it stopped, and `error` if that failed."""
    data: Json = {"id": ref, "state": state_of(job), **_asked(job)}
    out = await screen(jobs, job) if job.spec.pty else await written(jobs, job, Stream.OUT, room)
    err = await written(jobs, job, Stream.ERR, room // 4)
    error = error_of(job, err)
    if error is not None:
        return {**data, "result": error["message"], "error": error, **({"content": out} if out else {})}
    if isinstance(job.phase, Ended):
        data["result"] = out
    elif out:
        data["content"] = out
    return {**data, **({"stderr": err} if err else {})}


def _asked(job: Job) -> Json:
    """What it asks; what only a person may see is not shown to the assistant."""
    posed = None if job.facts is None else job.facts.question
    if posed is None or posed.typed_at is not None or posed.question.for_people:
        return {}
    return {"question": {**posed.question.to_json(), "id": posed.id}}


async def written(jobs: Jobs, job: Job, stream: Stream, room: int) -> str:
    """What a job wrote to a stream: whole if there is room, else its beginning, its end, and where all of it is."""
    first = await jobs.read(job.id, stream=stream, limit=room)
    where = f"job://{job.id}/{'stdout' if stream is Stream.OUT else 'stderr'}"
    parts = [f"[the first {show_size(first.head)} were dropped]\n"] if first.head else []
    if first.next >= first.size:
        return "".join([*parts, first.data.decode("utf-8", "replace")])
    start = max(first.size - room * 3 // 4, first.next)
    last = await jobs.read(job.id, stream=stream, offset=start, limit=room)
    parts += [
        first.data[: room // 4].decode("utf-8", "replace"),
        f"\n... [truncated, {show_size(first.size)} → {show_size(room)}; all of it: {where}]\n",
        last.data.decode("utf-8", "replace"),
    ]
    return "".join(parts)


async def screen(jobs: Jobs, job: Job) -> str:
    """The screen of a terminal as it is now."""
    size = (await jobs.read(job.id, limit=1)).size
    start = max(size - _SCREEN_BYTES, 0)
    data = (await jobs.read(job.id, offset=start, limit=_SCREEN_BYTES)).data
    return screen_text(data[data.find(b"\n") + 1 :] if start else data)
