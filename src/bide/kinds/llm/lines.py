"""Lines of JSON as they come: whole ones are handed on, a long one is passed over, and nothing grows with the stream."""

from __future__ import annotations

import json
from typing import Any, cast

from bide.model.llm.answer import Reading, Tokens
from bide.model.llm.steps import KEPT, Mark, Progress

LINE_MAX = 16 * 1024 * 1024
"""A longer line is passed over: no CLI says its result in one."""


class Lines:
    """Splits a stream into lines. What reads a CLI is one of these that knows what to do with a line."""

    def __init__(self) -> None:
        """Nothing was read yet."""
        self._pending = bytearray()
        self._passing = False
        self._fed = 0
        self._at = 0
        self.marks: list[Mark] = []
        self.final = False
        self.skipped = 0

    def feed(self, data: bytes) -> None:
        """The next bytes."""
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._at = self._fed + end + 1
            if self._passing:
                self._passing = False
            elif self._pending:
                self._pending += data[start:end]
                self._whole(bytes(self._pending))
            else:
                self._whole(data[start:end])
            self._pending.clear()
            start = end + 1
        self._fed += len(data)
        self._keep(data[start:])

    def _keep(self, rest: bytes) -> None:
        if self._passing or not rest:
            return
        self._pending += rest
        if len(self._pending) > LINE_MAX:
            self._pending.clear()
            self._passing = True
            self.skipped += 1

    def _whole(self, line: bytes) -> None:
        if line and not line.isspace():
            self.line(line)

    def line(self, line: bytes) -> None:
        """One line. What is no JSON is counted and passed over."""
        raise NotImplementedError

    def step(self, phase: Progress) -> None:
        """The line that is being read tells that it is here now; of tools each use counts."""
        if phase is not Progress.WORKING and self.marks and self.marks[-1].phase is phase:
            return
        self.marks.append(Mark(self._at, phase))
        if len(self.marks) > 2 * KEPT:
            del self.marks[:KEPT]

    def parsed(self, line: bytes) -> dict[str, Any]:
        """The object of a line; an empty one for what is none."""
        found = as_object(line)
        if found is None:
            self.skipped += 1
        return found or {}

    def rest(self) -> None:
        """Take an unfinished last line for a whole one, if it can be read; a stream that was cut off leaves half a line."""
        line = bytes(self._pending)
        if line.rstrip().endswith(b"}") and as_object(line) is not None:
            self._pending.clear()
            self._at = self._fed + 1  # where it will end
            self.line(line)


class Whole:
    """Reads a CLI that says all at its end, or nothing but text."""

    def __init__(self) -> None:
        """Nothing was read yet."""
        self._data = bytearray()
        self.marks: list[Mark] = []
        self.final = False

    def feed(self, data: bytes) -> None:
        """The next bytes."""
        self._data += data
        if data and not self.marks:
            self.marks.append(Mark(1, Progress.ANSWERING))

    def finish(self) -> Reading:
        """All of it is the text."""
        return Reading(text=self._data.decode("utf-8", "replace").strip())

    def unread(self) -> Reading:
        """All of it as it came, and a word on that it was not what was to be read: it may be cut off."""
        text = Whole.finish(self).text
        return Reading(text=text, skipped=len(text.splitlines()))

    def value(self) -> object:
        """All of it as JSON, from where that begins: some CLIs say other things before; `None` for what is none."""
        text = self._data.decode("utf-8", "replace")
        for at in sorted(at for sign in "{[" if (at := text.find(sign)) >= 0):
            try:
                return json.JSONDecoder().raw_decode(text, at)[0]
            except ValueError:
                continue
        return None


def as_object(line: bytes) -> dict[str, Any] | None:
    """The object that a line is, if it is one."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def number(found: object) -> int:
    """A count, whatever was found in its place."""
    return int(found) if isinstance(found, int | float) and not isinstance(found, bool) and found >= 0 else 0


def amount(found: object) -> float | None:
    """An amount of money, if it is one."""
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def word(found: object) -> str | None:
    """Text, if it is some."""
    return found if isinstance(found, str) and found else None


def below(found: object, key: str) -> dict[str, Any]:
    """An object within an object; an empty one for anything else."""
    inner = cast("dict[str, Any]", found).get(key) if isinstance(found, dict) else None
    return cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}


def items(found: object, key: str) -> list[dict[str, Any]]:
    """The objects of a list within an object."""
    inner = cast("dict[str, Any]", found).get(key) if isinstance(found, dict) else None
    listed = cast("list[object]", inner) if isinstance(inner, list) else []
    return [cast("dict[str, Any]", one) for one in listed if isinstance(one, dict)]


def tokens(usage: dict[str, Any]) -> Tokens:
    """What was used, where it is said in the words of Anthropic's API."""
    return Tokens(
        input=number(usage.get("input_tokens")),
        output=number(usage.get("output_tokens")),
        cache_read=number(usage.get("cache_read_input_tokens")),
        cache_write=number(usage.get("cache_creation_input_tokens")),
    )
