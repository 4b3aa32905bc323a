"""What each key of a bide.toml may be. Each function gives the value as a request has it, or raises ValueError."""

import re
from difflib import get_close_matches
from urllib.parse import urlsplit

from bide.model.expression import check_expression

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Kind = Callable[[object], object]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,29}")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGT])")
_LARGEST = 2**53


def text(value: object) -> str:
    """A string that says something."""
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError("must be a text that is not empty")
    return value


def command(value: object) -> "str | list[str]":
    """A text for a shell, or words to execute."""
    try:
        return text(value) if isinstance(value, str) else words(value, least=1)
    except ValueError as error:
        raise ValueError("must be a text for the shell, or a list of words; it cannot be empty") from error


def words(value: "Any", least: int = 0) -> list[str]:
    """A list of strings."""
    if not isinstance(value, list) or len(value) < least:  # pyright: ignore[reportUnknownArgumentType]
        raise ValueError("must be a list of texts")
    return [text(word) for word in value]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def variable(value: object) -> str:
    """The value of an environment variable."""
    if not isinstance(value, str) or "\0" in value:
        raise ValueError("must be a text; write numbers in quotes")
    return value


def port(value: object) -> int:
    """A TCP port."""
    number = whole(value)
    if not 0 < number < 65536:
        raise ValueError(f"cannot be {number}; a port is 1 to 65535")
    return number


def whole(value: object) -> int:
    """A number, 0 or above."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _LARGEST:
        raise ValueError("must be a whole number, 0 or above")
    return value


def count(value: object) -> int:
    """A whole number above 0."""
    if not (found := whole(value)):
        raise ValueError("must be above 0")
    return found


def positive(value: object) -> float:
    """A number above 0."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= _LARGEST:
        raise ValueError("must be a number above 0")
    return value


def duration(value: object) -> int:
    """Milliseconds in `30s`, `1m30s`, `500ms`, or in a number of seconds; 0 is one."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LARGEST:
        return round(value * 1000)
    parts = _DURATION.findall(value) if isinstance(value, str) else []
    if not parts or "".join(number + unit for number, unit in parts) != value:
        raise ValueError("must be a time such as '500ms', '30s', '5m' or '2h'")
    return round(sum(float(number) * _MS[unit] for number, unit in parts))


def lasting(value: object) -> int:
    """A duration above 0."""
    found = duration(value)
    if found <= 0:
        raise ValueError("must be longer than 0")
    return found


def size(value: object) -> int:
    """Bytes in `512M`, `2G`, or in a number."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _LARGEST:
        return value
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("must be a size such as 1048576, '512K', '10M' or '2G'")
    return round(float(match[1]) * 1024 ** (1 + "KMGT".index(match[2])))


def pattern(value: object) -> str:
    """Check a regular expression."""
    found = text(value)
    check_expression(found)
    return found


def url(value: object) -> str:
    """An http URL."""
    found = text(value)
    try:
        parts = urlsplit(found)
        fits = parts.scheme == "http" and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits or not found.isascii() or any(char <= " " for char in found):
        raise ValueError(f"cannot be {found!r}; it must be an http:// URL")
    return found


def one_of(*choices: str) -> "Kind":
    """One of these words."""

    def checked(value: object) -> str:
        if value not in choices:
            raise ValueError(f"must be one of {', '.join(map(repr, choices))}")
        return str(value)

    return checked


def nearest(word: str, known: "list[str]") -> str:
    """What might have been meant, as the end of a sentence."""
    found = get_close_matches(word, known, n=1)
    return f"did you mean {found[0]!r}?" if found else f"known are {', '.join(known)}"
