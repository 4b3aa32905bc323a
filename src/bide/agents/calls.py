"""Calls of tools as a model makes them, and what is answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from bide.model.fitting import as_json, cut, fitted_data, size_of
from bide.model.schema import Json


class Call(Struct, frozen=True):
    """One tool call of a batch."""

    id: str
    """The provider's, which the response carries."""
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


class Response(Struct, frozen=True):
    """What one call comes to."""

    id: str
    tool: str
    text: str
    is_error: bool = False


class Answer(Struct, frozen=True):
    """What a tool answers, before it is that of a call."""

    text: str
    is_error: bool = False
    data: Json | None = None
    """What the text says, where that is JSON."""

    def within(self, most: int) -> str:
        """Return the text in at most so many bytes; JSON stays JSON."""
        if self.data is None or size_of(self.text) <= most:
            return cut(self.text, most)
        return as_json(fitted_data(self.data, most))


def of_data(data: Json) -> Answer:
    """Return an answer that is JSON."""
    return Answer(as_json(data), data=data)
