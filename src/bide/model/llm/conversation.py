"""A conversation: a thread that a CLI can go on with."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

from msgspec import Struct

from bide.model.times import from_stamp, stamp


class Conversation(Struct, frozen=True):
    """As far as answers have told of it; what was said in it is the CLI's."""

    id: str
    cli: str
    owner: str
    title: str
    cwd: str
    created_at: datetime
    last_used_at: datetime
    active: bool = False
    """The one that is meant where none is named."""


def conversation_to_json(conversation: Conversation) -> dict[str, Any]:
    """As the doors show it."""
    body = {name: getattr(conversation, name) for name in ("id", "cli", "owner", "title", "cwd", "active")}
    return body | {name: stamp(getattr(conversation, name)) for name in ("created_at", "last_used_at")}


def conversation_from_json(body: dict[str, Any]) -> Conversation:
    """As it was sent."""
    times = {name: cast("datetime", from_stamp(body[name])) for name in ("created_at", "last_used_at")}
    given: dict[str, Any] = {**body, **times}
    return Conversation(**given)
