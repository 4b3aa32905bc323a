"""Excerpts: what of a job's output one answer shows, as pieces with their bytes. Text is safe to show; marks are the doors'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from bide.model.output import Stream

BUDGET = 8000
"""Characters of an excerpt if the caller does not say: 2,000 tokens."""
LARGEST = 1_000_000
"""The most characters of an excerpt."""


class Why(StrEnum):
    """What a piece is in an excerpt for."""

    ALL = "all"
    """The whole output fits."""
    FIRST = "first"
    """The beginning."""
    CAUSE = "cause"
    """Lines that say what went wrong, or are rarer than the others, with the lines around them."""
    SUMMARY = "summary"
    """A program's own summary, as of a test runner."""
    LAST = "last"
    """The end."""


class Piece(Struct, frozen=True):
    """Lines in a row, cleaned of escape sequences. Without a newline at its end the line is cut there, and the next piece goes on with it."""

    start: int
    end: int
    """The bytes it stands for; those between it and the next piece are left out."""
    text: str
    why: Why
    times: int = 1
    """How many lines in a row it stands for: they are equal, or differ in numbers alone, and one is shown."""


class Part(Struct, frozen=True):
    """What an excerpt shows of one stream."""

    stream: Stream
    pieces: tuple[Piece, ...]
    """In the order of the stream."""
    start: int
    """Where it begins: the offset that was asked for, or the head if those bytes were dropped."""
    next: int
    """Where it ends: the offset to ask for next, so that only what is new is shown."""
    size: int
    """How many bytes the job has written to this stream so far."""
    head: int
    """The first offset that is still kept; everything before it was dropped."""
    ended: bool
    """The job has ended, so `size` is final."""

    @property
    def omitted(self) -> tuple[tuple[int, int], ...]:
        """Return the ranges of bytes from `start` to `next` that no piece stands for."""
        gaps: list[tuple[int, int]] = []
        at = self.start
        for piece in self.pieces:
            if piece.start > at:
                gaps.append((at, piece.start))
            at = piece.end
        return (*gaps, (at, self.next)) if self.next > at else tuple(gaps)


class Excerpt(Struct, frozen=True):
    """What one answer shows of a job's output."""

    parts: tuple[Part, ...]
    """One for each stream that was asked for, `out` first."""
    cause: tuple[Stream, int] | None = None
    """Where the line begins that tells most about what went wrong; none was found in what fits whole, or in output without such lines."""
    format: str | None = None
    """The tool whose output it is, as `pytest`, if one is known by its lines."""


def excerpt_to_json(found: Excerpt) -> dict[str, Any]:
    """Return the wire form of an excerpt."""
    cause = None if found.cause is None else {"stream": str(found.cause[0]), "offset": found.cause[1]}
    return {"parts": [_part_to_json(part) for part in found.parts], "cause": cause, "format": found.format}


def _part_to_json(part: Part) -> dict[str, Any]:
    return {
        "stream": str(part.stream),
        "pieces": [
            {"start": one.start, "end": one.end, "text": one.text, "why": str(one.why), "times": one.times}
            for one in part.pieces
        ],
        "omitted": [list(gap) for gap in part.omitted],
        "start": part.start,
        "next": part.next,
        "size": part.size,
        "head": part.head,
        "ended": part.ended,
    }


def excerpt_from_json(body: Mapping[str, Any]) -> Excerpt:
    """Return the excerpt that a wire form stands for."""
    cause = body["cause"]
    return Excerpt(
        tuple(_part_from_json(part) for part in body["parts"]),
        None if cause is None else (Stream(cause["stream"]), cause["offset"]),
        body["format"],
    )


def _part_from_json(body: Mapping[str, Any]) -> Part:
    rows: Sequence[Mapping[str, Any]] = body["pieces"]
    pieces = tuple(Piece(one["start"], one["end"], one["text"], Why(one["why"]), one["times"]) for one in rows)
    numbers = {key: body[key] for key in ("start", "next", "size", "head", "ended")}
    return Part(stream=Stream(body["stream"]), pieces=pieces, **numbers)
