"""Calls of tools as a model makes them, and what is answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

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


def of_data(data: Json) -> Answer:
    """An answer that is JSON."""
    return Answer(json.dumps(data, ensure_ascii=False))
