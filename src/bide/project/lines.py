"""On which line each key of a TOML file stands: what tomllib does not tell. For text that tomllib has read already."""

import re
import tomllib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Path = tuple[str, ...]

_BLANK = re.compile(r"[ \t]*")
_BLANK_LINES = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:[^\\"]|\\.|"(?!""))*"{3,5}'
    r"|'''(?:[^']|'(?!''))*'{3,5}"
    r'|"(?:[^\\"\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_PLAIN = re.compile(r"[^,\]}#\n]*")


def key_lines(text: str) -> "dict[Path, int]":
    """The line of each key, by its whole path; where a key is written several times, the first."""
    return _Scanner(text).scan()


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._found: dict[Path, int] = {}

    def scan(self) -> "dict[Path, int]":
        table: Path = ()
        self._skip(_BLANK_LINES)
        while self._at < len(self._text):
            if self._next() == "[":
                table = self._header()
            else:
                self._pair(table)
            self._skip(_BLANK_LINES)
        return self._found

    def _header(self) -> "Path":
        line = self._line()
        brackets = 2 if self._text.startswith("[[", self._at) else 1
        self._at += brackets
        table = self._key()
        self._at += brackets
        self._note((), table, line)
        return table

    def _pair(self, table: "Path") -> None:
        line = self._line()
        key = self._key()
        self._note(table, key, line)
        self._at += 1  # the sign
        self._skip(_BLANK)
        self._value(table + key)

    def _key(self) -> "Path":
        """A dotted key; afterwards we are at what follows it and its blanks."""
        parts: list[str] = []
        while True:
            self._skip(_BLANK)
            parts.append(self._part())
            self._skip(_BLANK)
            if self._next() != ".":
                return tuple(parts)
            self._at += 1

    def _part(self) -> str:
        if self._next() in "\"'":
            return str(tomllib.loads(f"key = {self._take(_STRING)}")["key"])
        return self._take(_BARE)

    def _value(self, path: "Path") -> None:
        first = self._next()
        if first == "{":
            self._between("}", lambda: self._pair(path))
        elif first == "[":
            self._between("]", lambda: self._value(path))
        elif first in "\"'":
            self._take(_STRING)
        else:
            self._take(_PLAIN)

    def _between(self, close: str, item: "Callable[[], None]") -> None:
        self._at += 1
        while True:
            self._skip(_BLANK_LINES)
            if self._next() == close:
                self._at += 1
                return
            if self._next() == ",":
                self._at += 1
            else:
                item()

    def _note(self, table: "Path", key: "Path", line: int) -> None:
        """The key, and the tables that a dotted one makes on its way."""
        for length in range(1, len(key) + 1):
            self._found.setdefault(table + key[:length], line)

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _line(self) -> int:
        return self._text.count("\n", 0, self._at) + 1

    def _skip(self, pattern: "re.Pattern[str]") -> None:
        self._take(pattern)

    def _take(self, pattern: "re.Pattern[str]") -> str:
        match = pattern.match(self._text, self._at)
        if match is None or (self._at == match.end() and pattern in (_BARE, _STRING)):
            raise ValueError(f"cannot read on at line {self._line()}")
        self._at = match.end()
        return match.group()
