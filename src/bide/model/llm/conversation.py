"""A conversation: a thread that a CLI can go on with."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

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
    thread: str = ""
    """The CLI's own id, of one that bide named before it began."""


def together(conversations: Iterable[Conversation]) -> list[Conversation]:
    """Each of an owner's once, although more than one place knows it; the most recently used first."""
    found: dict[str, Conversation] = {}
    for one in conversations:
        before = found.get(one.id)
        found[one.id] = one if before is None else _same(before, one)
    return sorted(found.values(), key=lambda one: (-one.last_used_at.timestamp(), one.id))


def _same(one: Conversation, other: Conversation) -> Conversation:
    early, late = sorted((one, other), key=lambda one: one.last_used_at)
    return replace(
        late,
        title=one.title or other.title,
        cwd=late.cwd or early.cwd,
        created_at=min(one.created_at, other.created_at),
        active=one.active or other.active,
        thread=late.thread or early.thread,
    )


def conversation_to_json(conversation: Conversation) -> dict[str, Any]:
    """As the doors show it."""
    body = {name: getattr(conversation, name) for name in ("id", "cli", "owner", "title", "cwd", "active", "thread")}
    return body | {name: stamp(getattr(conversation, name)) for name in ("created_at", "last_used_at")}


def conversation_from_json(body: dict[str, Any]) -> Conversation:
    """As it was sent."""
    times = {name: cast("datetime", from_stamp(body[name])) for name in ("created_at", "last_used_at")}
    given: dict[str, Any] = {**body, **times}
    return Conversation(**given)
