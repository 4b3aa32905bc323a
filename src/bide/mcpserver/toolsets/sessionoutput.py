"""What a job wrote, in the answers of the toolset `sessions`: whole in the data, and in the text as much as a model can use."""

from __future__ import annotations

import json
import re

from msgspec import Struct

from bide.api import Filter
from bide.mcpserver import patience
from bide.mcpserver.gaps import CHARS_PER_TOKEN, text_of
from bide.mcpserver.text import next_call
from bide.mcpserver.tool import Answer, Call
from bide.mcpserver.toolsets.pieces import Piece
from bide.model import schema
from bide.model.excerpt import Part
from bide.model.job import Job
from bide.model.output import Stream
from bide.model.schema import Json

ROOM = 16_000
"""Characters of output in the text of an answer."""
BUDGET = schema.budget("1 MiB of each stream, 4000 tokens in the text", minimum=1)
_WORDS = {Stream.OUT: "stdout", Stream.ERR: "stderr"}
_CHILDREN = 10
_SYNTAX = re.compile(r"^(SyntaxError|IndentationError|TabError): ", re.MULTILINE)
_LANGUAGES = "exec runs Python, or shell code with 'language': 'shell'; it runs no JavaScript."


class Rooms(Struct, frozen=True):
    """How much output an answer has, in characters."""

    text: int
    data: int | None
    """`None` for all that is shown of a stream."""


def rooms(call: Call, given: Json) -> Rooms:
    """Return what the caller asked for; else the data has all, unless this client is known to show it to its model."""
    if "budget" in given:
        room = given["budget"] * CHARS_PER_TOKEN
        return Rooms(room, room)
    return Rooms(ROOM, ROOM if patience.is_known(call.caller.client) else None)


async def told(call: Call, job: Job, data: Json, given: Json, *, is_error: bool) -> Answer:
    """Return the answer about a job whose output is whole in `data`, with an excerpt where there is too much of it."""
    room = rooms(call, given)
    if len(data["stdout"]) + len(data["stderr"]) <= room.text:
        return Answer(json.dumps(data, ensure_ascii=False), data, is_error)
    found = await call.jobs.excerpt(job.id, budget=room.text)
    short = {**data, **{_WORDS[part.stream]: text_of(part, call.mark) for part in found.parts}}
    short["left_out"], short["next"] = _left_out(job, found.parts)
    text = json.dumps(short, ensure_ascii=False)
    return Answer(text, data if room.data is None else short, is_error)


def _left_out(job: Job, parts: tuple[Part, ...]) -> tuple[Json, Json]:
    """Return which bytes are left out, and the call that reads them."""
    gaps = {_WORDS[part.stream]: [list(gap) for gap in part.omitted] for part in parts if part.omitted}
    begins = {_WORDS[part.stream]: part.omitted[0][0] if part.omitted else part.next for part in parts}
    named = {"jobId": job.id} if job.session is None else {"sessionId": job.session, "jobId": job.id}
    return gaps, next_call("getJobOutput", **named, offsets=begins)[1]


async def notes(call: Call, job: Job, out: Piece, err: Piece) -> Json:
    """Return what helps whoever wrote the code: why it shows nothing, or that it is in no language that is run."""
    if job.spec.kind != "python":
        return {}
    if _SYNTAX.search(err.text[-4096:]) and 'File "<string>"' in err.text:
        return {"note": _LANGUAGES}
    if out.text or err.text:
        return {}
    children = (await call.jobs.list(Filter(parent=job.id), limit=_CHILDREN)).jobs
    if not children:
        return {}
    ids = [child.id for child in reversed(children)]
    note = f"The code printed nothing. What its commands wrote is in their results, print(result.stdout), and in their jobs: {', '.join(ids)}."
    return {"note": note}
