"""Chooses what of one or two streams is shown within a budget. Pure: the caller reads, and has looked through the streams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from bide.excerpts.blocks import Lines, Source, block
from bide.excerpts.formats import is_generic
from bide.excerpts.lines import Line, cost, folded, lines_of
from bide.excerpts.ranking import CANDIDATES, Found, at_places, ranked, words_of
from bide.excerpts.scanning import Finder
from bide.model.excerpt import Piece, Why
from bide.model.output import Stream

_SMALL = 2000
"""Of so small a budget the strongest cause comes first."""
_GAP = 105
"""About how many characters a door writes about what is left out between two pieces: its bytes, and the call that reads them."""
_FIRST = 0.06
_LAST = 0.26
_LEAST = 300
_SHORT = 20
_WIDE_LAST = 640
_RARE_SHARE = 0.25
_PLACES_SHARE = 0.4
_SAMPLES = 16
_SAMPLE = 6144
_WHOLE_MOST = 256 * 1024
_TAIL_MOST = 128 * 1024
_WEAK = 4.0
_NOVEL = 10.0
_STRONG = 36.0


class Chosen(Struct, frozen=True):
    """What is shown of the streams."""

    pieces: dict[Stream, tuple[Piece, ...]]
    cause: tuple[Stream, int] | None
    format: str | None


def chosen(sources: Sequence[Source], budget: int) -> Chosen:
    """Return the pieces of each stream: causes, the beginnings and the ends, together within a budget of characters."""
    pick = _Pick(sources, budget)
    if budget < _SMALL:
        pick.first_cause()
    pick.ends()
    pick.places()
    pick.causes()
    pick.more_of_places()
    pick.more_of_ends()
    pieces = {source.stream: pick.pieces(source) for source in sources}
    return Chosen(pieces, pick.cause, pick.format)


def whole(sources: Sequence[Source], budget: int) -> Chosen | None:
    """Return all of the streams, with repeats folded, if that fits."""
    found: dict[Stream, tuple[Piece, ...]] = {}
    for source in sources:
        size = source.end - source.start
        if size > _WHOLE_MOST:
            return None
        # Nothing is cut where everything is shown.
        lines = folded(lines_of(source.read(source.start, size), source.start, wide=max(size, 1)))
        budget -= cost(lines)
        if budget < 0:
            return None
        found[source.stream] = _joined(source, [(line, Why.ALL) for line in lines])
    return Chosen(found, None, None)


class _Pick:
    """Lines that were taken so far, and what is left of the budget."""

    def __init__(self, sources: Sequence[Source], budget: int) -> None:
        self._sources = sources
        self._left = budget
        self._budget = budget
        self._taken: dict[Stream, dict[int, tuple[Line, Why]]] = {source.stream: {} for source in sources}
        finder = Finder()
        shapes = {one.stream: one.scan.shapes(CANDIDATES) if one.end > one.start else [] for one in sources}
        self._found = {
            one.stream: ranked(shapes[one.stream], one.scan.hits, Lines(one).at, finder, _usual(one)) for one in sources
        }
        self._errors = [
            (source, one)
            for source in sources
            for one in at_places(self._found[source.stream], shapes[source.stream], Lines(source).at)
        ]
        self.cause: tuple[Stream, int] | None = None
        self.format: str | None = None

    def first_cause(self) -> None:
        """Take the line that tells most; if it is long, its beginning."""
        strong = [
            (source, one)
            for source in self._sources
            for one in self._found[source.stream]
            if one.rule is not None and one.score >= _NOVEL
        ]
        room = self._left * 2 // 3
        if not strong or room < _SHORT:
            return
        source, one = max(strong, key=lambda row: row[1].score)
        line = one.line
        if line.cost > room:
            data = source.read(line.start, min(line.end - line.start, 2 * _WIDE_LAST))
            line = lines_of(data, line.start, wide=room - 1)[0]
        if self._take(source, line, Why.CAUSE if one.rule is None else one.rule.why):
            self._note(source, one)

    def ends(self) -> None:
        """Take a few lines of the beginning and some of the end of each stream."""
        written = [source for source in self._sources if source.end > source.start]
        for source in written:
            self._take_last(source, max(int(self._budget * _LAST), min(_LEAST, self._budget // 2)) // len(written))
            self._take_first(source, int(self._budget * _FIRST / len(written)))

    def more_of_ends(self) -> None:
        """Use what is left for more of the ends."""
        written = [source for source in self._sources if source.end > source.start]
        for number, source in enumerate(written):
            if self._left > 4 * _GAP:
                self._take_last(source, self._left // (len(written) - number))

    def _take_first(self, source: Source, room: int) -> None:
        data = source.read(source.start, min(room * 3, source.end - source.start))
        for line in folded(lines_of(data, source.start), numbered=True):
            if line.end >= source.start + len(data) and line.end < source.end:
                break
            room -= 0 if self._has(source, line) else line.cost
            if room < _GAP or not self._take(source, line, Why.FIRST):
                break

    def _take_last(self, source: Source, room: int) -> None:
        lines = self._tail(source, room)
        if lines and lines[-1].cost > room > _SHORT:
            wide = min(room, _WIDE_LAST) // 2
            begins = max(source.end - 2 * wide, source.start)
            lines = lines_of(source.read(begins, source.end - begins), begins, at=source.end - 1, wide=wide)[-1:]
        for line in reversed(lines):
            room -= 0 if self._has(source, line) else line.cost
            if room < 0 or not self._take(source, line, Why.LAST):
                break

    def _tail(self, source: Source, room: int) -> list[Line]:
        """Return the last lines; where they are all folded into few, from further above."""
        size = max(4 * room, 16 * 1024)
        while True:
            start = max(source.end - size, source.start)
            data = source.read(start, source.end - start)
            lines = lines_of(data, start, at=source.end - 1)
            if start > source.start and len(lines) > 1:
                lines = lines[1:]
            lines = folded(lines, numbered=True)
            if start == source.start or size >= _TAIL_MOST or sum(line.cost for line in lines) >= room:
                return lines
            size *= 4

    def _has(self, source: Source, line: Line) -> bool:
        return line.start in self._taken[source.stream]

    def _take(self, source: Source, line: Line, why: Why) -> bool:
        taken = self._taken[source.stream]
        if line.start in taken:
            return True
        if line.cost > self._left:
            return False
        self._left -= line.cost
        taken[line.start] = (line, why)
        return True

    def places(self) -> None:
        """Take errors of different places, one line each, before what belongs to any of them."""
        least = self._left - int(self._budget * _PLACES_SHARE)
        for source, one in self._errors:
            if self._left - one.line.cost - _GAP < least:
                return
            if not self._has(source, one.line):
                self._take_all(source, [one.line], Why.CAUSE)

    def more_of_places(self) -> None:
        """Take what belongs to further errors, while there is room."""
        for source, one in self._errors:
            if self._left < self._budget // 10 + 2 * _GAP:
                return
            self._take_with(source, one)

    def causes(self) -> None:
        """Take the lines that tell most, each with what belongs to it, while there is room."""
        found = [(source, one) for source in self._sources for one in self._found[source.stream]]
        found.sort(key=lambda row: -row[1].score)
        seen: Counter[tuple[Stream, int]] = Counter()
        rules: Counter[int] = Counter()
        rare = int(self._budget * _RARE_SHARE)
        keep = self._left // 10
        # Room for lines that no word points out, before all goes to those that say error all the time.
        held = rare * 2 // 3 if any(one.rule is None and one.score >= _NOVEL for _, one in found) else 0
        for source, one in found:
            key = (source.stream, one.shape)
            score = one.score * 0.75 ** seen[key] * 0.93 ** rules[id(one.rule)]
            least = keep + (max(held, 0) if one.rule is not None and score < _STRONG else 0)
            if score < _WEAK or self._left - least < 2 * _GAP:
                continue
            if one.rule is None and rare <= 0:
                continue
            before = self._left
            if not self._take_with(source, one):
                continue
            seen[key] += 1
            rules[id(one.rule)] += 1
            if one.rule is None:
                rare -= before - self._left
                held -= before - self._left
            self._note(source, one)

    def _note(self, source: Source, one: Found) -> None:
        if one.rule is None:
            return
        if self.cause is None and one.rule.why is Why.CAUSE:
            self.cause = (source.stream, one.line.start)
        if self.format is None and not is_generic(one.rule.format):
            self.format = one.rule.format

    def _take_with(self, source: Source, one: Found) -> bool:
        lines = block(source, one)
        why = Why.CAUSE if one.rule is None else one.rule.why
        wanted = [line for line in lines if not self._has(source, line)]
        if not wanted:
            return True
        room = self._left - self._budget // 40
        if sum(line.cost for line in wanted) + _GAP > room:
            # The line itself, if not all that belongs to it.
            wanted = [line for line in wanted if line.start == one.line.start]
            if sum(line.cost for line in wanted) + _GAP > room:
                return False
        self._take_all(source, wanted, why)
        return True

    def _take_all(self, source: Source, lines: Sequence[Line], why: Why) -> None:
        """Take lines, with room for the gaps that they leave."""
        before = self._gaps(source)
        for line in lines:
            self._take(source, line, why)
        self._left -= max(self._gaps(source) - before, 0) * _GAP

    def _gaps(self, source: Source) -> int:
        rows = sorted(self._taken[source.stream].items())
        return sum(1 for (_, (line, _)), (start, _) in pairwise(rows) if start > line.end)

    def pieces(self, source: Source) -> tuple[Piece, ...]:
        """Return what was taken of a stream."""
        return _joined(source, [row for _, row in sorted(self._taken[source.stream].items())])


def _joined(source: Source, rows: Sequence[tuple[Line, Why]]) -> tuple[Piece, ...]:
    """Return lines as pieces: neighbours that are there for the same reason are one."""
    found: list[Piece] = []
    texts: list[str] = []
    at = source.start
    for line, why in rows:
        if line.start < at:
            continue  # a part of a line that is there already
        # What a door says about folded lines stands on a line of its own.
        ends = line.times > 1 or (line.whole and not _unfinished(source, line))
        text = f"{line.text}\n" if ends else line.text
        last = found[-1] if found else None
        joins = last is not None and last.end == line.start and last.why is why and last.times == line.times == 1
        if last is not None and joins and texts[-1].endswith("\n"):
            found[-1] = Piece(last.start, line.end, "", why)
            texts[-1] += text
        else:
            found.append(Piece(line.start, line.end, "", why, line.times))
            texts.append(text)
        at = line.end
    return tuple(replace(piece, text=text) for piece, text in zip(found, texts, strict=True))


def _usual(source: Source) -> Counter[str]:
    """Return how often words are in samples from all over a stream."""
    found: Counter[str] = Counter()
    step = max((source.end - source.start) // _SAMPLES, _SAMPLE)
    for at in range(source.start, source.end, step):
        text = source.read(at, min(_SAMPLE, source.end - at)).decode("utf-8", "replace")
        for line in text.split("\n"):
            found.update(words_of(line))
    return found


def _unfinished(source: Source, line: Line) -> bool:
    """Return whether a line is the last one and has no newline."""
    return line.end == source.end and source.read(source.end - 1, 1) not in (b"\n", b"\r")
