"""Lines of a job's output that match an expression, as a model reads them."""

from __future__ import annotations

import json

import anyio
from msgspec import Struct

from bide.mcpserver.output import Report
from bide.mcpserver.tool import Call
from bide.model.expression import Expression
from bide.model.job import Job
from bide.model.output import Match, Slice, Stream
from bide.model.plaintext import clean_line, decoded
from bide.model.schema import Json

_LONGEST = 500
"""Characters, and bytes, of a line that is shown; of a longer one, those around the match are."""
_BEFORE = 120
"""Bytes before the match that are among them."""
_FRAME = 10
"""Characters of an offset before its line."""


class _Shown(Struct, frozen=True):
    offset: int
    """Where the line begins; where the match does in a line that is cut."""
    line: str
    cut: bool = False


async def show(call: Call, report: Report, job: Job, given: Json, room: int) -> None:
    """Add the lines that match to the report, as far as there is room."""
    stream, pattern = Stream(given.get("stream", "out")), given["grep"]
    found = await call.jobs.read(job.id, stream=stream, grep=pattern, offset=given.get("offset", 0))
    first = found.matches[: room // _FRAME]
    shown = await anyio.to_thread.run_sync(_shown, pattern, first, room) if first else []
    more = await _goes_on(call, job, found)
    report.show(_fenced(stream, call.mark, shown, found, more=more))
    left = found.matches[len(shown) :]
    if left or more:
        after = left[0].offset if left else found.next
        report.say(f"More: logs {json.dumps({'job': job.id, 'stream': str(stream), 'grep': pattern, 'offset': after})}")
    rows = [{"offset": one.offset, "line": one.line} for one in shown]
    report.data |= {"matches": rows, "next": found.next, "size": found.size}


def _fenced(stream: Stream, mark: str, shown: list[_Shown], found: Slice, *, more: bool) -> str:
    count = len(found.matches)
    said = f"{'at least ' if more else ''}{count} line{' matches' if count == 1 else 's match'}"
    said += f", the first {len(shown)}" if len(shown) < count else ""
    said += ", each after its offset" if shown else ""
    said += ", a cut one after that of its match" if any(one.cut for one in shown) else ""
    body = "".join(f"{one.offset}: {one.line}\n" for one in shown)
    return f"--- {stream} {mark}: {said}\n{body}--- end {mark}"


async def _goes_on(call: Call, job: Job, found: Slice) -> bool:
    """Return whether lines come after those that were looked at; the unfinished last one of a running job is none yet."""
    if found.next >= found.size or found.ended:
        return found.next < found.size
    rest = await call.jobs.read(job.id, stream=found.stream, offset=found.next, limit=1 << 20)
    return b"\n" in rest.data


def _shown(pattern: str, matches: tuple[Match, ...], room: int) -> list[_Shown]:
    """Return the lines for which there is room. Runs in a thread, as every search does."""
    expression, shown = Expression(pattern), list[_Shown]()
    for match in matches:
        one = _line(expression, match)
        room -= len(one.line) + _FRAME
        if room < 0:
            break
        shown.append(one)
    return shown


def _line(expression: Expression, match: Match) -> _Shown:
    line = match.line.removesuffix(b"\r")
    if len(line) <= _LONGEST and b"\r" not in line:
        return _Shown(match.offset, clean_line(line.decode("utf-8", "replace")))
    at = min(expression.place(match.line) or 0, len(line))
    # What is written over what came before it in the same line is a line of its own here.
    start = line.rfind(b"\r", 0, at) + 1
    end = line.find(b"\r", at) if b"\r" in line[at:] else len(line)
    if end - start <= _LONGEST:
        return _Shown(match.offset + start, clean_line(line[start:end].decode("utf-8", "replace")))
    low = max(start, at - _BEFORE)
    while low < at and 0x80 <= line[low] < 0xC0:  # inside a character
        low += 1
    high = min(end, low + _LONGEST)
    text, _ = decoded(line[low:high], final=high == end)
    before, after = "…" if low > start else "", "…" if high < end else ""
    return _Shown(match.offset + at, f"{before}{clean_line(text)}{after}", cut=True)
