"""What a job wrote, in the toolset `job`: whole if it is short, else what matters of it and where the rest is."""

from __future__ import annotations

from bide.mcpserver.gaps import CHARS_PER_TOKEN, text_of
from bide.mcpserver.tool import Call
from bide.model import schema
from bide.model.job import Job
from bide.model.output import Stream
from bide.model.units import show_size

INLINE = 12_000
"""Characters of output that are shown whole."""
EXCERPT = 8_000
"""Characters that are shown of more."""
TOGETHER = 48_000
"""Characters that several jobs share in one answer."""
_LEAST = 500
FULL_OUTPUT = "Full output: job://"
"""Stands before the resource that has the rest of a long output."""
BUDGET = schema.budget("all of up to 3000, else 2000")
_WORDS = {Stream.OUT: "stdout", Stream.ERR: "stderr"}


def room_of(budget: int | None, jobs: int = 1) -> int | None:
    """Return how many characters of output each of the jobs in one answer has; `None` for the default of one."""
    if budget is not None:
        return budget * CHARS_PER_TOKEN // max(jobs, 1)
    return None if jobs * INLINE <= TOGETHER else max(TOGETHER // jobs, _LEAST)


async def output_text(call: Call, job: Job, room: int | None = None) -> str:
    """Return all that a job wrote if there is room for it, else what matters of it and where the rest is."""
    if room == 0:
        return ""
    parts: list[str] = []
    most = INLINE if room is None else room
    pieces = [(stream, await call.jobs.read(job.id, stream=stream, limit=4 * most)) for stream in Stream]
    texts = [piece.data.decode("utf-8", "replace") for _, piece in pieces]
    if all(piece.next >= piece.size for _, piece in pieces) and sum(map(len, texts)) <= most:
        return "".join(texts)
    found = await call.jobs.excerpt(job.id, budget=min(most, EXCERPT) if room is None else most)
    for part in found.parts:
        if part.next <= part.start:
            continue
        name = f"{job.id}/{_WORDS[part.stream]}"
        parts.append(text_of(part, call.mark, _begins))
        if part.omitted:
            parts.append(f"[Output truncated. Showing what matters of {show_size(part.size)}.]\n{FULL_OUTPUT}{name}\n")
    return "".join(parts)


def _begins(first: int, _: int) -> str:
    """Return where a gap begins in the resource that has all of the output."""
    return f"the full output has them at ?offset={first}"
