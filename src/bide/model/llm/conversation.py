"""A conversation: a thread that a CLI can go on with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Conversation:
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
