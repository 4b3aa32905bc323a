"""When a queued job may start: its group, its rank in it, and what it waits for."""

from __future__ import annotations

import re
from datetime import datetime

from msgspec import Struct

from bide.model.errors import BadRequest

GROUP_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
PRIORITIES = range(-1000, 1001)
AFTER_MOST = 1000
"""The most jobs that one may wait for before it starts."""


class Turn(Struct, frozen=True):
    """What a job waits for before it starts; as it stands, nothing but a free place."""

    group: str = ""
    """Jobs of one group share its limit; without a group only the limit on all jobs counts."""
    priority: int = 0
    """The greater goes first; among equals, the one that was asked for first."""
    after: tuple[str, ...] = ()
    """Jobs that must end first: with success, unless `after_any`."""
    after_any: bool = False
    """Any end of those will do."""
    at: datetime | None = None
    """Not before this time."""


class Place(Struct, frozen=True):
    """Where a queued job stands."""

    why: str
    """What it waits for."""
    place: int | None = None
    """How many go before it, counting itself; `None` while it waits for other jobs or for a time."""


NOW = Turn()
"""The turn of a job that asks for nothing special."""


def check_turn(turn: Turn) -> None:
    """Refuse what cannot be meant."""
    if turn.group and not GROUP_PATTERN.match(turn.group):
        raise BadRequest(detail=f"{turn.group!r} cannot be a group; use 1 to 64 letters, digits, '.', '_' or '-'")
    if turn.priority not in PRIORITIES:
        raise BadRequest(detail=f"a priority is a whole number from -1000 to 1000, not {turn.priority}")
    if len(turn.after) > AFTER_MOST:
        detail = f"a job may start after at most {AFTER_MOST} others, and these are {len(turn.after)}"
        raise BadRequest(detail=f"{detail}; have it start after one that starts after them")
    if turn.after_any and not turn.after:
        raise BadRequest(detail="after_any says how jobs given as 'after' must end; name them")
    if turn.at is not None and turn.at.tzinfo is None:
        raise BadRequest(detail="the time to start at needs a time zone")
