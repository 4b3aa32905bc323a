"""Lines of a piece of output with their bytes: cleaned, long ones cut to a part, repeats and progress folded. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bide.model.plaintext import clean_line

WIDE = 320
"""Bytes of a line that are shown of it at most, but for what is chosen from it."""
_FOLDED = 3
_NUMBERED = 12
_NUMBERED_LAST = 3
_WORD = re.compile(r"[^\W\d_]{3,}")
_TELLING = re.compile(r"(?i)error|fail|fatal|panic|exception|denied|refused|cannot|not found|assert")
_ENDS = re.compile(rb"\r\n|\r|\n")
_PROGRESS = re.compile(
    r"\d\s?%|\[\s*\d+/\d+\]|\(\s*\d+/\d+\)|[#=█━▓▉-]{6,}|\bETA\b|[kMG]i?B/s|^\s*(?:Downloading|Downloaded|Fetching|Compiling|Checking|"
    r"Receiving|Resolving|Unpacking|Extracting|Progress|Get:|Collecting|Pulling|Waiting|\.+$)"
)
_NUMBERS = re.compile(r"[0-9a-f]*\d[0-9a-f]*|[#=█━▓▉>.-]{2,}|\s+")


class Line(Struct, frozen=True):
    """A line, or the part of it that is shown."""

    start: int
    end: int
    text: str
    """Without its newline."""
    whole: bool = True
    """It ends here; what is cut at the end of this part goes on."""
    times: int = 1
    rewritten: bool = False
    """What was written next stands over it: it ended with a carriage return."""

    @property
    def cost(self) -> int:
        """Return how many characters it takes, with what a door writes about the lines that it stands for."""
        return len(self.text) + 1 + (_FOLD if self.times > 1 else 0)


_FOLD = 40
"""About how many characters say that a line stands for many."""


def lines_of(data: bytes, offset: int, *, at: int | None = None, wide: int = WIDE) -> list[Line]:
    """Return the lines of a piece of output that begins at an offset. Of a long line the part around `at` is kept, else its beginning."""
    found: list[Line] = []
    begins = 0
    for match in _ENDS.finditer(data):
        rewritten = not match[0].endswith(b"\n")
        if rewritten and begins == match.start():
            continue  # nothing was written before it: it belongs to what follows
        if found and found[-1].rewritten and begins == match.start():
            # A newline right after a carriage return ends the line that was written last.
            found[-1] = replace(found[-1], end=offset + match.end(), rewritten=False)
        else:
            found.append(_line(data, begins, match.start(), match.end(), offset, at, wide, rewritten=rewritten))
        begins = match.end()
    if begins < len(data):
        found.append(_line(data, begins, len(data), len(data), offset, at, wide))
    return found


def _line(
    data: bytes, begins: int, ends: int, after: int, offset: int, at: int | None, wide: int, *, rewritten: bool = False
) -> Line:
    start = offset + begins
    if ends - begins <= wide:
        return Line(start, offset + after, _text(data[begins:ends]), rewritten=rewritten)
    first = begins
    if at is not None and start <= at < offset + ends:
        # Enough before the place to understand it, and more after it.
        first = min(max(at - offset - wide // 3, begins), max(ends - wide, begins))
        first = begins if first - begins < wide // 4 else first
    last = min(first + wide, ends)
    last = ends if ends - last < wide // 4 else last
    # No character is cut in two.
    if first > begins:
        first = _between_characters(data, first)
    if last < ends:
        last = _between_characters(data, last)
    return Line(offset + first, offset + (after if last == ends else last), _text(data[first:last]), whole=last == ends)


def _between_characters(data: bytes, at: int) -> int:
    """Return where the character begins that a byte belongs to."""
    return next((begin for begin in range(at, max(at - 4, -1), -1) if data[begin] & 0xC0 != 0x80), at)


def _text(data: bytes) -> str:
    text = data.replace(b"\0", b"").strip(b"\r").decode("utf-8", "replace")
    return text if text.isascii() and text.isprintable() else clean_line(text)


def folded(lines: Sequence[Line], *, numbered: bool = False) -> list[Line]:
    """Return the lines with those that repeat, and steps of progress, as one that says how often.

    If `numbered`, long runs of lines that differ in numbers alone become one and the last few of them as well.
    """
    found: list[Line] = []
    at = 0
    while at < len(lines):
        count, shown = _alike(lines, at, _progress), 0
        if numbered and count < _FOLDED:
            count, shown = _alike(lines, at, _numbered), _NUMBERED_LAST
            if count < _NUMBERED:
                count = 1
        if count < _FOLDED:
            found += lines[at : at + count]
        else:
            run = lines[at : at + count - shown]
            # Of progress the last step is worth most; of equal lines any is the same.
            last = run[-1]
            found.append(Line(run[0].start, last.end, last.text, last.whole, sum(one.times for one in run)))
            found += lines[at + count - shown : at + count]
        at += count
    return found


def _alike(lines: Sequence[Line], at: int, common: Callable[[Line], str]) -> int:
    """Return how many lines in a row, from one on, are equal to it or have something in common with it."""
    first, run, key = lines[at], at, None
    while run + 1 < len(lines) and lines[run + 1].start == lines[run].end:
        after = lines[run + 1]
        if after.text != first.text:
            key = common(first) if key is None else key
            if not key or common(after) != key:
                break
        run += 1
    return run - at + 1


def _numbered(line: Line) -> str:
    """Return what lines that differ in numbers alone have in common; nothing for one without words, or that tells of a failure."""
    if not line.whole or not _WORD.search(line.text) or _TELLING.search(line.text):
        return ""
    return _NUMBERS.sub("0", line.text)


def _progress(line: Line) -> str:
    """Return what steps of the same progress have in common; nothing for a line that is no progress."""
    if not line.rewritten and not _PROGRESS.search(line.text):
        return ""
    return _NUMBERS.sub("0", line.text)[:40] or "0"


def cost(lines: Iterable[Line]) -> int:
    """Return how many characters lines take."""
    return sum(line.cost for line in lines)
