"""A job: what was asked, by whom, and where it is."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import NewType

from msgspec import Struct, field
from msgspec.structs import replace

from bide.model.askfacts import AskFacts
from bide.model.errors import BadRequest
from bide.model.lifetime import Lifetime
from bide.model.limits import FALLBACK, Limits
from bide.model.notify import Notify
from bide.model.phase import PHASE_NAMES, Descendant, Ended, Kept, Phase, Queued, Usage
from bide.model.question import Posed
from bide.model.service import Port, Service
from bide.model.turn import NOW, Place, Turn

JobId = NewType("JobId", str)

ID_PATTERN = re.compile(r"j[0-9a-hjkmnp-tv-z]{10}\Z|job-.+-[0-9]+\Z")
"""A job's own id; one that was started in a session is `job-{session}-{seq}`."""
NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_ID_EPOCH_MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z

DEFAULT_OWNER = "user"


def make_id(now_ms: int, random_bits: int) -> JobId:
    """A time-ordered id: 40 bits of milliseconds and 10 random ones."""
    number = (((now_ms - _ID_EPOCH_MS) & ((1 << 40) - 1)) << 10) | (random_bits & 1023)
    digits = [_ALPHABET[(number >> shift) & 31] for shift in range(45, -1, -5)]
    return JobId("j" + "".join(digits))


def id_after(previous: str) -> JobId:
    """The next id in order, for when the clock stands still or runs backwards."""
    number = 1
    for digit in previous[1:]:
        number = (number << 5) | _ALPHABET.index(digit)
    number += 1
    return JobId("j" + "".join(_ALPHABET[(number >> shift) & 31] for shift in range(45, -1, -5)))


def check_name(name: str) -> str:
    """The name, if it can be one."""
    if not NAME_PATTERN.match(name):
        detail = (
            f"{name!r} cannot be a job's name; use 1 to 64 letters, digits, '.', '_' or '-', not beginning with a sign"
        )
        raise BadRequest(detail=detail)
    if ID_PATTERN.match(name):
        raise BadRequest(detail=f"{name!r} has the form of an id; choose another name")
    return name


class Spec(Struct, frozen=True):
    """What to run and how. Validated once, when it is asked for."""

    argv: tuple[str, ...]
    """What is executed; for a shell command, the shell and its arguments."""
    command: str
    """What the caller wrote, for people to read."""
    cwd: str
    kind: str = "shell"
    stdin: bool = False
    pty: bool = False
    merge: bool = False
    """stderr goes where stdout goes, in one order."""
    fence: bool = True
    """Signals from the job reach only the job (Landlock, where the kernel has it)."""
    limits: Limits = field(default_factory=Limits)
    enforced: tuple[tuple[str, str], ...] = ()
    """What enforces each resource limit as set up at its start: (`memory`, `cgroup v2`), …"""
    background: bool = False
    turn: Turn = NOW
    lifetime: Lifetime = Lifetime.FREE
    ttl: timedelta | None = None
    """It is ended this long after it was asked for."""
    service: Service | None = None
    notify: Notify = field(default_factory=Notify)
    """What to tell of it."""
    ask: AskFacts | None = None
    """Of a job of an LLM's command line."""


class Taken(Struct, frozen=True):
    """Bytes of input: taken by the job, of so many sent to it."""

    taken: int
    size: int


class Facts(Struct, frozen=True):
    """What is so beside the phase, at the moment of reading: of a running job, or of what outlives an ended one."""

    waiting: str | None = None
    """The job asks for input, and this is its question, or the last unfinished line of its output."""
    usage: Usage | None = None
    out: Kept = Kept()
    err: Kept = Kept()
    input: Taken | None = None
    """Of a running job with a stdin: how much was sent to it, and how much of that it has taken."""
    stalled: bool = False
    """The disk is full: output waits in the pipe, nothing is lost yet."""
    alive: tuple[Descendant, ...] = ()
    """Descendants of an ended job that still run."""
    paused: bool = False
    """Its whole tree is stopped until it is resumed."""
    queue: Place | None = None
    """Where a queued job stands."""
    ports: tuple[Port, ...] | None = None
    """What its processes listen on; looked up by `get` alone."""
    ready: bool | None = None
    """Whether a service is ready; `None` for other jobs."""
    ready_at: datetime | None = None
    """Since when, or when it was."""
    successor: str | None = None
    """The job that came after this one, when a service was started again."""
    gave_up: str = ""
    """Why a service that should come back does not any more."""
    escaped: tuple[str, ...] = ()
    """Of a running job: as in its end."""
    question: Posed | None = None
    """What it asks, and how that is answered; `None` also while input that was sent to it is on its way."""
    unsure: bool = False
    """That it asks for input is a guess from its output: the kernel does not tell."""


class Job(Struct, frozen=True):
    """One job, as it was when this was read."""

    id: JobId
    spec: Spec
    created_at: datetime
    name: str | None = None
    owner: str = DEFAULT_OWNER
    label: str = ""
    session: str | None = None
    key: str | None = None
    """The caller's key for this request; the same key never starts a second job."""
    parent: str | None = None
    """The job from which it was started."""
    fingerprint: str | None = None
    """Equal for requests that would do the same."""
    phase: Phase = field(default_factory=Queued)
    facts: Facts | None = None
    seen: bool = False
    """Somebody was told of its end: by run, wait, get or read."""
    output_dropped_at: datetime | None = None
    """Its output went then, to make room for that of others; the record says how much it was."""

    @property
    def phase_name(self) -> str:
        """`queued`, `running` or `ended`."""
        return PHASE_NAMES[type(self.phase)]

    @property
    def enforced(self) -> dict[str, str]:
        """What enforces each resource limit now, or did at the end: `cgroup v2`, `cgroup v1`, `sampled` or `none`."""
        escaped = self.phase.end.escaped if isinstance(self.phase, Ended) else self.facts.escaped if self.facts else ()
        return {name: FALLBACK[name] if name in escaped else how for name, how in self.spec.enforced}

    def at(self, phase: Phase) -> Job:
        """This job in another phase."""
        return replace(self, phase=phase)

    def without_output(self, at: datetime) -> Job:
        """This job, over, with its output dropped: what was written is still counted, and nothing of it is kept."""
        phase = self.phase
        if isinstance(phase, Ended):
            end = replace(phase.end, out=_all_dropped(phase.end.out), err=_all_dropped(phase.end.err))
            phase = replace(phase, end=end)
        return replace(self, phase=phase, output_dropped_at=at)


def _all_dropped(kept: Kept) -> Kept:
    return Kept(kept.size, kept.size)
