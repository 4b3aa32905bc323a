"""The wire form of times: instants are ISO 8601 in UTC, durations are milliseconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import cast

_MILLISECOND = timedelta(milliseconds=1)


def ms(duration: timedelta | None) -> int | None:
    """A duration in whole milliseconds, rounded up: what is short does not become nothing."""
    return None if duration is None else -(duration // -_MILLISECOND)


def left_ms(duration: timedelta | None) -> int | None:
    """The time that is left, in whole milliseconds; one that is over is 0."""
    found = ms(duration)
    return None if found is None else max(found, 0)


def from_ms(number: object) -> timedelta | None:
    """A duration from milliseconds."""
    return timedelta(milliseconds=cast("float", number)) if isinstance(number, int | float) else None


def stamp(at: datetime | None) -> str | None:
    """An instant as text, to the millisecond."""
    if at is None:
        return None
    utc = at if at.tzinfo is UTC else at.astimezone(UTC)
    return f"{utc.isoformat(timespec='milliseconds').removesuffix('+00:00')}Z"


def from_stamp(text: object) -> datetime | None:
    """An instant from text."""
    return datetime.fromisoformat(text) if isinstance(text, str) and text else None
