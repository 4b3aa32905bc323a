"""What a client is told whose words cannot be taken up at all: a line that is no message, a toolset that is not there."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, cast

from msgspec import Struct

from bide.version import VERSION

_NOT_JSON = -32700
_NO_MESSAGE = -32600


class Refusal(Struct, frozen=True):
    """An error of the protocol, for a line that is no message of it."""

    id: str | int | None
    """Of the request, if the line can be seen to be one: its client waits for an answer."""
    code: int
    sentence: str


def of(line: bytes, error: ValueError) -> Refusal:
    """What is wrong with a line that gave this error; nothing of it was done."""
    why = str(error).partition(" [type=")[0].split("\n", 2)
    detail = ": ".join(part.strip() for part in why[1:]) or why[0]
    found = _parsed(line)
    code = _NOT_JSON if found is None or detail.startswith("Invalid JSON") else _NO_MESSAGE
    return Refusal(_id(found), code, f"this is no message of the protocol, so nothing was done: {detail}")


def of_bad_id(line: bytes) -> Refusal | None:
    """What is wrong with a line that was taken for a notification because its id cannot be one."""
    found = _parsed(line) if b'"id"' in line else None
    if not isinstance(found, dict) or "id" not in found:
        return None
    return Refusal(
        None, _NO_MESSAGE, "this is no message of the protocol, so nothing was done: an id is text or a whole number"
    )


def _parsed(line: bytes) -> object:
    """The line as JSON, more freely than the protocol reads it: with half characters, and numbers that are none."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _id(found: object) -> str | int | None:
    if not isinstance(found, dict) or "method" not in found:
        return None
    id_ = cast("dict[str, Any]", found).get("id")
    if isinstance(id_, str):
        return id_ if id_.encode("utf-8", "replace").decode() == id_ else None
    return id_ if isinstance(id_, int) and not isinstance(id_, bool) else None


def no_toolset(name: str, known: Iterable[str]) -> str:
    """A toolset was asked for that this daemon does not have, as one that is older than its client."""
    words = f"no toolset {name!r} in this daemon (bide {VERSION}); known are {', '.join(known)}."
    return f"{words} If it is older than your bide, 'bide daemon stop' ends it, and the next call starts another"
