"""Answers and refusals in the words of seed 002."""

from __future__ import annotations

from bide.agents.rows import LARGEST
from bide.mcpserver.gaps import CHARS_PER_TOKEN
from bide.mcpserver.tool import Answer
from bide.model.errors import BideError, QueueFull
from bide.model.fitting import as_json, fitted_data
from bide.model.handles import refusal
from bide.model.schema import Json


def answer(data: Json) -> Answer:
    """Return an answer whose text is its data."""
    shown = fitted_data(data)
    return Answer(as_json(shown), shown)


def refuse(error: BideError) -> Answer:
    """An error in this vocabulary's words and shape."""
    message = refusal(error)
    body: Json = {
        "code": error.code,
        "message": message,
        "trace": [],
        "transient": isinstance(error, QueueFull),
    }
    return Answer(message, {"error": body}, is_error=True)


def room_of(given: Json) -> int:
    """Return how much output an answer shows, in characters: as much as it can, unless the caller gave a budget."""
    return min(given["budget"] * CHARS_PER_TOKEN, LARGEST) if "budget" in given else LARGEST
