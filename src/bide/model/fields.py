"""Fields of JSON from outside: each of the kind it should be, or refused by its name."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from typing import Any, cast

from bide.model.errors import BadRequest

Kind = Callable[[object], bool]

LARGEST = 2**53
"""Above this, numbers in JSON are not exact, and none of ours means anything."""


def is_text(value: object) -> bool:
    """A string."""
    return isinstance(value, str)


def is_flag(value: object) -> bool:
    """True or false."""
    return isinstance(value, bool)


def is_number(value: object) -> bool:
    """A number that can be reckoned with: not NaN, not infinite."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST <= value <= LARGEST


def is_whole(value: object) -> bool:
    """A whole number."""
    return is_number(value) and isinstance(value, int)


def is_duration(value: object) -> bool:
    """A number that is not negative."""
    return is_number(value) and cast("float", value) >= 0


def is_count(value: object) -> bool:
    """A whole number that is not negative."""
    return is_whole(value) and cast("int", value) >= 0


def is_texts(value: object) -> bool:
    """An object whose values are strings."""
    return isinstance(value, dict) and set(map(type, cast("dict[str, object]", value).values())) <= {str}


def is_words(value: object) -> bool:
    """A list of strings."""
    return isinstance(value, list) and all(isinstance(word, str) for word in cast("list[object]", value))


def is_object(value: object) -> bool:
    """An object."""
    return isinstance(value, dict)


def given(body: Mapping[str, object], kinds: Mapping[str, Kind], what: str) -> dict[str, Any]:
    """The fields that are there and not null. Raises BadRequest for an unknown or a mistyped one."""
    for key, value in body.items():
        if key not in kinds:
            raise BadRequest(detail=f"{what} has no field {key!r}; known are {', '.join(kinds)}")
        if value is not None and not kinds[key](value):
            raise BadRequest(detail=f"field {key!r} of {what} cannot be {reprlib.repr(value)}{_wanted(kinds[key])}")
    return {key: value for key, value in body.items() if value is not None}


_WANTED: dict[Kind, str] = {
    is_text: "text",
    is_flag: "true or false",
    is_number: f"a number of at most {LARGEST}",
    is_whole: f"a whole number of at most {LARGEST}",
    is_duration: f"a number from 0 to {LARGEST}",
    is_count: f"a whole number from 0 to {LARGEST}",
    is_texts: "an object whose values are text",
    is_words: "a list of text",
    is_object: "an object",
}


def _wanted(kind: Kind) -> str:
    return f"; it is {_WANTED[kind]}" if kind in _WANTED else ""
