"""Who goes next: which queued jobs may start, what the others wait for, and which can never start.

Nothing here looks at a clock or at a process: what runs, what ended and what time it is are given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from heapq import heapify, heappop, heapreplace

from msgspec import Struct, field

from bide.model.phase import End, Reason
from bide.model.times import stamp
from bide.model.turn import Turn

ALL = ""
"""In place of a group: all jobs, whatever group they have."""

Rank = tuple[int, int, str]
"""A job's place among those that are ready: ranks sort in the order in which the jobs go."""


def rank(turn: Turn, order: int, job: str) -> Rank:
    """Greater priority first; among equals, first in first out."""
    return -turn.priority, order, job


class Rules(Struct, frozen=True):
    """How many may run at once, and what is paused."""

    limits: Mapping[str, int | None] = field(default_factory=dict[str, int | None])
    """The most that may run at once: of a group, or of ALL jobs together. `None` is no limit, whatever `each` says."""
    paused: frozenset[str] = frozenset()
    """Groups of which nothing starts; with ALL, nothing starts at all."""
    each: Mapping[str, int] = field(default_factory=dict[str, int])
    """The most of each group that lies right in this one, where `limits` does not name it."""

    @property
    def bind_all(self) -> bool:
        """Whether they may keep a job from starting at once that is of no group."""
        return self.limit(ALL) is not None or ALL in self.paused

    def limit(self, name: str) -> int | None:
        """The most of this group, or of ALL; `None` if there is no limit."""
        return self.limits[name] if name in self.limits else self.each.get(name.rpartition(".")[0])


def lineage(group: str) -> tuple[str, ...]:
    """A group and those it lies in: `a.b` lies in `a`, and what is said of `a` is said of it too."""
    parts = group.split(".")
    return tuple(".".join(parts[: at + 1]) for at in reversed(range(len(parts)))) if group else ()


def within(group: str, counts: Mapping[str, int]) -> int:
    """How many are in this group and in those that lie in it."""
    inner = f"{group}."
    return sum(count for name, count in counts.items() if name == group or name.startswith(inner))


def _alone(name: str, busy: Mapping[str, int], rules: Rules) -> int | None:
    """How many more may start, as far as this one name goes."""
    limit = 0 if name in rules.paused else rules.limit(name)
    return None if limit is None else max(limit - within(name, busy), 0)


def room(group: str, busy: Mapping[str, int], rules: Rules) -> int | None:
    """How many more jobs of this group may start, the limit on all jobs aside; `None` if there is no limit."""
    if group == ALL:
        return 0 if ALL in rules.paused else None
    rooms = [free for name in lineage(group) if (free := _alone(name, busy, rules)) is not None]
    return min(rooms, default=None)


def room_for_all(busy: Mapping[str, int], rules: Rules) -> int | None:
    """How many more jobs may start, whatever their group; `None` if there is no limit."""
    limit = 0 if ALL in rules.paused else rules.limit(ALL)
    return None if limit is None else max(limit - sum(busy.values()), 0)


def has_room(group: str, busy: Mapping[str, int], rules: Rules) -> bool:
    """Whether one more job of this group may start."""
    return room(group, busy, rules) != 0 and room_for_all(busy, rules) != 0


def choose(lines: Mapping[str, Sequence[Rank]], busy: Mapping[str, int], rules: Rules) -> list[tuple[str, Rank]]:
    """Who starts now, in this order: group and rank.

    `lines` has the jobs that are ready, by group, each line in the order of its ranks; `busy` says how many of each
    group run. A group that is full or paused holds nobody else back. Costs what starts, not what waits.
    """
    chosen: list[tuple[str, Rank]] = []
    left = room_for_all(busy, rules)
    names = {name for group, line in lines.items() if line for name in lineage(group)}
    rooms = {name: free for name in names if (free := _alone(name, busy, rules)) is not None}
    heads = [(line[0], group, 0) for group, line in lines.items() if line and room(group, busy, rules) != 0]
    heapify(heads)
    while heads and left != len(chosen):
        first, group, at = heads[0]
        limited = [name for name in lineage(group) if name in rooms]
        if any(not rooms[name] for name in limited):
            heappop(heads)
            continue
        chosen.append((group, first))
        for name in limited:
            rooms[name] -= 1
        if at + 1 < len(lines[group]):
            heapreplace(heads, (lines[group][at + 1], group, at + 1))
        else:
            heappop(heads)
    return chosen


def why_not(group: str, busy: Mapping[str, int], rules: Rules) -> str:
    """What a job that is ready waits for, in words."""
    if ALL in rules.paused:
        return "all jobs are paused"
    for name in lineage(group):
        if name in rules.paused:
            return f"group {name!r} is paused"
        if _alone(name, busy, rules) == 0:
            return f"{within(name, busy)} of {rules.limit(name)} jobs of group {name!r} run"
    if room_for_all(busy, rules) == 0:
        return f"{sum(busy.values())} of {rules.limit(ALL)} jobs run"
    return "it is about to start"


class Hold(Struct, frozen=True):
    """What keeps a job from being ready; as it stands, nothing."""

    after: tuple[str, ...] = ()
    """Jobs that have not ended yet."""
    until: datetime | None = None
    """Not before this time."""
    never: str = ""
    """Why it can never start."""
    failed: str = ""
    """What kept it from starting when it was its turn."""

    @property
    def ready(self) -> bool:
        """Whether it only needs a free place."""
        return not (self.after or self.until or self.never)

    def why(self, turn: Turn) -> str:
        """What it waits for, in words."""
        if self.after:
            how = "the end" if turn.after_any else "the success"
            return f"it starts after {how} of {', '.join(self.after)}"
        return self.never or self.failed or f"it starts at {stamp(self.until)}"


def hold(turn: Turn, ends: Mapping[str, End | None], now: datetime) -> Hold:
    """What a job waits for beside a free place.

    `ends` says of the jobs in `after` how they ended, `None` for one that is still active; one that is not in it was
    forgotten, and nobody knows.
    """
    for job in turn.after:
        if job not in ends:
            return Hold(never=f"it was to start after {job}, which was forgotten before its turn came")
        end = ends[job]
        if end is not None and not end.success and not turn.after_any:
            return Hold(never=f"it was to start after the success of {job}, which {_how(end)}")
    later = turn.at if turn.at is not None and turn.at > now else None
    return Hold(after=tuple(job for job in turn.after if ends[job] is None), until=later)


def _how(end: End) -> str:
    if end.reason is Reason.EXITED:
        return f"exited with {end.exit_code}"
    if end.reason is Reason.SIGNALED:
        return f"was ended by signal {end.signal}"
    words = {Reason.KILLED: "was killed", Reason.LOST: "is lost", Reason.SPAWN_FAILED: "could not start"}
    return words.get(end.reason, f"ended as {end.reason}")


def circular(after: Mapping[str, Sequence[str]]) -> set[str]:
    """Of jobs and those each waits for, the ones that wait for themselves, or for one that does."""
    waiting = {job: sum(other in after for other in others) for job, others in after.items()}
    followers: dict[str, list[str]] = {}
    for job, others in after.items():
        for other in others:
            followers.setdefault(other, []).append(job)
    free = [job for job, count in waiting.items() if not count]
    while free:
        job = free.pop()
        del waiting[job]
        for follower in followers.get(job, ()):
            waiting[follower] -= 1
            if not waiting[follower]:
                free.append(follower)
    return set(waiting)
