"""Answers and refusals in the words of seed 002."""

from __future__ import annotations

from bide.agents.rows import LARGEST
from bide.mcpserver import patience
from bide.mcpserver.gaps import CHARS_PER_TOKEN
from bide.mcpserver.tool import Answer, Call
from bide.model.errors import BideError, QueueFull
from bide.model.fitting import as_json, fitted_data
from bide.model.handles import refusal
from bide.model.schema import Json

_SHOWN = 16_000
"""Characters of output in an answer to a model."""
_SHARE = 1_000
"""Characters that each of many handles has in one, at least."""
_OUTPUT = ("result", "content", "stderr")
"""The fields of a handle that have what a job wrote."""


def answer(data: Json, text: str | None = None, *, is_error: bool = False) -> Answer:
    """Return an answer whose text is its data, or another text with the same output; where there is output, only one of them is sent with it."""
    shown = fitted_data(data)
    bare = _without_output(shown)
    brief = None if text is None and bare == shown else as_json(bare)
    return Answer(as_json(shown) if text is None else text, shown, is_error, brief=brief)


def _without_output(data: Json) -> Json:
    """Return an answer's data without what jobs wrote. The `result` of a failed handle is the message of its error, and stays."""
    error: Json | None = data.get("error")
    said = {key: one for key, one in data.items() if key not in _OUTPUT or (key == "result" and error is not None)}
    if error is not None:
        said["error"] = {**error, "trace": []}
    if "completed" in said:
        said["completed"] = [_without_output(row) for row in said["completed"]]
    return said


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


def room_of(call: Call, given: Json, handles: int = 1) -> int:
    """Return how much output an answer about so many handles shows, in characters.

    Without a budget that is as much as it can; less to a client that is known to hand answers to a model.
    """
    if "budget" in given:
        return min(given["budget"] * CHARS_PER_TOKEN, LARGEST)
    return min(max(_SHOWN, _SHARE * handles), LARGEST) if patience.is_known(call.caller.client) else LARGEST
