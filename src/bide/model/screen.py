"""What a terminal would show of a job's output: a screen of 24 rows and 80 columns, as text. Pure.

Colours and styles are left out; so is what has scrolled away.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

ROWS, COLUMNS = 24, 80
TERMINAL = {"LINES": str(ROWS), "COLUMNS": str(COLUMNS)}
"""The environment of what runs in a terminal whose screen is drawn."""
_TOKENS = re.compile(
    r"\x1b\[(?P<args>[0-?]*)[ -/]*(?P<final>[@-~])"
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[PX^_][^\x1b]*(?:\x1b\\)?|\x1b[ -/]+[0-~]"
    r"|\x1b(?P<escape>[0-~])"
    r"|(?P<text>[^\x00-\x1f\x7f-\x9f]+)"
    r"|(?P<control>[\x00-\x1f\x7f-\x9f])"
)
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[ -/]*)\Z")
_OTHER_SCREEN = ("?47", "?1047", "?1049")
_WIDE = ("W", "F")


def screen_text(data: bytes) -> str:
    """The screen after this output: rows without their trailing blanks, and no blank rows at the end."""
    screen = _Screen()
    for token in _TOKENS.finditer(_UNFINISHED.sub("", data.decode("utf-8", "replace"))):
        screen.take(token)
    return "\n".join("".join(row).rstrip() for row in screen.rows).rstrip("\n")


class _Screen:
    """Cells, a cursor, and the region that scrolls."""

    def __init__(self) -> None:
        self.rows = _blank()
        self._row = self._column = 0
        self._top, self._bottom = 0, ROWS - 1
        self._saved = (0, 0)
        self._behind: list[list[str]] | None = None
        """The usual screen, while a program shows another."""
        self._moves: dict[str, Callable[[int], None]] = {
            "A": lambda n: self._go(self._row - n, self._column),
            "B": lambda n: self._go(self._row + n, self._column),
            "C": lambda n: self._go(self._row, self._column + n),
            "D": lambda n: self._go(self._row, min(self._column, COLUMNS - 1) - n),
            "E": lambda n: self._go(self._row + n, 0),
            "F": lambda n: self._go(self._row - n, 0),
            "G": lambda n: self._go(self._row, n - 1),
            "d": lambda n: self._go(n - 1, self._column),
            "L": lambda n: self._shift(self._row, self._bottom, -n),
            "M": lambda n: self._shift(self._row, self._bottom, n),
            "S": lambda n: self._shift(self._top, self._bottom, n),
            "T": lambda n: self._shift(self._top, self._bottom, -n),
            "@": self._insert,
            "P": self._delete,
            "X": lambda n: self._wipe(self._row, self._column, self._column + n),
        }
        """Sequences with one number, which is 1 if it is not given."""
        self._controls: dict[str, Callable[[], object]] = {
            "\r": lambda: self._go(self._row, 0),
            "\n": self._down,
            "\x0b": self._down,
            "\x0c": self._down,
            "\b": lambda: self._go(self._row, min(self._column, COLUMNS - 1) - 1),
            "\t": lambda: self._go(self._row, (self._column // 8 + 1) * 8),
        }
        self._escapes: dict[str, Callable[[], object]] = {
            "7": self._save,
            "8": self._restore,
            "D": self._down,
            "E": lambda: (self._go(self._row, 0), self._down()),
            "M": self._up,
            "c": self._reset,
        }

    def take(self, token: re.Match[str]) -> None:
        """Do what one piece of output says."""
        if token["text"]:
            self._write(token["text"])
        elif token["control"]:
            self._controls.get(token["control"], _nothing)()
        elif token["escape"]:
            self._escapes.get(token["escape"], _nothing)()
        elif token["final"]:
            self._sequence(token["args"], token["final"])

    def _sequence(self, args: str, final: str) -> None:
        if final in "hl":
            if any(one in _OTHER_SCREEN for one in _modes(args)):
                self._other(shown=final == "h")
            return
        numbers = [int(part) if part.isdecimal() else 0 for part in args.split(";")]
        if final in self._moves:
            self._moves[final](min(max(numbers[0], 1), 1000))
        elif final in "Hf":
            self._go(max(numbers[0], 1) - 1, max([*numbers, 0][1], 1) - 1)
        elif final in "JK":
            self._erase(numbers[0], whole=final == "J")
        elif final == "r":
            self._region(numbers[0], [*numbers, 0][1])
        elif final in "su":
            self._save() if final == "s" else self._restore()

    def _write(self, text: str) -> None:
        if not text.isascii():
            for char in text:
                self._write_one(char)
            return
        while text:
            self._wrap(1)
            fits = min(COLUMNS - self._column, len(text))
            self.rows[self._row][self._column : self._column + fits] = text[:fits]
            self._column += fits
            text = text[fits:]

    def _write_one(self, char: str) -> None:
        kind = unicodedata.category(char)
        if kind in ("Mn", "Me"):
            self.rows[self._row][max(min(self._column, COLUMNS) - 1, 0)] += char
        elif kind not in ("Cf", "Cc", "Zl", "Zp"):
            width = 2 if unicodedata.east_asian_width(char) in _WIDE else 1
            self._wrap(width)
            self.rows[self._row][self._column : self._column + width] = [char, ""][:width]
            self._column += width

    def _wrap(self, width: int) -> None:
        if self._column + width > COLUMNS:
            self._column = 0
            self._down()

    def _go(self, row: int, column: int) -> None:
        self._row = min(max(row, 0), ROWS - 1)
        self._column = min(max(column, 0), COLUMNS - 1)

    def _down(self) -> None:
        if self._row == self._bottom:
            self._shift(self._top, self._bottom, 1)
        else:
            self._row = min(self._row + 1, ROWS - 1)

    def _up(self) -> None:
        if self._row == self._top:
            self._shift(self._top, self._bottom, -1)
        else:
            self._row = max(self._row - 1, 0)

    def _shift(self, top: int, bottom: int, by: int) -> None:
        """Rows between these move up; down, if `by` is negative."""
        part = self.rows[top : bottom + 1]
        gone = min(abs(by), len(part))
        self.rows[top : bottom + 1] = part[gone:] + _blank(gone) if by > 0 else _blank(gone) + part[: len(part) - gone]

    def _insert(self, count: int) -> None:
        row, at = self.rows[self._row], min(self._column, COLUMNS - 1)
        row[at:at] = [" "] * count
        del row[COLUMNS:]

    def _delete(self, count: int) -> None:
        row, at = self.rows[self._row], min(self._column, COLUMNS - 1)
        del row[at : at + count]
        row += [" "] * (COLUMNS - len(row))

    def _wipe(self, row: int, start: int, end: int) -> None:
        end = min(end, COLUMNS)
        self.rows[row][start:end] = [" "] * max(end - start, 0)

    def _erase(self, which: int, *, whole: bool) -> None:
        """From the cursor to the end, from the beginning to it, or all: of the row, or of the whole screen."""
        here = self._column
        self._wipe(self._row, 0 if which else here, here + 1 if which == 1 else COLUMNS)
        if whole:
            rows = {0: range(self._row + 1, ROWS), 1: range(self._row)}.get(which, range(ROWS))
            for row in rows:
                self._wipe(row, 0, COLUMNS)

    def _region(self, top: int, bottom: int) -> None:
        first, last = max(top, 1) - 1, min(bottom or ROWS, ROWS) - 1
        if first < last:
            self._top, self._bottom = first, last
            self._go(0, 0)

    def _save(self) -> None:
        self._saved = (self._row, self._column)

    def _restore(self) -> None:
        self._go(*self._saved)

    def _other(self, *, shown: bool) -> None:
        if shown and self._behind is None:
            self._save()
            self._behind, self.rows = self.rows, _blank()
        elif not shown and self._behind is not None:
            self.rows, self._behind = self._behind, None
            self._restore()

    def _reset(self) -> None:
        self.rows, self._behind = _blank(), None
        self._top, self._bottom = 0, ROWS - 1
        self._go(0, 0)


def _blank(rows: int = ROWS) -> list[list[str]]:
    return [[" "] * COLUMNS for _ in range(rows)]


def _modes(args: str) -> list[str]:
    """`?1049;25` names `?1049` and `?25`."""
    return [f"?{one}" for one in args[1:].split(";")] if args.startswith("?") else []


def _nothing() -> None:
    """What a screen does not show."""
