"""Notices: what somebody should be told about a job, and when it is due to whom. Pure: no clock, no I/O."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum

from msgspec import Struct

from bide.model.job import Job, JobId
from bide.model.notify import What
from bide.model.owners import is_by
from bide.model.phase import Ended, Reason

LEASE = timedelta(minutes=10)
"""After this long, what somebody carried and never said more about is due again."""
PAUSE_FIRST = timedelta(milliseconds=500)
PAUSE_MOST = timedelta(seconds=30)
JITTER = timedelta(milliseconds=200)
_DOUBLINGS = 8
SUPERSEDED = "restart"
"""Who ended a service to start it anew: its end is no news."""


class Level(IntEnum):
    """How much it matters."""

    AMBIENT = 0
    """Comes with other news, and wakes nobody."""
    INFO = 1
    WARNING = 2
    ERROR = 3
    CRITICAL = 4


LEVEL_NAMES = tuple(level.name.lower() for level in Level)

ENDS = (What.ENDED, What.FAILED, What.KILLED)
LEVELS = {
    What.FAILED: Level.ERROR,
    What.ERROR: Level.ERROR,
    What.WAITING: Level.WARNING,
    What.STALLED: Level.WARNING,
}
"""What is not named here is INFO."""


class State(StrEnum):
    """Where a delivery is."""

    DUE = "due"
    CARRIED = "carried"
    """Handed over by something that does not know yet whether it arrived."""
    DONE = "done"
    DROPPED = "dropped"
    """Not wanted, or no longer so."""


class Notice(Struct, frozen=True):
    """One thing to be told. Recorded twice, it is the same one."""

    id: str
    """Made of what it says, so that it is the same after a crash: `JOB:ended`, `JOB:waiting:120`."""
    job: JobId
    what: What
    level: Level
    at: datetime
    detail: str = ""


def notice(job: Job, what: What, at: datetime, *, place: int | str | None = None, detail: str = "") -> Notice:
    """A notice on a job; `place` tells several of a kind apart."""
    id_ = f"{job.id}:{what}" if place is None else f"{job.id}:{what}:{place}"
    ambient = what is What.OUTPUT and job.spec.notify.ambient
    return Notice(id_, job.id, what, Level.AMBIENT if ambient else LEVELS.get(what, Level.INFO), at, detail)


def notice_of_end(job: Job) -> Notice:
    """The notice on the end of a job that is over."""
    phase = job.phase
    assert isinstance(phase, Ended)  # noqa: S101 - what the caller knows
    end = phase.end
    level = Level.INFO
    if end.success:
        what = What.ENDED
    elif end.reason is Reason.KILLED and (end.by == SUPERSEDED or is_by(job.owner, end.by)):
        what = What.KILLED
    else:
        what, level = What.FAILED, Level.CRITICAL if end.reason is Reason.LOST else Level.ERROR
    return Notice(f"{job.id}:end", job.id, what, level, phase.ended_at, str(end.reason))


class Delivery(Struct, frozen=True):
    """A notice on its way to one consumer."""

    notice: Notice
    consumer: str
    state: State = State.DUE
    tries: int = 0
    next_at: datetime | None = None
    """When to try again, after a sink did not accept it."""
    carrier: str = ""
    carried_at: datetime | None = None


def is_due(delivery: Delivery, now: datetime) -> bool:
    """Whether it may be handed over now."""
    if delivery.state is State.CARRIED:
        return delivery.carried_at is None or now - delivery.carried_at >= LEASE
    return delivery.state is State.DUE and (delivery.next_at is None or delivery.next_at <= now)


def in_order(deliveries: Iterable[Delivery]) -> list[Delivery]:
    """The most severe first; of equals, the oldest."""
    return sorted(deliveries, key=lambda one: (-one.notice.level, one.notice.at, one.notice.id))


def superseded(what: What, job: Job, *, waiting: bool) -> bool:
    """Whether it is no news any more: what a job asked is over when it asks no longer, and all of it when it ended."""
    if what in ENDS or what is What.ACTED:
        return False
    if isinstance(job.phase, Ended):
        return True
    return what is What.WAITING and not waiting


def pause_after(tries: int, jitter: float) -> timedelta:
    """How long to wait after so many failures in a row; `jitter` is from 0 to 1."""
    return min(PAUSE_FIRST * 2 ** min(max(tries - 1, 0), _DOUBLINGS) + JITTER * jitter, PAUSE_MOST)


def gathered_for(deliveries: Iterable[Delivery], gather: timedelta) -> timedelta:
    """How long a sink waits for more of what is due: what it did not accept before has waited long enough."""
    return timedelta(0) if any(one.tries for one in deliveries) else gather


class Item(Struct, frozen=True):
    """One notice as it is told."""

    id: str
    job: str
    what: str
    level: str
    at: datetime
    says: str
    """What happened, as what follows the job's name."""
    name: str | None = None
    label: str = ""
    command: str = ""
    reason: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    duration_ms: int | None = None
    extract: str = ""
    """Some of what it wrote, in the job's own words."""
    size: int | None = None
    """How many bytes it wrote in all, where some of that is shown."""
    cut: bool | None = None
    """It wrote more than is shown, beside what a terminal would not show."""


class Message(Struct, frozen=True):
    """Everything that was due to a consumer, as one message."""

    consumer: str
    items: tuple[Item, ...] = ()
    text: str = ""
    """The same in words, with what jobs wrote set apart by a mark they cannot know."""
    more: int = 0
    """How many are due beyond these."""

    @property
    def ids(self) -> tuple[str, ...]:
        """What to acknowledge."""
        return tuple(item.id for item in self.items)


class Outlook(Struct, frozen=True):
    """How deliveries to one consumer stand."""

    consumer: str
    due: int = 0
    carried: int = 0
    delivering: bool = False
    """A sink is being handed something at this moment."""
    next_retry_at: datetime | None = None
    jobs: tuple[str, ...] = ()
    """Whom what is due is about, the first hundred."""
    owner: str | None = None
    """Of whose jobs it is told; `None` for all."""


@dataclass(slots=True)
class Told:
    """What one answer tells its reader; counts when the answer has arrived."""

    asker: str
    jobs: dict[str, bool] = field(default_factory=dict[str, bool])
    """The asker's jobs that are in it, and whether each was over."""
    begun: list[str] = field(default_factory=list[str])
    """The asker's jobs that the call began: what its answer does not say of them is told later, not beside it."""
    made: bool = False
    """The answer is made. What goes on in its context afterwards is no part of it."""
