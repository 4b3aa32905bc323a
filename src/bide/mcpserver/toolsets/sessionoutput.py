"""What a job wrote, in the answers of the toolset `sessions`: in the text as much as a model can use, or all of it in the data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from bide.api import Filter
from bide.mcpserver.display import Display
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
BUDGET = schema.budget("4000")
_WORDS = {Stream.OUT: "stdout", Stream.ERR: "stderr"}
_CHILDREN = 10
_SYNTAX = re.compile(r"^(SyntaxError|IndentationError|TabError): ", re.MULTILINE)
_LANGUAGES = "exec runs Python, or shell code with 'language': 'shell'; it runs no JavaScript."


def room_of(given: Json) -> int:
    """Return how many characters of output a text has."""
    return given["budget"] * CHARS_PER_TOKEN if "budget" in given else ROOM


def has_data(call: Call, given: Json) -> bool:
    """Return whether an answer with more output than a text has room for has it in its data instead: to no client that is known to show its model one of the two."""
    return "budget" not in given and call.caller.output != Display.TEXT and call.caller.display is not Display.ALONE


def told(data: Json, *, is_error: bool = False) -> Answer:
    """Return an answer whose text alone has the output, as JSON; by choice the data has it, and the text the facts."""
    text = json.dumps(data, ensure_ascii=False)
    return Answer(text, data, is_error, brief=json.dumps(_facts(data), ensure_ascii=False))


def in_data(data: Json) -> Answer:
    """Return an answer whose data has the output; its text says so."""
    where = "stdout and stderr are in the structured content; with 'budget' (tokens) they are in the text"
    return Answer(json.dumps({**_facts(data), "note": where}, ensure_ascii=False), data)


def _facts(data: Json) -> Json:
    return {key: one for key, one in data.items() if key not in _WORDS.values()}


async def excerpted(call: Call, job: Job, data: Json, given: Json, *, is_error: bool) -> Answer:
    """Return the answer about a job whose output is whole in `data`, with an excerpt in its place where there is too much of it."""
    room = room_of(given)
    chosen = call.caller.output == Display.DATA and "budget" not in given
    if chosen or len(data["stdout"]) + len(data["stderr"]) <= room:
        return told(data, is_error=is_error)
    found = await call.jobs.excerpt(job.id, budget=room)
    texts = {
        _WORDS[part.stream]: text_of(part, call.mark, _reads(job, found.parts, part.stream)) for part in found.parts
    }
    short = {**data, **(dict.fromkeys(texts, "") if room == 0 else texts)}
    short["left_out"], short["next"] = _left_out(job, found.parts)
    return told(short, is_error=is_error)


def _reads(job: Job, parts: tuple[Part, ...], stream: Stream) -> Callable[[int, int], str]:
    """Return what names the call that reads a gap of a stream, and nothing of the other one."""
    ends = {_WORDS[part.stream]: part.next for part in parts}

    def reads(first: int, last: int) -> str:
        # Up to the whole budget is shown, of more the half of it.
        tokens = min(-(-(last - first) * 2 // CHARS_PER_TOKEN), BUDGET["maximum"])
        arguments = {**_named(job), "offsets": {**ends, _WORDS[stream]: first}, "budget": tokens}
        return f"getJobOutput {json.dumps(arguments)}"

    return reads


def _named(job: Job) -> Json:
    return {"jobId": job.id} if job.session is None else {"sessionId": job.session, "jobId": job.id}


def _left_out(job: Job, parts: tuple[Part, ...]) -> tuple[Json, Json]:
    """Return which bytes are left out, and the call that reads them."""
    gaps = {_WORDS[part.stream]: [list(gap) for gap in part.omitted] for part in parts if part.omitted}
    begins = {_WORDS[part.stream]: part.omitted[0][0] if part.omitted else part.next for part in parts}
    return gaps, next_call("getJobOutput", **_named(job), offsets=begins)[1]


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
