"""Options of a CLI that only it has: a table of flags, checked before anything is started, and turned into words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum, auto
from typing import Any, cast

from msgspec import Struct

from bide.model.errors import BadRequest
from bide.model.llm.answer import Note

_CONFIG = re.compile(r"[A-Za-z0-9._]+=[^\r\n]*\Z")


class Shape(Enum):
    """How an option's value becomes words."""

    SWITCH = auto()
    """`--flag`, if true."""
    VALUE = auto()
    """`--flag value`."""
    EACH = auto()
    """`--flag a --flag b`."""
    ATTACHED = auto()
    """`--flag=a --flag=b`: for flags that would take the words after them as well."""
    MANY = auto()
    """`--flag a b`."""
    JOINED = auto()
    """`--flag a,b`."""


def text(value: object) -> str:
    """Any text that cannot be taken for a flag."""
    return _plain(value, lambda word: not word.startswith("-"), "is text that does not begin with '-'")


def free(value: object) -> str:
    """Any text; it follows its flag as a word of its own that the CLI takes as it is."""
    return _plain(value, lambda _: True, "is text")


def setting(value: object) -> str:
    """`key=value`, on one line."""
    return _plain(value, lambda word: bool(_CONFIG.match(word)), "is key=value on one line")


def one_of(*words: str) -> Callable[[object], str]:
    """One of these words."""
    return lambda value: _plain(value, lambda word: word in words, f"is one of {', '.join(words)}")


def whole(least: int, most: int) -> Callable[[object], str]:
    """A whole number within bounds."""
    return lambda value: _number(value, least, most, exact=True)


def number(least: float, most: float) -> Callable[[object], str]:
    """A number within bounds."""
    return lambda value: _number(value, least, most, exact=False)


def as_json(value: object) -> str:
    """An object, or the text of one."""
    if isinstance(value, dict):
        return json.dumps(value)
    return _plain(value, lambda word: word.lstrip().startswith("{"), "is a JSON object")


def _plain(value: object, fits: Callable[[str], bool], what: str) -> str:
    if isinstance(value, str) and "\0" in value:
        raise BadRequest(detail="is text without NUL")
    if not isinstance(value, str) or not value or not fits(value):
        raise BadRequest(detail=what)
    return value


def _number(value: object, least: float, most: float, *, exact: bool) -> str:
    kinds = int if exact else int | float
    if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value <= most:
        raise BadRequest(detail=f"is a {'whole ' if exact else ''}number from {least:g} to {most:g}")
    return f"{value:f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


class Flag(Struct, frozen=True):
    """An option and the flag it becomes."""

    name: str
    flag: str
    shape: Shape = Shape.VALUE
    check: Callable[[object], str] = text
    listed: bool = False
    """Not every version has it: given only if the installed one's help lists it."""

    def words(self, value: object) -> list[str]:
        """The words for a value. Raises BadRequest."""
        if self.shape is Shape.SWITCH:
            if not isinstance(value, bool):
                raise BadRequest(detail=f"option {self.name!r} is true or false", field=self.name)
            return [self.flag] if value else []
        many = self.shape is not Shape.VALUE
        given = cast("list[object]", value) if many and isinstance(value, list | tuple) else [value]
        values = [self._checked(one) for one in given]
        return self._joined(values) if values else []

    def _joined(self, values: list[str]) -> list[str]:
        if self.shape is Shape.JOINED:
            return [self.flag, ",".join(values)]
        if self.shape is Shape.ATTACHED:
            return [f"{self.flag}={one}" for one in values]
        if self.shape is Shape.EACH:
            return [word for one in values for word in (self.flag, one)]
        return [self.flag, *values]

    def _checked(self, value: object) -> str:
        try:
            return self.check(value)
        except BadRequest as error:
            raise BadRequest(detail=f"option {self.name!r} {error}, not {value!r}", field=self.name) from None


def words(
    flags: Iterable[Flag], options: Mapping[str, Any], *, cli: str, has: Callable[[str], bool]
) -> tuple[list[str], list[Note]]:
    """The words for all options, in the order of the table; and which of them the installed version does not know.

    Raises BadRequest.
    """
    flags = tuple(flags)
    known = {flag.name for flag in flags}
    for name in options:
        if name not in known:
            raise BadRequest(detail=f"{cli} has no option {name!r}; known are {', '.join(sorted(known))}")
    found: list[str] = []
    notes: list[Note] = []
    for flag in flags:
        if options.get(flag.name) is None:
            continue
        given = flag.words(options[flag.name])
        if not given:
            continue
        if flag.listed and not has(flag.flag):
            notes.append(Note("flag_unknown", f"The installed {cli} has no {flag.flag}, so it was left out."))
            continue
        found += given
    return found, notes
