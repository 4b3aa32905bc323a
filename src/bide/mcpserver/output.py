"""A job's output as a model reads it: fenced by a mark that the job cannot know, and with the call that reads each omission.

The engine selects what is shown (`Jobs.excerpt`); this module only writes it down.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct, field
from msgspec.structs import replace

from bide.mcpserver.answers import answered
from bide.mcpserver.gaps import CHARS_PER_TOKEN, text_of
from bide.mcpserver.shown import Span, spans_of
from bide.mcpserver.tool import Answer, Call
from bide.model.excerpt import LARGEST, Excerpt, Part, Piece, Why
from bide.model.job import Job
from bide.model.output import Slice, Stream
from bide.model.phase import Ended
from bide.model.plaintext import clean, decoded
from bide.model.schema import Json
from bide.model.units import show_size

BUDGET = 2000
"""Tokens of output in the answer about a job that failed, and in what `logs` shows."""
GOES_ON = 1000
"""Tokens of output in the answer about a job that still runs."""
WELL = 400
"""Tokens up to which the output of a success is shown whole; of more, only the last lines are."""
SEVERAL = 600
"""Tokens of output in one answer about several jobs."""
WELL_OF_SEVERAL = 40
"""The same as WELL, for each job of several."""
_LINE = 200
_LAST = {1: 2, 2: 1}
"""How many last lines of a success are shown of each stream, by the number of streams it wrote to."""


class Report:
    """Collects an answer whose output is carried by its text or by its data."""

    def __init__(self) -> None:
        """Start with nothing said."""
        self._lines: list[str] = []
        self._brief: list[str] = []
        self.data: Json = {}

    def say(self, sentence: str) -> None:
        """Add a sentence of ours."""
        if sentence:
            self._lines.append(sentence)
            self._brief.append(sentence)

    def show(self, written: str) -> None:
        """Add what a job wrote."""
        if written:
            self._lines.append(written)

    def answer(self) -> Answer:
        """Return what was collected."""
        return Answer("\n".join(self._lines), self.data, brief="\n".join(self._brief), facts=facts_of(self.data))


class View(Struct, frozen=True):
    """What an answer shows of one job."""

    text: str = ""
    data: Json = field(default_factory=dict[str, Any])
    said: str = ""
    """A sentence of ours beside it."""


def logs_call(job: Job, stream: Stream, offset: int, limit: int | None = None) -> str:
    """Return the exact call that reads these bytes."""
    arguments: Json = {"job": job.id}
    if stream is not Stream.OUT:
        arguments["stream"] = str(stream)
    arguments["offset"] = offset
    if limit is not None:
        arguments["limit"] = limit
    return f"logs {json.dumps(arguments)}"


def is_well(job: Job) -> bool:
    """Return whether a job ended as it should."""
    return isinstance(job.phase, Ended) and job.phase.end.success


async def view(call: Call, job: Job, budget: int | None, *, several: int = 0) -> View:
    """Return what an answer about a job shows: its new output, or of a request to an LLM the answer.

    Without a budget of the caller's, a success gets a few lines and a failure gets what explains it; `several` jobs
    that share an answer share its budget.
    """
    if budget == 0:
        return View()
    if job.spec.ask is not None and isinstance(job.phase, Ended):
        text, data = answered(await call.jobs.llm.answer(job.id), budget or BUDGET, call.mark)
        return View(text, {"answer": data})
    if is_well(job) and budget is None:
        return await _of_success(call, job, WELL_OF_SEVERAL if several else WELL)
    share = SEVERAL // max(several, 1) if several else BUDGET if isinstance(job.phase, Ended) else GOES_ON
    return await selected(call, job, budget or share, again=budget is not None)


async def selected(call: Call, job: Job, budget: int, stream: Stream | None = None, *, again: bool = False) -> View:
    """Return what is worth reading of a job's new output, within a budget of tokens.

    `again` selects also among what answers with a smaller budget left out.
    """
    since = call.shown.since(job.id, budget if again else 0)
    found = await call.jobs.excerpt(job.id, stream=stream, budget=budget * CHARS_PER_TOKEN, since=since)
    found = await _complete(call, job, found)
    call.shown.show(job.id, spans_of(found.parts, budget))
    return _told(call, job, found, since)


async def _complete(call: Call, job: Job, found: Excerpt) -> Excerpt:
    """Return an excerpt without a character of which the job has not yet written the last byte."""
    return replace(found, parts=tuple([await _whole(call, job, part) for part in found.parts]))


async def _whole(call: Call, job: Job, part: Part) -> Part:
    last = part.pieces[-1] if part.pieces else None
    if part.ended or last is None or last.end < part.size or not last.text.endswith("\ufffd"):
        return part
    read = await call.jobs.read(job.id, stream=part.stream, offset=max(last.end - 3, last.start), limit=3)
    _, rest = decoded(read.data[: last.end - read.offset], final=False)
    if not rest:
        return part
    kept = replace(last, end=last.end - rest, text=last.text[:-1])
    return replace(part, pieces=(*part.pieces[:-1], *((kept,) if kept.text else ())), next=part.next - rest)


async def _of_success(call: Call, job: Job, budget: int) -> View:
    since = call.shown.since(job.id)
    found = await call.jobs.excerpt(job.id, budget=budget * CHARS_PER_TOKEN, since=since)
    if not any(part.omitted for part in found.parts):
        call.shown.show(job.id, spans_of(found.parts, budget))
        return _told(call, job, found, since)
    wrote = [part for part in found.parts if part.next > part.start]
    # A larger budget than none selects again: all but the last lines was left out.
    call.shown.show(job.id, {part.stream: Span(part.next, part.start, part.start) for part in wrote})
    lines = [f"{part.stream}| {line}" for part in wrote for line in _last_lines(part, _LAST[len(wrote)])]
    sizes = " and ".join(f"{show_size(part.size)} on {part.stream}" for part in wrote)
    said = f"It wrote {sizes}; the rest: logs {json.dumps({'job': job.id})}"
    data = {str(part.stream): {"text": "", "size": part.size, "next": part.start} for part in wrote}
    for part in wrote:
        data[str(part.stream)]["text"] = "".join(f"{line}\n" for line in _last_lines(part, _LAST[len(wrote)]))
    return View("\n".join(lines), data, said)


def _last_lines(part: Part, most: int) -> list[str]:
    lines = [line for line in part.pieces[-1].text.split("\n") if line.strip()] if part.pieces else []
    return [line if len(line) <= _LINE else f"…{line[-_LINE:]}" for line in lines[-most:]]


def _told(call: Call, job: Job, found: Excerpt, since: Mapping[Stream, int]) -> View:
    """Write down an excerpt, and where nothing is new say so instead."""
    wrote = [part for part in found.parts if part.next > part.start]
    if wrote:
        return View(fenced(job, wrote, call.mark), {str(part.stream): data_of(part) for part in wrote})
    seen = [f"byte {part.next} of {part.stream}" for part in found.parts if since.get(part.stream)]
    if not seen:
        return View()
    stream = next(part.stream for part in found.parts if since.get(part.stream))
    data: Json = {str(part.stream): data_of(part) for part in found.parts if since.get(part.stream)}
    more = f"again: {logs_call(job, stream, 0)}"
    if (least := call.shown.budget(job.id)) is not None:
        larger: Json = {} if least < BUDGET else {"budget": min(4 * least, LARGEST // CHARS_PER_TOKEN)}
        more = f"more of it: logs {json.dumps({'job': job.id, **larger})}"
    return View("", data, f"Nothing new since {' and '.join(seen)}; {more}")


def fenced(job: Job, parts: list[Part], mark: str) -> str:
    """Return parts of output between lines that the job cannot forge."""
    return "".join(f"--- {part.stream} {mark}: {_extent(part)}\n{_body(job, part, mark)}" for part in parts) + (
        f"--- end {mark}"
    )


def _extent(part: Part) -> str:
    dropped = f"the first {show_size(part.head)} were dropped; " if part.head and part.start <= part.head else ""
    if part.start == 0 and part.next == part.size and not part.omitted:
        return f"bytes 0 to {part.next}, all of it"
    return f"{dropped}bytes {part.start} to {part.next} of {part.size}"


def _body(job: Job, part: Part, mark: str) -> str:
    text = text_of(part, mark, lambda first, last: logs_call(job, part.stream, first, last - first))
    return text if text.endswith("\n") or not text else f"{text}\n"


def data_of(part: Part) -> Json:
    """Return a part as data."""
    data: Json = {
        "text": "".join(piece.text for piece in part.pieces),
        "offset": part.start,
        "next": part.next,
        "size": part.size,
    }
    if part.omitted:
        data["omitted"] = [list(gap) for gap in part.omitted]
    if part.head and part.start <= part.head:
        data["dropped"] = part.head
    return data


def whole_characters(found: Slice) -> Slice:
    """Return bytes that were read without a character at their end that is cut there, unless the job ended so."""
    _, rest = decoded(found.data, final=found.eof)
    if not rest or (rest == len(found.data) and found.next < found.size):
        return found
    return replace(found, data=found.data[:-rest], next=found.next - rest)


def part_of(found: Slice, asked: int | None, room: int) -> Part:
    """Return bytes that were read as a part: at most `room` of them, the last ones unless an offset was `asked`."""
    data, start, end = found.data, found.offset, found.next
    if room == 0:
        data = b""
    elif asked is None and len(data) > room:
        # The newline at the very end begins no line.
        cut = data.find(b"\n", len(data) - room, len(data) - 1) + 1 or len(data) - room
        data, start = data[cut:], start + cut
    pieces = (Piece(start, end, clean(data), Why.ALL),) if data else ()
    return Part(found.stream, pieces, found.offset, end, found.size, found.head, found.ended)


_STREAMS = ("out", "err", "answer")


def facts_of(data: Json) -> Json:
    """Return an answer's data without what a job wrote, for clients to whom the text carries that."""
    return {key: _fact(key, value) for key, value in data.items() if key != "matches"}


def _fact(key: str, value: object) -> object:
    if key in _STREAMS and isinstance(value, dict):
        return {name: one for name, one in cast("Json", value).items() if name != "text"}
    if key == "ended" and isinstance(value, list):
        return [facts_of(row) for row in cast("list[Json]", value)]
    return value
