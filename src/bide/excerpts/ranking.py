"""Ranks lines by how much they tell about what went wrong: the strength of their words times how rare their kind is. Pure."""

from __future__ import annotations

import bisect
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from bide.excerpts.formats import LEADING, SURE, Rule
from bide.excerpts.lines import Line
from bide.excerpts.scanning import Finder, Shape
from bide.model.excerpt import Why

CANDIDATES = 1200
"""So many shapes of lines are looked at again, with expressions."""
_RARE = 12
_RARE_FEW = 40
_NOVEL = 18
_WORD = re.compile(r"[^\W\d_]{3,}")
_NEAR = 1500
_OFTEN_LEAST = 0.5
_EARLY = 1.3
_UNLIKE = 1.6
_FEW = 8
_EXCEPTION = re.compile(r"\b[A-Z]\w*(?:Error|Exception|Failure|Timeout)\b")
_PLACE = re.compile(r"[\w./\\+-]*[\w+-]\.\w{1,5}(?::|\(|:\[)\d+(?:[:,]\d+)?")
"""A file and a line of it, and often a column."""
_PLACES_MOST = 400


class Found(Struct, frozen=True):
    """A line that may be worth showing."""

    line: Line
    score: float
    rule: Rule | None
    """None for a line that is only rare."""
    shape: int
    """Lines of the same shape have the same number."""


def judged(finder: Finder, text: str) -> tuple[int, Rule | None]:
    """Return how much a line tells by its words, and the rule that says so."""
    lead = LEADING.match(text)
    body = text[lead.end() :] if lead else text
    cap, best = 255, None
    for rule in finder.rules(body):
        if rule.match is not None and not rule.match.search(body):
            continue
        cap = min(cap, rule.cap)
        if rule.weight > (0 if best is None else best.weight):
            best = rule
    if best is None:
        return 0, None
    return (best.weight if best.weight >= SURE else min(best.weight, cap)), best


def ranked(
    shapes: Sequence[Shape],
    hits: Callable[[int], int],
    read: Callable[[int, int], Line | None],
    finder: Finder,
    usual: Counter[str],
) -> list[Found]:
    """Return the lines of some shapes, those that tell most first.

    `read` gives the line that begins at an offset, around a place in it; `usual` has the words of samples of the output.
    """
    found: list[Found] = []
    plain = _RARE * min(1.0, _RARE_FEW / max(sum(1 for shape in shapes if not shape.weight), 1))
    for number, shape in enumerate(shapes):
        if not shape.weight:
            found += _plain(shape, number, plain, read, usual)
            continue
        scarce = _rarity(shape.count) * (1 if shape.word is None else _rarity(hits(shape.word)) ** 0.4)
        for order, (start, hit) in enumerate(shape.places):
            line = read(start, start + hit)
            if line is None:
                continue
            weight, rule = judged(finder, line.text)
            if rule is None:
                continue
            least = _OFTEN_LEAST if rule.often and weight == rule.weight else 0.0
            # Of lines alike the first is the cause of the others more often than not.
            found.append(Found(line, weight * max(scarce, least) * (1 - 0.08 * order), rule, number))
    return sorted(_in_company(_unlike_others(_first_of_kind(found), shapes)), key=lambda one: -one.score)


def at_places(found: Iterable[Found], shapes: Sequence[Shape], read: Callable[[int, int], Line | None]) -> list[Found]:
    """Return the errors of compilers and checkers among what was found, one of each place; further ones that are alike come last."""
    errors: dict[str, Found] = {}
    kinds: dict[int, Found] = {}
    for one in found:
        place = _PLACE.search(one.line.text)
        if place is not None and _is_error(one.rule):
            errors.setdefault(place[0], one)
            kinds.setdefault(one.shape, one)
    more = ((one, at) for number, one in kinds.items() for at in shapes[number].more)
    for one, (start, hit) in islice(more, _PLACES_MOST):
        line = read(start, start + hit)
        place = None if line is None else _PLACE.search(line.text)
        if line is not None and place is not None:
            errors.setdefault(place[0], replace(one, line=line))
    return list(errors.values())


def _is_error(rule: Rule | None) -> bool:
    return rule is not None and rule.often and rule.weight >= SURE and rule.why is Why.CAUSE


def _plain(
    shape: Shape, number: int, weight: float, read: Callable[[int, int], Line | None], usual: Counter[str]
) -> list[Found]:
    """Return a line that is only rare; it counts more where its words are rare as well."""
    start, _ = shape.places[0]
    line = read(start, start)
    if line is None or not line.text.strip():
        return []
    words = words_of(line.text)
    new = sum(1 for word in words if usual[word] <= 1)
    novel = _NOVEL * new / len(words) if new > 1 else 0.0
    return [Found(line, max(weight, novel), None, number)]


def words_of(text: str) -> set[str]:
    """Return the words of a text that are no numbers."""
    return set(_WORD.findall(text))


def _rarity(count: int) -> float:
    return 1 / (1 + math.log2(max(count, 1)) * 0.35)


def _first_of_kind(found: Iterable[Found]) -> list[Found]:
    """Give more to the first line of each rule: what follows it may be its consequences."""
    first: dict[int, int] = {}
    rows = list(found)
    for one in rows:
        key = id(one.rule)
        first[key] = min(first.get(key, one.line.start), one.line.start)
    return [
        Found(one.line, one.score * _EARLY, one.rule, one.shape)
        if one.rule is not None and first[id(one.rule)] == one.line.start
        else one
        for one in rows
    ]


def _unlike_others(found: list[Found], shapes: Sequence[Shape]) -> list[Found]:
    """Give more to the few lines of a rule that name another exception than its others, or have another shape."""
    counts: dict[int, Counter[str]] = {}
    counted: set[int] = set()
    for one in found:
        if one.rule is not None and one.shape not in counted:
            counted.add(one.shape)
            counts.setdefault(id(one.rule), Counter())[_kind(one)] += shapes[one.shape].count

    def unlike(one: Found) -> bool:
        kinds = counts.get(id(one.rule))
        return kinds is not None and kinds[_kind(one)] * _FEW * len(kinds) <= kinds.total()

    return [replace(one, score=one.score * _UNLIKE) if unlike(one) else one for one in found]


def _kind(one: Found) -> str:
    named = _EXCEPTION.search(one.line.text)
    return str(one.shape) if named is None else named[0]


def _in_company(found: list[Found]) -> list[Found]:
    """Give more to lines with other unusual lines near them: a failure is told in several, noise in one among many usual ones."""
    places = sorted({one.line.start for one in found})
    rows: list[Found] = []
    for one in found:
        low = bisect.bisect_left(places, one.line.start - _NEAR)
        high = bisect.bisect_right(places, one.line.start + _NEAR)
        rows.append(Found(one.line, one.score * (1 + 0.04 * min(high - low - 1, 6)), one.rule, one.shape))
    return rows
