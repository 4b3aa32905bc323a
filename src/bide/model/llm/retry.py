"""Asking again, and not asking for a while: what is tried once more, when, and which CLI is given a rest. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from bide.model.llm.answer import Answer, Fault, Status
from bide.model.phase import Ended, Reason

LONGEST = timedelta(seconds=30)
"""The longest pause before another attempt."""
_OWN_TIMEOUT = 124


def is_transient(answer: Answer) -> bool:
    """Whether asking again may help and can do no harm: the line failed before anything was answered or done.

    A timeout, silence or too much output that we ended it for would only come again; a CLI's own 124 may not.
    """
    return _did_nothing(answer) and (answer.fault is Fault.TRANSIENT or answer.exit_code == _OWN_TIMEOUT)


def wants_other_model(answer: Answer) -> bool:
    """Whether the CLI did not know the model that was asked for, and no other was tried yet."""
    facts = answer.job.spec.ask
    asked = facts is not None and facts.model is not None and facts.unknown_model is None
    return asked and answer.fault is Fault.MODEL and _did_nothing(answer)


def _did_nothing(answer: Answer) -> bool:
    """Whether it failed by itself before it answered or used a tool."""
    phase, reading = answer.job.phase, answer.reading
    failed = answer.status is Status.FAILED and isinstance(phase, Ended) and phase.end.reason is Reason.EXITED
    return failed and not reading.tools and (not reading.text or reading.text == reading.error)


def pause(attempt: int, first: timedelta) -> timedelta:
    """How long to wait after this attempt: twice as long after each, up to a bound."""
    return min(first * 2 ** min(attempt - 1, 30), max(first, LONGEST))


class State(StrEnum):
    """Whether a CLI is asked."""

    CLOSED = "closed"
    """It is."""
    OPEN = "open"
    """It failed too often in a row and is given a rest."""
    HALF_OPEN = "half_open"
    """The rest is over: one request may try."""


class Breaker(Struct, frozen=True):
    """How one CLI has done lately."""

    failures: int = 0
    """In a row, of those that are transient."""
    opened_at: datetime | None = None
    trial: str | None = None
    """The request that tries while it is half open, by correlation id."""
    tried_at: datetime | None = None
    """Since when it does; one that takes longer than a rest keeps others from trying no longer."""
    error: str = ""
    """What was said last."""

    def state(self, now: datetime, rest: timedelta) -> State:
        """As it stands at this time."""
        if self.opened_at is None:
            return State.CLOSED
        return State.HALF_OPEN if now >= self.opened_at + rest else State.OPEN

    def left(self, now: datetime, rest: timedelta) -> timedelta:
        """How long it is still given a rest."""
        return timedelta(0) if self.opened_at is None else max(self.opened_at + rest - now, timedelta(0))

    def lets(self, now: datetime, rest: timedelta) -> bool:
        """Whether another request may be made now."""
        state = self.state(now, rest)
        free = self.tried_at is None or now >= self.tried_at + rest
        return state is State.CLOSED or (state is State.HALF_OPEN and free)

    def tried(self, correlation_id: str, now: datetime) -> Breaker:
        """This request is made; if a rest is over, it is the one that tries."""
        return self if self.opened_at is None else replace(self, trial=correlation_id, tried_at=now)

    def failed(self, now: datetime, error: str, most: int) -> Breaker:
        """Another attempt failed; with so many in a row, and after a trial at once, it is given a rest."""
        failures = self.failures + 1
        opened = now if 0 < most <= failures else None
        return Breaker(failures, opened, error=error)

    def ended(self, correlation_id: str, *, reached: bool) -> Breaker:
        """A request is over that did not fail so. If it was answered, whatever the answer, all is well again."""
        if reached:
            return Breaker()
        return replace(self, trial=None, tried_at=None) if self.trial == correlation_id else self


class Outcome(Struct, frozen=True):
    """How an earlier request to a CLI ended, as it is on record."""

    ended_at: datetime
    status: Status
    fault: Fault
    exit_code: int | None = None
    attempts: int = 1

    @property
    def transient(self) -> bool:
        """Whether all of its attempts failed for the line's sake."""
        own_timeout = self.exit_code == _OWN_TIMEOUT and self.fault is not Fault.TIMEOUT
        return self.status is Status.FAILED and (self.fault is Fault.TRANSIENT or own_timeout)


def remembered(outcomes: Iterable[Outcome], most: int) -> Breaker:
    """What a runtime that begins thinks of a CLI: the failures in a row that are on record, newest outcome first."""
    failures, last = 0, None
    for one in outcomes:
        if one.transient:
            failures, last = failures + one.attempts, last or one.ended_at
        elif one.status is Status.COMPLETED or one.fault in _REFUSED:
            break
    return Breaker(
        failures, last if 0 < most <= failures else None, error="its last requests failed" if failures else ""
    )


_REFUSED = (Fault.LOGIN, Fault.USAGE_LIMIT)


def reached(answer: Answer) -> bool:
    """Whether the CLI got through to its service: it answered, or was refused there."""
    answered = answer.status is Status.COMPLETED and not answer.reading.error
    return answered or answer.fault in _REFUSED
