"""Output: bytes with absolute offsets. Text is made at the doors."""

from __future__ import annotations

import re
from enum import StrEnum

from msgspec import Struct

_BLOCK = 4096


class Stream(StrEnum):
    """Which of a job's outputs."""

    OUT = "out"
    ERR = "err"


class Match(Struct, frozen=True):
    """A line that matched, and where it begins."""

    stream: Stream
    offset: int
    line: bytes


class Slice(Struct, frozen=True):
    """A piece of one stream.

    Joining successive slices, each read from the last one's `next`, gives the stream byte for byte.
    """

    stream: Stream
    data: bytes
    offset: int
    """Where `data` begins: the offset asked for, or the head if those bytes were dropped."""
    next: int
    """The offset to go on reading from."""
    size: int
    """How many bytes the job has written to this stream so far."""
    head: int
    """The first offset that is still kept; everything before it was dropped."""
    ended: bool
    """The job has ended, so `size` is final."""
    matches: tuple[Match, ...] = ()
    """With grep: the lines that matched, and `data` is these lines."""

    @property
    def eof(self) -> bool:
        """Nothing is left and nothing will come."""
        return self.ended and self.next >= self.size


def last_lines_start(data: bytes, lines: int) -> int:
    """Where the last `lines` lines of `data` begin; a final newline does not start another line."""
    if lines <= 0:
        return len(data)
    at = len(data) - 1 if data.endswith(b"\n") else len(data)
    # Whole blocks are counted: a step for each line takes long where lines are short.
    while (held := data.count(b"\n", max(at - _BLOCK, 0), at)) < lines:
        at, lines = at - _BLOCK, lines - held
        if at <= 0:
            return 0
    for _ in range(lines):
        at = data.rfind(b"\n", 0, at)
    return at + 1


_PROMPT = re.compile(
    r"(?:[?:>\u203a\u276f\u00bb] ?|[$#)\]] |[\[(](?:y(?:es)?/no?)[^\])]*[\])]:?)$",
    re.IGNORECASE,
)


def looks_like_prompt(line: str) -> bool:
    """Whether an unfinished line of output ends as a question to somebody at a terminal does."""
    return _PROMPT.search(line) is not None


def tail_text(data: bytes, limit: int = 400) -> str:
    """The last unfinished line of `data`, as text: what a prompt looks like."""
    line = data[data.rfind(b"\n") + 1 :]
    line = line[line.rfind(b"\r") + 1 :]
    return line[-limit:].decode("utf-8", "replace")
