"""The queue: jobs that wait for their turn, and who is let go when a place is free. `model/schedule.py` decides.

It acts on events alone: a job that is asked for, one that ends, a change of the rules, a time that has come. A job that
waits has its folder and its row, and nothing else: no process, no descriptor.
"""

from __future__ import annotations

import errno
import logging
from bisect import bisect_left, insort
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush

from bide.keeper import holding
from bide.model.errors import QueueFull
from bide.model.phase import End, Ended, Queued, Reason
from bide.model.schedule import ALL, Hold, Rank, Rules, choose, circular, has_room, hold, rank, room, why_not
from bide.model.turn import NOW, Place, Turn
from bide.runtime.counts import Counts
from bide.runtime.keeping import Keeping
from bide.runtime.letting import Letting
from bide.runtime.live import Live

log = logging.getLogger(__name__)

BY = "queue"
"""Who ended a job that can never start."""
NO_ROOM = "room on the disk: nothing could be written in its folder"
"""What a job waits for that could not start because the disk is full."""
_AGAIN = timedelta(seconds=1)
_LOOK_AT_LEAST = 60.0
"""The wall clock may be set while a job waits for a time, and tells nobody."""


@dataclass(slots=True)
class _Entry:
    """One job that waits."""

    live: Live
    rank: Rank
    hold: Hold | None = None
    """What it waits for beside a free place; `None` until it is on disk."""
    ends: dict[str, End | None] = field(default_factory=dict[str, End | None])
    """Of the jobs it waits for: how they ended, as far as they have."""

    @property
    def turn(self) -> Turn:
        return self.live.job.spec.turn


class Queue:
    """All jobs that wait for their turn, and how many run."""

    def __init__(self, keeping: Keeping, rules: Rules, most: int) -> None:
        """At most so many may wait. Nothing starts before `open`."""
        self.rules: Rules = rules
        self.busy: Counts = Counts()
        """How many jobs of each group have a place."""
        self._most = most
        self._keeping = keeping
        self._hub = keeping.hub
        self._open = False
        self._looking = False
        self._order = 0
        self._unplaced = Counts()
        """How many of each group are on their way to the disk."""
        self._entries: dict[str, _Entry] = {}
        self._lines: dict[str, list[Rank]] = {}
        self._followers: dict[str, set[str]] = {}
        self._times: list[tuple[datetime, str]] = []
        self._timer: datetime | None = None
        self._letting = Letting(keeping)
        keeping.placed = self._placed
        keeping.freed = self._freed

    # Jobs that are asked for.

    def admits(self, turn: Turn) -> bool:
        """Whether a job may start at once, without a wait. Raises QueueFull if it may neither start nor wait."""
        if turn is NOW and not self.rules.bind_all:
            return True
        at_once = not turn.after and (turn.at is None or turn.at <= _now())
        if at_once and not self._has_line(turn.group) and has_room(turn.group, self.busy, self.rules):
            return True
        if len(self._entries) >= self._most:
            raise QueueFull(waiting=str(len(self._entries)))
        return False

    def _has_line(self, group: str) -> bool:
        """Whether somebody of this group was there before, or of any group if all share a limit."""
        return bool(
            self._lines.get(group)
            or self._unplaced.get(group)
            or (self._unplaced and self.rules.limit(ALL) is not None)
        )

    def take(self, live: Live) -> None:
        """It has a place from now on, until its end."""
        live.counted = True
        self.busy.more(live.job.spec.turn.group)

    def enter(self, live: Live) -> None:
        """It waits from now on; its turn can come when it is on disk."""
        live.held = live.entered = True
        self._order += 1
        self._unplaced.more(live.job.spec.turn.group)
        self._entries[live.job.id] = _Entry(live, rank(live.job.spec.turn, self._order, live.job.id))

    def _placed(self, live: Live) -> None:
        entry = self._entries.get(live.job.id)
        if entry is not None and entry.hold is None:
            self._unplaced.less(entry.turn.group)
            self._learn(entry)
            self._stand(entry)
            self._never(entry)
            self.look()

    # What was there before this runtime.

    def take_up(self, lives: list[Live]) -> None:
        """Tell those that wait from those that may run, which have their places."""
        for live in lives:
            if isinstance(live.job.phase, Queued) and holding.is_held(live.path) and not self._keeping.take_end(live):
                self.enter(live)
            elif not live.ended:
                self.take(live)
        for job in circular({job: entry.turn.after for job, entry in self._entries.items() if entry.turn.after}):
            entry = self._entries[job]
            self._give_up(entry.live, f"it waits for itself, by way of {', '.join(entry.turn.after)}")

    def open(self) -> None:
        """Everything is where it was; let go of whoever may start."""
        for entry in list(self._entries.values()):
            self._placed(entry.live)
        self._open = True
        self.look()

    def close(self) -> None:
        """Start nothing more."""
        self._open = False
        self._letting.close()

    # Jobs that wait.

    def _learn(self, entry: _Entry) -> None:
        """How the jobs ended that it waits for."""
        for job in entry.turn.after:
            live = self._keeping.table.live.get(job)
            found = live.job if live is not None else self._keeping.store.get(job)
            if found is not None:
                entry.ends[job] = found.phase.end if isinstance(found.phase, Ended) else None

    def _stand(self, entry: _Entry) -> None:
        """Put it where it belongs: in line, or among those that wait for other jobs or a time."""
        entry.hold = hold(entry.turn, entry.ends, _now())
        for job in entry.hold.after:
            self._followers.setdefault(job, set()).add(entry.live.job.id)
        if entry.hold.until is not None and not entry.hold.after:
            heappush(self._times, (entry.hold.until, entry.live.job.id))
            self._set_timer()
        if entry.hold.ready:
            insort(self._lines.setdefault(entry.turn.group, []), entry.rank)

    def _never(self, entry: _Entry) -> None:
        """End it, if it can never start."""
        if entry.live.held and entry.hold is not None and entry.hold.never:
            log.info("%s never starts: %s", entry.live.job.id, entry.hold.never)
            self._give_up(entry.live, entry.hold.never)

    def _give_up(self, live: Live, why: str, *, again: bool = False) -> None:
        """End a job that can never start; where that cannot be recorded now, a moment later."""
        if not live.held:
            return
        try:
            self.cancel(live, BY, why)
        except OSError as error:
            if not again:
                log.warning("the end of %s cannot be written now: %s; it is tried again", live.job.id, error.strerror)
            self._hub.call_later(_AGAIN.total_seconds(), lambda: self._give_up(live, why, again=True))

    def cancel(self, live: Live, by: str, why: str = "") -> None:
        """End a job that waits; it is never started. Raises OSError if that cannot be recorded, and then it waits on."""
        self._keeping.conclude(live, Reason.KILLED, why, by=by)
        if any(how.startswith("cgroup") for _, how in live.job.spec.enforced):
            self._keeping.groups.remove(live.job.id)

    def _leave(self, live: Live) -> None:
        """It waits no longer."""
        entry = self._entries.pop(live.job.id, None)
        live.held = False
        if entry is None:
            return
        if entry.hold is None:
            self._unplaced.less(entry.turn.group)
            return
        line = self._lines.get(entry.turn.group, [])
        at = bisect_left(line, entry.rank)
        if at < len(line) and line[at] == entry.rank:
            del line[at]
            if not line:
                del self._lines[entry.turn.group]
        for job in entry.hold.after:
            self._followers.get(job, set()).discard(live.job.id)

    # Places that become free.

    def _freed(self, live: Live) -> None:
        """A job is over: its place is free, and others may have waited for its end."""
        self._give_back(live)
        if live.held:
            self._leave(live)
        if self._followers:
            self._follow(live)
        if self._lines:
            self.look()

    def _give_back(self, live: Live) -> None:
        if live.counted:
            live.counted = False
            self.busy.less(live.job.spec.turn.group)

    def _follow(self, live: Live) -> None:
        phase = live.job.phase
        for job in self._followers.pop(live.job.id, ()):
            entry = self._entries.get(job)
            if entry is not None and isinstance(phase, Ended):
                entry.ends[live.job.id] = phase.end
                self._stand(entry)
                # Not at once: this may be one of a long chain.
                self._hub.call_soon(lambda entry=entry: self._never(entry))

    def look(self) -> None:
        """Let go of everybody whose turn it is."""
        if not self._open or self._looking:
            return
        self._looking = True
        try:
            while chosen := choose(self._lines, self.busy, self.rules):
                for _, (_, _, job) in chosen:
                    self._let_go(self._entries[job])
        finally:
            self._looking = False

    def _let_go(self, entry: _Entry) -> None:
        """Take its place at once; it starts when it is on disk that it may run."""
        self._leave(entry.live)
        self.take(entry.live)
        self._letting.go(entry.live, lambda error: self._put_back(entry, error))

    def _put_back(self, entry: _Entry, error: BaseException) -> None:
        """It keeps its rank, and gives up its place until it is tried again."""
        self._give_back(entry.live)
        entry.live.held = True
        self._entries[entry.live.job.id] = entry
        entry.hold = Hold(until=_now() + _AGAIN, failed=_why_failed(error))
        heappush(self._times, (_now() + _AGAIN, entry.live.job.id))
        self._set_timer()

    # Times that come.

    def _set_timer(self) -> None:
        """Look again at the first of the times, unless that is planned already."""
        if self._times and (self._timer is None or self._times[0][0] < self._timer):
            self._timer = self._times[0][0]
            seconds = (self._timer - _now()).total_seconds()
            self._hub.call_later(min(max(seconds, 0.0), _LOOK_AT_LEAST), self._time_came)

    def _time_came(self) -> None:
        self._timer = None
        while self._times and self._times[0][0] <= _now():
            entry = self._entries.get(heappop(self._times)[1])
            if entry is not None:
                self._stand(entry)
        self._set_timer()
        self.look()

    # What is told of it.

    def change(self, rules: Rules) -> None:
        """Other rules hold from now on. What runs goes on, whatever they say."""
        self.rules = rules
        self.look()

    def waiting(self) -> dict[str, int]:
        """How many jobs of each group wait."""
        counts: dict[str, int] = {}
        for entry in self._entries.values():
            counts[entry.turn.group] = counts.get(entry.turn.group, 0) + 1
        return counts

    def place(self, job: str) -> Place | None:
        """Where a job stands, if it waits."""
        entry = self._entries.get(job)
        if entry is None:
            return None
        if entry.hold is not None and not entry.hold.ready:
            return Place(entry.hold.why(entry.turn))
        return Place(why_not(entry.turn.group, self.busy, self.rules), 1 + self._before(entry))

    def _before(self, entry: _Entry) -> int:
        """How many go first: of its group if that is limited, else of all."""
        if room(entry.turn.group, self.busy, self.rules) is not None and entry.turn.group != ALL:
            return bisect_left(self._lines.get(entry.turn.group, []), entry.rank)
        return sum(bisect_left(line, entry.rank) for line in self._lines.values())


def _why_failed(error: BaseException) -> str:
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    return NO_ROOM if full else f"it could not start ({error}) and is tried again"


def _now() -> datetime:
    return datetime.now(UTC)
