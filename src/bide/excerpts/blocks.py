"""Reads single lines of a stream, each with those around it that belong to it. Pure: the caller gives what reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile

from msgspec import Struct

from bide.excerpts.formats import Rule
from bide.excerpts.lines import Line, lines_of
from bide.excerpts.ranking import Found
from bide.excerpts.scanning import Scan
from bide.model.output import Stream

_BLOCK = 4096
_BEFORE = 3072
_AFTER = 6144
_LINE_LONG = 600
_STACK = 128 * 1024
"""So far from an exception a frame of the user is looked for, where those next to it are a library's."""
_CALL = re.compile(r"^\s+at \S")
_FRAME = 2
_FRAMES = 4
_FOREIGN = re.compile(
    r"site-packages/|dist-packages/|/lib/python\d|<frozen |node_modules/|\(node:|\bat node:|^\s*at (?:java|javax|jdk|sun|com\.sun|org\.junit|org\.springframework|"
    r"org\.apache|io\.netty|reactor|org\.gradle|kotlin|scala|akka|System|Microsoft)\.|/usr/(?:local/)?(?:go|lib|share)/|/rustc/|/gems/|"
    r"/vendor/|^\s*\.\.\. \d+ more"
)
"""Frames of a stack that belong to no user."""

Read = Callable[[int, int], bytes]
"""Return the bytes from an offset on, at most so many."""


class Source(Struct, frozen=True):
    """A stream that was looked through."""

    stream: Stream
    read: Read
    start: int
    end: int
    scan: Scan


class Lines:
    """Reads single lines, several of a block with one read."""

    def __init__(self, source: Source) -> None:
        """Read nothing yet."""
        self._source = source
        self._at = -1
        self._block = b""

    def at(self, start: int, place: int) -> Line | None:
        """Return the line that begins at an offset; of a long one the part around a place in it."""
        source = self._source
        if start < source.start or start >= source.end:
            return None
        begins = start
        if place - start > _LINE_LONG:
            begins = place - _LINE_LONG // 2
        if not self._at <= begins <= self._at + len(self._block) - 2 * _LINE_LONG:
            self._at = begins
            self._block = source.read(begins, min(_BLOCK, source.end - begins))
        data = self._block[begins - self._at : begins - self._at + 2 * _LINE_LONG]
        lines = lines_of(data, begins, at=place, wide=_LINE_LONG)
        return lines[0] if lines else None


def block(source: Source, one: Found) -> list[Line]:
    """Return the line with those around it that belong to it."""
    rule = one.rule
    above = _lines_above(source, one.line, _BEFORE) if rule is None or rule.before or rule.back else []
    below = _lines_below(source, one.line, _AFTER) if one.line.whole else []
    before, after = _own(_above(above, rule)), _own(_below(below, rule))
    if rule is not None and rule.back is not None and len(before) < _FRAME:
        far = _run(reversed(_lines_above(source, one.line, _STACK)), rule.back)
        before = _own(far[::-1])[-_FRAMES:] or before
    if rule is not None and below and _CALL.search(below[0].text) and not any(_CALL.search(row.text) for row in after):
        after = _own(_run(_lines_below(source, one.line, _STACK), _CALL))[:_FRAMES] or after
    return [*before, one.line, *after]


def _lines_above(source: Source, line: Line, most: int) -> list[Line]:
    begins = max(line.start - most, source.start)
    found = lines_of(source.read(begins, line.start - begins), begins)
    return found[1:] if begins > source.start else found


def _lines_below(source: Source, line: Line, most: int) -> list[Line]:
    found = lines_of(source.read(line.end, min(most, source.end - line.end)), line.end)
    return found[:-1] if found and found[-1].end < source.end and not found[-1].whole else found


def _run(lines: Iterable[Line], belongs: re.Pattern[str]) -> list[Line]:
    """Return the first lines, as long as they match."""
    return list(takewhile(lambda line: belongs.search(line.text), lines))


def _above(lines: Sequence[Line], rule: Rule | None) -> list[Line]:
    count = 1 if rule is None else rule.before
    if rule is not None and rule.back is not None:
        belongs = 0
        while belongs < min(rule.most, len(lines)) and rule.back.search(lines[-1 - belongs].text):
            belongs += 1
        count = max(count, belongs)
    return list(lines[len(lines) - count :]) if count else []


def _below(lines: Sequence[Line], rule: Rule | None) -> list[Line]:
    if rule is None:
        return list(lines[:1])
    count = rule.after
    if rule.through is not None:
        belongs = 0
        while belongs < min(rule.most, len(lines)) and rule.through.search(lines[belongs].text):
            belongs += 1
        count = max(count, belongs)
    if rule.until is not None:
        stop = next((at for at, line in enumerate(lines[: rule.most]) if rule.until.search(line.text)), None)
        count = count if stop is None else stop + 1
    return list(lines[:count])


def _own(lines: Sequence[Line]) -> list[Line]:
    """Return lines without frames of a stack that are not the user's; a frame in Python has its source below it."""
    kept: list[Line] = []
    foreign = False
    for line in lines:
        frame = line.text.lstrip().startswith(("File ", "at "))
        if _FOREIGN.search(line.text):
            foreign = True
            continue
        if foreign and not frame and line.text.startswith("    "):
            continue
        foreign = False
        kept.append(line)
    return kept
