"""Events: one for each move of a job, in one order, for ever."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from bide.model.job import JobId


class Event(Struct, frozen=True):
    """One move of one job."""

    seq: int
    """Rises from event to event and is never used again."""
    at: datetime
    job: JobId
    what: str
    """`queued`, `running`, `ended` or `forgotten`."""
    detail: str
    """The reason of an end, the pid of a start, else nothing."""
