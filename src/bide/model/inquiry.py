"""What is asked at the end of a turn about handles that are active: the question, its schema, and what the answer decides."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from bide.model.schema import Json, fields, text

WAIT, ABORT, LEAVE = "wait", "abort", "leave"
CHOICES = (WAIT, ABORT)
"""What an assistant can choose. What it says nothing of, or nothing that can be, is left: that loses nothing."""


class Outstanding(Struct, frozen=True):
    """A handle that is active when a turn would end."""

    id: str
    tool: str
    state: str
    elapsed_secs: float
    output_preview: str


def question(handles: Sequence[Outstanding]) -> Json:
    """What the assistant is shown."""
    return {
        "handles": [
            {
                "id": one.id,
                "tool": one.tool,
                "state": one.state,
                "elapsed_secs": round(one.elapsed_secs, 1),
                "output_preview": one.output_preview,
                "action": " | ".join(CHOICES),
            }
            for one in handles
        ]
    }


def schema(handles: Sequence[Outstanding]) -> Json:
    """What its answer must be: for each handle, by id, what to do."""
    ids = text("the handle", enum=[one.id for one in handles])
    choice = text("wait for it, or abort it", enum=list(CHOICES))
    items = fields(("id", "action"), id=ids, action=choice)
    return fields(("handles",), handles={"type": "array", "items": items})


def decided(handles: Sequence[Outstanding], answer: object) -> dict[str, str]:
    """Return what to do with each handle: the answer is as the schema has it, or a mapping from id to action, or either as JSON text."""
    said = dict(_choices(_read(answer) if isinstance(answer, str) else answer))
    return {one.id: said[one.id] if said.get(one.id) in CHOICES else LEAVE for one in handles}


def _read(answer: str) -> object:
    """Return the JSON object in a text, which a model may have fenced or put into words; `None` if there is none."""
    try:
        return json.loads(answer[answer.index("{") : answer.rindex("}") + 1])
    except ValueError:
        return None


def _choices(answer: object) -> list[tuple[str, str]]:
    if not isinstance(answer, Mapping):
        return []
    given = cast("Mapping[str, Any]", answer)
    rows: object = given.get("handles")
    if not isinstance(rows, list):
        return [(str(key), str(value)) for key, value in given.items()]
    found = [cast("Mapping[str, Any]", row) for row in cast("list[object]", rows) if isinstance(row, Mapping)]
    return [(str(row.get("id")), str(row.get("action"))) for row in found]
