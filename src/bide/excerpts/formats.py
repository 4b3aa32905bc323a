"""Known formats of output: what their lines say, as data. Each is one file in `formats/`; `generic.toml` is for all output."""

from __future__ import annotations

import functools
import re
import tomllib
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from bide.model.excerpt import Why

_FOLDER = Path(__file__).parent / "formats"
_GENERIC = "generic"
_MOST = 12
"""So many lines are shown of those that follow a line and belong to it, unless its rule says otherwise."""
SURE = 85
"""Lines that a rule gives this weight or more tell it whatever else is in them."""
_NEVER = 255
LEADING = re.compile(
    r"(?:\[?\d{4}-\d\d-\d\d[T ][\d:.,+-]*Z?\]?\s+|\[?\d\d:\d\d:\d\d[.,\d]*\]?\s+|#\d+ \d+\.\d+ )?(?:[\w.-]{1,40}\s*\| )?"
)
"""What a log puts before each line: a time, a number of a build step."""


class Word(Struct, frozen=True):
    """Text to look for in lines."""

    text: bytes
    starts_word: bool
    ends_word: bool
    starts_line: bool
    exact: bool
    weight: int
    cap: int = _NEVER
    sure: bool = False
    """No other word of the line makes it weaker."""


class Rule(Struct, frozen=True, eq=False):
    """What a line with one of some words says, and what belongs to it."""

    format: str
    words: tuple[Word, ...]
    weight: int
    """From 1 to 100: how much it tells about what went wrong."""
    cap: int
    """Lines with these words tell no more than this."""
    why: Why
    match: re.Pattern[str] | None
    before: int
    after: int
    back: re.Pattern[str] | None
    """Lines before it that match belong to it."""
    through: re.Pattern[str] | None
    """Lines after it that match belong to it."""
    until: re.Pattern[str] | None
    """Lines after it belong to it up to one that matches."""
    most: int
    often: bool
    """It tells as much where there are many of its kind."""


class Format(Struct, frozen=True):
    """A format of output, and its rules."""

    name: str
    rules: tuple[Rule, ...]


@functools.cache
def formats() -> tuple[Format, ...]:
    """Return all formats, read from their files once."""
    return tuple(_format(path.stem, tomllib.loads(path.read_text("utf-8"))) for path in sorted(_FOLDER.glob("*.toml")))


def is_generic(name: str) -> bool:
    """Return whether these are the rules for all output, which name no format."""
    return name == _GENERIC


def _format(name: str, found: dict[str, Any]) -> Format:
    return Format(name, tuple(_rule(name, row) for row in found["rules"]))


def _rule(name: str, row: dict[str, Any]) -> Rule:
    known = {
        "find",
        "weight",
        "cap",
        "why",
        "match",
        "before",
        "after",
        "back",
        "through",
        "until",
        "most",
        "often",
        "exact",
    }
    if unknown := set(row) - known:
        raise ValueError(f"{name}.toml: a rule has no {', '.join(sorted(unknown))}")
    sure = row.get("weight", 0) >= SURE and "match" not in row
    weight, cap, exact = row.get("weight", 0), row.get("cap", _NEVER), row.get("exact", False)
    find = cast("list[str]", row["find"])
    return Rule(
        format=name,
        words=tuple(_word(text, weight, cap, exact=exact, sure=sure) for text in find),
        weight=weight,
        cap=cap,
        why=Why(row.get("why", "cause")),
        match=_pattern(row.get("match")),
        before=row.get("before", 2),
        after=row.get("after", 2),
        back=_pattern(row.get("back")),
        through=_pattern(row.get("through")),
        until=_pattern(row.get("until")),
        most=row.get("most", _MOST),
        often=row.get("often", False),
    )


def _word(text: str, weight: int, cap: int, *, exact: bool, sure: bool) -> Word:
    """Read `^` as the beginning of a line, and `*` at either end as any part of a longer word."""
    starts_line, text = text.startswith("^"), text.removeprefix("^")
    starts, text = not text.startswith("*"), text.removeprefix("*")
    ends, text = not text.endswith("*"), text.removesuffix("*")
    return Word(
        text.encode(),
        starts and _is_word(text[0]),
        ends and _is_word(text[-1]),
        starts_line,
        exact,
        weight,
        cap,
        sure,
    )


def _is_word(char: str) -> bool:
    return char.isascii() and (char.isalnum() or char == "_")


def _pattern(text: str | None) -> re.Pattern[str] | None:
    return None if text is None else re.compile(text)
