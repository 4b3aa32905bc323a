"""Answers and refusals in the words of seed 002."""

from __future__ import annotations

import json

from bide.mcpserver.tool import Answer
from bide.model.errors import BideError, QueueFull
from bide.model.handles import refusal
from bide.model.schema import Json


def answer(data: Json) -> Answer:
    """An answer whose text is its data."""
    return Answer(json.dumps(data, ensure_ascii=False), data)


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
