"""What the verbs answer, and which jobs to list."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from bide.model.errors import BadRequest
from bide.model.job import Job
from bide.model.output import Slice
from bide.model.phase import PHASE_NAMES, Descendant, Reason
from bide.model.session import Session


class Ran(Struct, frozen=True):
    """What `run` answers."""

    job: Job
    joined: bool = False
    """An earlier request had started it: one with the same key, or an equal one if reuse was asked for."""
    deferred: bool = False
    """The deadline passed first; the job goes on."""
    out: Slice | None = None
    """The tail of stdout so far (foreground only)."""
    err: Slice | None = None


class Page(Struct, frozen=True):
    """Some jobs, newest first."""

    jobs: tuple[Job, ...]
    next: str | None = None
    """Give this as `before` to see older ones."""


class Killed(Struct, frozen=True):
    """What `kill` answers."""

    job: Job
    signalled: int = 0
    """How many processes were signalled."""
    verified_empty: bool = True
    """Nothing of the tree is left."""
    survivors: tuple[Descendant, ...] = ()
    """What is left, if anything."""
    already_ended: bool = False


class Filter(Struct, frozen=True):
    """Which jobs to list; every condition given must hold."""

    phase: str | None = None
    reason: str | None = None
    session: str | None = None
    owner: str | None = None
    label: str | None = None
    kind: str | None = None
    name: str | None = None
    parent: str | None = None
    """Started from this job."""
    since: datetime | None = None
    """Created at this time or later."""
    until: datetime | None = None
    """Created before this time."""


def check_filter(where: Filter) -> None:
    """Refuse a filter that no job can ever meet."""
    for what, value, known in (("phase", where.phase, PHASE_NAMES.values()), ("reason", where.reason, Reason)):
        if value is not None and value not in list(known):
            raise BadRequest(detail=f"there is no {what} {value!r}; use {', '.join(known)}")


class Group(Struct, frozen=True):
    """Jobs that share a limit."""

    name: str | None
    """`None`: all jobs together."""
    limit: int | None
    """How many may run at once; `None` for no limit."""
    paused: bool
    """Nothing of it starts."""
    running: int = 0
    waiting: int = 0


class SessionStarted(Struct, frozen=True):
    """What starting a session answers."""

    session: Session
    evicted: tuple[str, ...] = ()
    """Sessions that had to go for it; what runs in them goes on."""


class SessionEnded(Struct, frozen=True):
    """What ending a session answers."""

    session: Session
    """As it was at last."""
    killed: tuple[str, ...] = ()
    """Its jobs that were active, and are verified to be over."""
    unverified: tuple[str, ...] = ()
    """Those of which something may be left, also of jobs that had ended before; look at them with `get`."""
    forgotten: int = 0
    """How many of its jobs were forgotten."""
