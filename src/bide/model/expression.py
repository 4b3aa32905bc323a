"""Regular expressions from outside. The only importer of `re2`, which matches in time that grows with the text alone.

See docs/decisions/035-expressions-of-re2.md.
"""

import re
from importlib import import_module

from bide.model.errors import BadRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST = 2000
"""The most characters of an expression."""
_DEEPEST = 100
"""The most parentheses within each other."""
_MOST_CLASSES = 16
"""The most Unicode classes: each takes 0.1 ms to compile, and compiling holds the interpreter."""
_MOST_OPTIONAL = 1000
"""The most optional repetitions: `?` is one, `{2,9}` are seven. Compiling takes time with the square of those in a row."""
_FEW_OPTIONAL = 250
_MEMORY = 512 * 1024
"""The most bytes of a compiled expression, with the states that matching keeps. It also limits the time of compiling."""
_MEMORY_FOR_MANY = 256 * 1024
"""The same where more than a few repetitions are optional."""
_STEPS = 2**30
"""The most steps for one line: the size of the compiled expression times the length of the line, about 5 ns each."""
_SHOWN = 60
_OPTIONAL = re.compile(r"\{(\d{0,9}),(\d{1,9})\}|(?<!\()\?")
_REFUSED = ("invalid perl operator", "invalid escape sequence", "bad repetition operator", "invalid repetition size")


class Expression:
    """A compiled regular expression. Make it, and look for it, in a thread."""

    __slots__ = ("_engine", "_size", "_words")

    def __init__(self, words: str) -> None:
        """Compile an expression. Raises BadRequest, which says what is wrong with it."""
        self._words = words
        try:
            self._engine = _compiled(words)
        except ValueError as error:
            raise BadRequest(detail=f"{_shown(words)} {error}") from error
        self._size: int = self._engine.programsize

    def is_in(self, line: bytes) -> bool:
        """Return true if the line matches. Raises BadRequest if line and expression are both too large."""
        return self.place(line) is not None

    def place(self, line: bytes) -> int | None:
        """Return the byte of the line at which it matches first, or `None`. Raises as `is_in` does."""
        if len(line) * self._size > _STEPS:
            detail = f"{_shown(self._words)} is too large for a line of {len(line)} bytes; use a shorter one, with smaller counts"
            raise BadRequest(detail=detail)
        if (found := self._engine.search(line)) is not None:
            return found.start()
        if line.isascii():
            return None
        # A byte that is not UTF-8 matches nothing; in text it is one character, U+FFFD.
        text = line.decode("utf-8", "replace").encode()
        if text == line or (found := self._engine.search(text)) is None:
            return None
        # Such a character is two bytes longer than the byte that it most often stands for.
        return max(found.start() - 2 * text.count("\ufffd".encode(), 0, found.start()), 0)


def check_expression(words: str) -> None:
    """Refuse what Expression refuses. Raises ValueError, which begins with a verb."""
    _compiled(words)


def _compiled(words: str) -> "Any":
    if (fault := _fault(words)) is not None:
        raise ValueError(f"cannot be searched for: {fault}")
    # Only those who search pay for loading it; it has no types.
    re2 = import_module("re2")
    options = re2.Options()
    options.max_mem = _MEMORY if _optional(words) <= _FEW_OPTIONAL else _MEMORY_FOR_MANY
    options.never_capture, options.log_errors = True, False
    try:
        compiled = re2.compile(words.encode(), options)
        re2.purge()  # it would keep the last 128 in memory
    except UnicodeEncodeError as error:
        raise ValueError(f"is not a regular expression: it is not text ({error.reason})") from error
    except re2.error as error:
        raise ValueError(f"is not a regular expression: {_reason(error)}") from error
    return compiled


def _fault(words: str) -> str | None:
    if len(words) > LONGEST:
        return f"it has {len(words)} characters, and {LONGEST} is the most; search for less, or several times"
    if words.lower().count("\\p") > _MOST_CLASSES:
        return f"it has more than {_MOST_CLASSES} Unicode classes (\\p); put them into one [...] that is repeated"
    if (optional := _optional(words)) > _MOST_OPTIONAL:
        return f"it has {optional} optional repetitions (? is one, {{2,9}} are 7), and {_MOST_OPTIONAL} is the most"
    if _depth(words) > _DEEPEST:
        return f"its parentheses are nested more than {_DEEPEST} deep"
    return None


def _optional(words: str) -> int:
    """Count the optional repetitions as they are written; RE2 joins those of neighbours, so that their sum matters."""
    return sum(int(most) - int(least or 0) if most else 1 for least, most in _OPTIONAL.findall(words))


def _depth(words: str) -> int:
    deepest = depth = at = 0
    while at < len(words):
        if words[at] == "\\":
            at += 1
        elif words[at] in "()":
            depth += 1 if words[at] == "(" else -1
            deepest = max(deepest, depth)
        at += 1
    return deepest


def _reason(error: Exception) -> str:
    said = error.args[0].decode("utf-8", "replace")
    if "too large" in said:
        return "compiled, it is too large; repeats within repeats, and large counts, are the usual cause"
    if said.startswith(_REFUSED):
        return f"{said}; it has the syntax of RE2: no look-around, no back references, counts up to 1000"
    return said


def _shown(words: str) -> str:
    return repr(words if len(words) <= _SHOWN else f"{words[:_SHOWN]}...")
