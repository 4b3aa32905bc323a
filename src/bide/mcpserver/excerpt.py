"""What of a job's output a model is shown: cleaned, folded, and cut to a budget, with what is left out addressable.

Pure. A line of ours inside the output carries a mark that the job cannot know, so that nothing it prints can pose as one.
"""

from __future__ import annotations

import re

from msgspec import Struct

from bide.model.plaintext import clean_line

LINE_MAX = 400
_FOLD = 3
_ERROR = re.compile(
    r"\b(error|errors|exception|traceback|panic|fatal|failed|failure|assert\w*|undefined|cannot|denied|not found)\b",
    re.IGNORECASE,
)


class Line(Struct, frozen=True):
    """One line as it is shown, and the bytes it stands for."""

    text: str
    start: int
    end: int

    @property
    def cost(self) -> int:
        """What it takes of the budget."""
        return len(self.text) + 1


class Excerpt(Struct, frozen=True):
    """A piece of a stream, ready to be shown."""

    text: str
    start: int
    end: int
    omitted: tuple[tuple[int, int], ...] = ()
    """Ranges of bytes between `start` and `end` that are not shown."""


def lines_of(data: bytes, offset: int, mark: str) -> list[Line]:
    """The lines of a piece of output, cleaned, with repeats folded and long ones clamped."""
    lines: list[Line] = []
    at = offset
    for raw in data.split(b"\n") if data else []:
        end = min(at + len(raw) + 1, offset + len(data))
        lines.append(Line(clean_line(raw.decode("utf-8", "replace")), at, end))
        at = end
    if lines and not lines[-1].text and lines[-1].start == lines[-1].end:
        lines.pop()
    return [_clamped(line, mark) for line in _folded(lines, mark)]


def _clamped(line: Line, mark: str) -> Line:
    if len(line.text) <= LINE_MAX:
        return line
    half = LINE_MAX // 2
    left = len(line.text) - 2 * half
    return Line(f"{line.text[:half]}[{mark} {left} characters]{line.text[-half:]}", line.start, line.end)


def _folded(lines: list[Line], mark: str) -> list[Line]:
    folded: list[Line] = []
    at = 0
    while at < len(lines):
        first = lines[at]
        run = at
        while run + 1 < len(lines) and lines[run + 1].text == first.text:
            run += 1
        count = run - at + 1
        if count >= _FOLD:
            folded.append(first)
            folded.append(Line(f"[{mark} the line above {count} times in a row]", lines[at + 1].start, lines[run].end))
        else:
            folded += lines[at : run + 1]
        at = run + 1
    return folded


class Shares(Struct, frozen=True):
    """What of a budget is for the head and what for the tail; the rest is for what looks like an error between them."""

    head: float = 0.25
    tail: float = 0.5


BOTH_ENDS = Shares()


def excerpt(data: bytes, offset: int, budget: int, mark: str, shares: Shares = BOTH_ENDS) -> Excerpt:
    """Head and tail within a budget of characters, with lines that look like an error in between kept in view."""
    lines = lines_of(data, offset, mark)
    end = offset + len(data)
    if sum(line.cost for line in lines) <= budget:
        return Excerpt("".join(f"{line.text}\n" for line in lines), offset, end)
    kept = _chosen(lines, budget, shares)
    parts: list[str] = []
    omitted: list[tuple[int, int]] = []
    at = 0
    for index in [*sorted(kept), len(lines)]:
        if index > at:
            first, last = lines[at].start, lines[index - 1].end
            omitted.append((first, last))
            parts.append(f"[{mark} {index - at} lines, bytes {first} to {last}, left out]\n")
        if index < len(lines):
            parts.append(f"{lines[index].text}\n")
        at = index + 1
    return Excerpt("".join(parts), offset, end, tuple(omitted))


def joined(top: Excerpt, bottom: Excerpt, mark: str) -> Excerpt:
    """Two pieces of one stream as one, with what is left out between them said once."""
    above, below = top.text, bottom.text
    before, after = list(top.omitted), list(bottom.omitted)
    first, last = top.end, bottom.start
    if before and before[-1][1] == top.end:
        first = before.pop()[0]
        above = "".join(above.splitlines(keepends=True)[:-1])
    if after and after[0][0] == bottom.start:
        last = after.pop(0)[1]
        below = "".join(below.splitlines(keepends=True)[1:])
    gap = [(first, last)] if last > first else []
    between = f"[{mark} bytes {first} to {last} left out]\n" if gap else ""
    return Excerpt(above + between + below, top.start, bottom.end, (*before, *gap, *after))


def _chosen(lines: list[Line], budget: int, shares: Shares) -> set[int]:
    kept: set[int] = set()
    head, tail = int(budget * shares.head), int(budget * shares.tail)
    room = _take(lines, range(len(lines) - 1, -1, -1), tail, kept)
    room = _take(lines, range(len(lines)), room + head, kept) if head else room
    errors = [index for index, line in enumerate(lines) if index not in kept and _ERROR.search(line.text)]
    room += budget - head - tail
    for index in errors:
        if lines[index].cost + _MARKER > room:
            break
        room -= lines[index].cost + _MARKER
        kept.add(index)
    return kept


_MARKER = 60
"""About what a line about left-out lines takes."""


def _take(lines: list[Line], order: range, room: int, kept: set[int]) -> int:
    for index in order:
        if index in kept or lines[index].cost > room:
            break
        room -= lines[index].cost
        kept.add(index)
    return room
