"""One look at the past: what was found, what went, and what is left."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from bide.model.retention import Choice, Collected, Gone, Past, Policy
from bide.store.past import Sums

_NAMED = 1000
"""How many jobs an answer names."""


class Shelf(Struct, frozen=True):
    """Ended jobs that go by one rule."""

    seen: bool
    own: timedelta | None


@dataclass(slots=True)
class Look:
    """What came of it so far."""

    policy: Policy
    at: datetime
    dry_run: bool
    asked: bool = False
    """Somebody asked for it, whatever the home's settings say."""
    owner: str | None = None
    held: int = 0
    """What all outputs hold, or would hold."""
    forgotten: int = 0
    dropped: int = 0
    freed: int = 0
    left: Sums = field(default_factory=Sums)
    gone: list[Gone] = field(default_factory=list[Gone])
    emptied: list[Gone] = field(default_factory=list[Gone])
    alive: list[str] = field(default_factory=list[str])

    def went(self, choice: Choice) -> None:
        """This went, or would go."""
        self.forgotten += len(choice.forget)
        self.dropped += len(choice.drop)
        self._name(choice.forget, self.gone)
        self._name(choice.drop, self.emptied)
        went = (*choice.forget, *choice.drop)
        freed = sum(one.bytes for one in went)
        seen_bytes = sum(one.bytes for one in went if one.seen)
        seen = sum(one.seen for one in choice.forget)
        self.freed += freed
        self.held -= freed
        self.left = replace(
            self.left,
            seen=self.left.seen - seen,
            unseen=self.left.unseen - (len(choice.forget) - seen),
            seen_bytes=self.left.seen_bytes - seen_bytes,
            unseen_bytes=self.left.unseen_bytes - (freed - seen_bytes),
        )

    def _name(self, past: Iterable[Past], named: list[Gone]) -> None:
        for one in past:
            if len(named) < _NAMED:
                named.append(Gone(one.id, one.name, one.bytes, one.seen))

    def keeps(self, shelf: Shelf) -> timedelta:
        """How long those are kept; all of them equally where somebody asked for it."""
        return self.policy.keeps(seen=shelf.seen, own=None if self.asked else shelf.own)

    def why(self, shelf: Shelf) -> str:
        """Why a job is forgotten, for its tombstone; nothing where somebody asked for it."""
        return "" if self.asked else f"it ended more than {in_words(self.keeps(shelf))} before"

    def shelves(self) -> tuple[Shelf, ...]:
        """All that there is, in the order in which it goes."""
        return tuple(Shelf(seen, own) for own in (None, *self.left.own) for seen in (True, False))

    @property
    def told(self) -> str:
        """In one sentence."""
        did = "would be" if self.dry_run else "were"
        return f"{self.forgotten} jobs {did} forgotten, {self.dropped} outputs {did} dropped, {self.freed} bytes"

    def answer(self) -> Collected:
        """What a caller is told."""
        return Collected(
            dry_run=self.dry_run,
            forgotten=self.forgotten,
            dropped=self.dropped,
            freed_bytes=self.freed,
            held_bytes=self.held,
            quota_bytes=self.policy.bytes,
            kept=self.left.seen + self.left.unseen,
            unseen=self.left.unseen,
            unseen_bytes=self.left.unseen_bytes,
            alive=tuple(self.alive[:_NAMED]),
            gone=tuple(self.gone),
            emptied=tuple(self.emptied),
        )


def in_words(age: timedelta) -> str:
    """A long time, in the largest unit that suits it."""
    seconds = age.total_seconds()
    for unit, size in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} seconds"
