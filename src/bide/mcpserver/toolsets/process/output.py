"""Bytes of a stream as text that never splits a character, and where to go on. Seed 003's `process.logs` and summaries."""

from __future__ import annotations

import json
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from bide.api import Jobs
from bide.mcpserver import gaps, patience
from bide.mcpserver.gaps import CHARS_PER_TOKEN
from bide.mcpserver.tool import Answer, Call
from bide.mcpserver.toolsets.process.words import answered, noted, state_of
from bide.model.excerpt import Part
from bide.model.job import Job
from bide.model.output import Slice, Stream
from bide.model.schema import Json

MOST = 1024 * 1024
"""Bytes of one stream in one answer, also where no limit is given."""
SUMMARY_MOST = 64 * 1024
SHOWN = 8000
"""Bytes that an answer has where a client that hands answers to a model says nothing of how much."""
CAUSES = 2000
"""Tokens of output that explain a failure."""
_LONGEST_CHARACTER = 4
_WITHIN = bytes(range(0x80, 0xC0))
"""Bytes within a character, that begin none."""
_WORDS = {Stream.OUT: "stdout", Stream.ERR: "stderr"}


class Piece(Struct, frozen=True):
    """A part of one stream, as text."""

    text: str
    offset: int
    next: int
    """Where the rest begins."""
    size: int
    final: bool
    """The job is over, so the size stays."""
    cut: bool = False
    """More was there, and the limit left it out."""


def piece_of(found: Slice, limit: int) -> Piece:
    """At most `limit` bytes of what was read, as whole characters; at least one of them, however small the limit."""
    if limit <= 0:
        return Piece("", found.offset, found.offset, found.size, found.ended, found.size > found.offset)
    data = found.data[:limit]
    at_end = found.offset + len(data) == found.size
    if not (at_end and found.ended):
        data = data[: len(data) - _unfinished(data)]
    if not data and not at_end:
        data = found.data[: max(limit, _character(found.data))]
    after = found.offset + len(data)
    cut = after < found.size and found.offset + min(limit, len(found.data)) < found.size
    return Piece(data.decode("utf-8", "replace"), found.offset, after, found.size, found.ended, cut)


def _unfinished(data: bytes) -> int:
    """How many bytes at the end begin a character that the data does not have whole."""
    for back in range(1, min(_LONGEST_CHARACTER, len(data) + 1)):
        byte = data[-back]
        if byte >= 0xC0:
            return back if back < _width(byte) else 0
        if byte < 0x80:
            return 0
    return 0


def _character(data: bytes) -> int:
    return _width(data[0]) if data else 0


def _width(lead: int) -> int:
    return 4 if 0xF0 <= lead < 0xF8 else 3 if 0xE0 <= lead < 0xF0 else 2 if 0xC0 <= lead < 0xE0 else 1


def next_offset(pieces: Sequence[Piece]) -> int | None:
    """The one number that goes on with all of them and loses nothing; `None` if there is none."""
    furthest = max(piece.next for piece in pieces)
    fits = all(piece.next == furthest or (piece.final and piece.next == piece.size) for piece in pieces)
    return furthest if fits else None


async def logs(call: Call, given: Json) -> Answer:
    """Both streams or one, from an offset on, byte for byte."""
    job = await call.own.job(given["process_id"])
    wanted = [stream for stream, word in _WORDS.items() if given.get("stream", "both") in ("both", word)]
    limit = _limit(call, given, len(wanted))
    data: Json = {"stdout": "", "stderr": "", "stdout_size": 0, "stderr_size": 0, "truncated": False}
    pieces: list[Piece] = []
    notes: list[str] = []
    for stream, word in _WORDS.items():
        offset = int(given.get(f"{word}_offset", given.get("offset", 0)))
        # A whole character may reach past the limit.
        found = await call.jobs.read(job.id, stream=stream, offset=offset, limit=limit + _LONGEST_CHARACTER)
        data[f"{word}_size"] = found.size
        if stream not in wanted:
            continue
        piece = piece_of(found, limit)
        pieces.append(piece)
        data[word] = piece.text
        data["truncated"] = data["truncated"] or piece.cut
        data[f"{word}_next_offset"] = piece.next
        notes += _dropped(piece, offset, word)
        if piece.cut and ("limit" not in given or limit < given["limit"]):
            notes.append(_left_out(job, piece, word))
    # The state is that of before the reads: once it is over, they have had everything.
    data |= {"next_offset": next_offset(pieces), "process_id": job.id, "state": state_of(job)}
    return answered(call, noted(data, notes))


def _limit(call: Call, given: Json, streams: int) -> int:
    """Return how many bytes of each stream an answer has: a client that hands answers to a model gets less unless it says how much."""
    limit = min(int(given.get("limit", MOST)), MOST)
    if "budget" in given:
        return min(limit, given["budget"] * CHARS_PER_TOKEN // streams)
    if "limit" not in given and patience.is_known(call.caller.client):
        return SHOWN // streams
    return limit


def _dropped(piece: Piece, offset: int, word: str) -> list[str]:
    if piece.offset <= offset:
        return []
    return [f"The first {piece.offset} bytes of {word} were dropped to make room; this begins after them."]


def _left_out(job: Job, piece: Piece, word: str) -> str:
    following = _logs_call(job, word, piece.next, min(piece.size - piece.next, MOST))
    return f"Bytes {piece.next} to {piece.size} of {word} are left out; the next: {following}"


def _logs_call(job: Job, word: str, offset: int, limit: int) -> str:
    """Return the call that reads these bytes."""
    arguments = {"process_id": job.id, "stream": word, "offset": offset, "limit": limit}
    return f"process__logs {json.dumps(arguments)}"


def _text_of(job: Job, part: Part, mark: str) -> str:
    """Return an excerpt in which each gap has the call that reads it."""
    word = _WORDS[part.stream]
    return gaps.text_of(part, mark, lambda first, last: _logs_call(job, word, first, last - first))


async def summary(jobs: Jobs, job: Job, stream: Stream, lines: int) -> tuple[str, str]:
    """The last lines of a stream, whole, and a note of what was left out of them, if they were too much."""
    if lines <= 0:
        return "", ""
    found = await jobs.read(job.id, stream=stream, tail=lines, limit=SUMMARY_MOST + 1)
    data = found.data
    if len(data) <= SUMMARY_MOST:
        return data.decode("utf-8", "replace"), ""
    _, _, whole = data.partition(b"\n")
    # A line that is longer than a summary is cut, at a character.
    data = whole or data[-SUMMARY_MOST:].lstrip(_WITHIN)
    word, begin = _WORDS[stream], found.size - len(data)
    where = "at a line" if whole else "in the middle of a line"
    note = (
        f"The last {lines} lines of {word} are more than {SUMMARY_MOST} bytes: {word}_summary begins {where}, "
        f"at byte {begin} of {found.size}. process__logs(process_id='{job.id}', stream='{word}') has all of it."
    )
    return data.decode("utf-8", "replace"), note


async def within(call: Call, job: Job, budget: int) -> dict[str, str]:
    """Return what matters of both streams, within a budget of tokens."""
    found = await call.jobs.excerpt(job.id, budget=budget * CHARS_PER_TOKEN)
    return {f"{_WORDS[part.stream]}_summary": _text_of(job, part, call.mark) for part in found.parts}


async def causes(call: Call, job: Job, lines: int) -> str:
    """Return what explains a failure and is before the last lines; empty if those are all there is."""
    found = await call.jobs.excerpt(job.id, budget=CAUSES * CHARS_PER_TOKEN)
    texts: list[str] = []
    for part in found.parts:
        begins = (await call.jobs.read(job.id, stream=part.stream, tail=lines, limit=SUMMARY_MOST + 1)).offset
        pieces = tuple(piece for piece in part.pieces if piece.end <= begins)
        if part.omitted and pieces:
            text = _text_of(job, replace(part, pieces=pieces, next=pieces[-1].end), call.mark)
            texts.append(f"{_WORDS[part.stream]}:\n{text}")
    return "".join(texts)
