"""What of the past is kept, and what goes: one pure rule for the daemon and for `bide gc`.

A record goes when its time is over. Outputs go when all of them together hold more than they may: those that somebody
has seen before those that nobody has, the oldest first, and only as many as it takes. The record of a job whose output
went stays until its own time is over. What descendants still use, and output that is only minutes old, stays.

Answers of LLMs have a time of their own, whether somebody has seen them or not, and their outputs are the last to go.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from msgspec import Struct

FRESH = timedelta(minutes=5)
"""For this long after a job's end its output stays, however much there is."""
TOMBSTONES = 100_000
"""How many forgotten ids are remembered, the newest ones."""
TOMBSTONE_AGE = timedelta(days=365)
"""For how long they are."""
EVENTS = 1_000_000
"""How many events can be read again, the newest ones."""


class Policy(Struct, frozen=True):
    """How much is kept, and for how long."""

    keep: timedelta
    """The record of a job that was seen goes this long after its end."""
    keep_unseen: timedelta
    """That of a job that nobody has seen goes this long after its end; never sooner than one that was."""
    bytes: int | None
    """What all outputs may hold together; `None` for any amount."""
    answers: timedelta = timedelta(days=30)
    """An LLM's answer goes this long after it came, seen or not, unless whoever asked said how long."""
    fresh: timedelta = FRESH

    def keeps(self, *, seen: bool, own: timedelta | None = None) -> timedelta:
        """How long after its end a record is kept; one with a time of its own for that, or, if it is 0, as answers are."""
        if own is not None:
            return own or self.answers
        return self.keep if seen else max(self.keep, self.keep_unseen)


class Past(Struct, frozen=True):
    """An ended job, as far as retention is concerned."""

    id: str
    age: timedelta
    """Since its end."""
    bytes: int = 0
    """What its output holds."""
    seen: bool = False
    """Somebody was told of its end."""
    alive: bool = False
    """Descendants of it still run."""
    name: str | None = None
    own: timedelta | None = None
    """For an LLM's answer, how long it is to be kept; 0 as the home keeps them."""


class Choice(Struct, frozen=True):
    """What goes, in the order in which it goes."""

    forget: tuple[Past, ...] = ()
    """With record and output."""
    drop: tuple[Past, ...] = ()
    """Their output only."""
    over: int = 0
    """How many bytes too many would still be held."""


class Gone(Struct, frozen=True):
    """One job that `gc` forgot, or whose output it dropped; with a dry run, that it would."""

    id: str
    name: str | None
    bytes: int
    """What its output held."""
    seen: bool


class Collected(Struct, frozen=True):
    """What `gc` did, or would do."""

    dry_run: bool
    forgotten: int = 0
    """How many jobs are gone, with record and output."""
    dropped: int = 0
    """How many outputs are gone, while the records stay."""
    freed_bytes: int = 0
    held_bytes: int = 0
    """What all outputs hold now, those of running jobs included; with a dry run, would hold."""
    quota_bytes: int | None = None
    """What they may hold."""
    kept: int = 0
    """How many ended jobs are on record now; with a dry run, would be."""
    unseen: int = 0
    """How many of those nobody has seen: they are kept longest."""
    unseen_bytes: int = 0
    alive: tuple[str, ...] = ()
    """Jobs whose time is over, kept because descendants of them still run."""
    gone: tuple[Gone, ...] = ()
    """The first of the forgotten."""
    emptied: tuple[Gone, ...] = ()
    """The first of those whose output was dropped."""


def choose(past: Iterable[Past], policy: Policy, held: int) -> Choice:
    """What of these jobs goes; `held` is what all outputs hold together now, those of running jobs included."""
    removable = sorted((one for one in past if not one.alive), key=_order)
    forget = [one for one in removable if one.age >= policy.keeps(seen=one.seen, own=one.own)]
    over = 0 if policy.bytes is None else held - policy.bytes - sum(one.bytes for one in forget)
    drop: list[Past] = []
    gone = {one.id for one in forget}
    for one in removable:
        if over <= 0:
            break
        if one.bytes > 0 and one.age >= policy.fresh and one.id not in gone:
            drop.append(one)
            over -= one.bytes
    return Choice(tuple(forget), tuple(drop), max(over, 0))


def _order(one: Past) -> tuple[bool, timedelta, bool, timedelta]:
    return one.own is not None, one.own or timedelta(0), not one.seen, -one.age
