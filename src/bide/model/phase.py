"""Where a job is, and how it ended: two things kept apart."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from errno import EACCES, ENOEXEC

from msgspec import Struct

EXIT_CANNOT_EXECUTE = 126
EXIT_NOT_FOUND = 127
EXIT_LOST = 255
NO_FOLDER = "could not enter the folder"
NO_INTERPRETER = "exists, but its interpreter does not"
"""In the `error` of a program that the system reports as not found for another reason than that it is missing."""


class Reason(StrEnum):
    """Why a job is over."""

    EXITED = "exited"
    """It ended by itself, with an exit code."""
    SIGNALED = "signaled"
    """A signal that was not ours ended it."""
    KILLED = "killed"
    """Somebody asked bide to kill it."""
    TIMED_OUT = "timed_out"
    IDLE = "idle"
    OVERFLOW = "overflow"
    OOM = "oom"
    SPAWN_FAILED = "spawn_failed"
    """The program never ran."""
    LOST = "lost"
    """It is proved that nobody can know how it ended."""


class Usage(Struct, frozen=True):
    """What a job's whole tree used. `None` is a figure that nobody knows: the job was not sampled yet, or nobody saw its end.

    The figures of one job never decrease, except `processes`.
    """

    cpu_ms: int | None = None
    """User and system time of all processes, those that ended included."""
    memory_peak_bytes: int | None = None
    """The most anonymous and shared memory that the tree was seen to hold in RAM at one time, without page cache."""
    memory_source: str = ""
    """`cgroup`, `sampled` (the tree's processes), `maxrss` (the largest single process), or empty if the peak is not known."""
    read_bytes: int | None = None
    """Bytes read by system calls, from whatever, cached or not."""
    written_bytes: int | None = None
    """Bytes written by system calls, to whatever, cached or not."""
    sampled: bool = False
    """The figures are those of a sample, and may be a little low: the job runs, or its keeper was replaced."""
    processes: int | None = None
    """Live processes at the last sample; 0 when the job has ended."""


class Kept(Struct, frozen=True):
    """How much one stream holds: bytes before `head` were dropped, `size` were written."""

    head: int = 0
    size: int = 0


class Descendant(Struct, frozen=True):
    """A process of a job's tree, named so that a reused pid is never mistaken for it."""

    pid: int
    start_ticks: int
    command: str


class End(Struct, frozen=True):
    """What happened and why. Once written it never changes."""

    reason: Reason
    exit_code: int | None = None
    """`None` when a signal ended it, when nobody knows, and never 0 unless it exited by itself."""
    signal: int | None = None
    by: str = ""
    """Who or what ended it: the caller of kill, or the limit."""
    error: str = ""
    """One sentence where there is something to say (why it could not start, why it is lost)."""
    errno: int = 0
    """What the system answered, for `spawn_failed`."""
    duration: timedelta = timedelta(0)
    """By a monotonic clock, so that a jump of the wall clock does not change it."""
    usage: Usage = Usage()
    out: Kept = Kept()
    err: Kept = Kept()
    missing_bytes: int | None = 0
    """Bytes the job wrote that could not be kept (a full disk); `None` if nobody knows how many, or whether any."""
    taken_over: int = 0
    """How often a replacement keeper took over."""
    escaped: tuple[str, ...] = ()
    """Limits whose control group a process of the job left, so that they were sampled or not enforced from then on."""
    survivors: tuple[Descendant, ...] = ()
    """Descendants that were alive when the job ended."""

    @property
    def success(self) -> bool:
        """Whether it exited by itself with 0."""
        return self.reason is Reason.EXITED and self.exit_code == 0

    @property
    def kept_bytes(self) -> int:
        """How many bytes of its output are kept."""
        return max(0, self.out.size - self.out.head) + max(0, self.err.size - self.err.head)

    @property
    def status(self) -> int:
        """The exit status a shell would show: never 0 unless it succeeded."""
        fixed = {
            Reason.TIMED_OUT: 124,
            Reason.IDLE: 125,
            Reason.OVERFLOW: 126,
            Reason.OOM: 137,
            Reason.LOST: EXIT_LOST,
        }
        if self.reason in fixed:
            return fixed[self.reason]
        if self.signal is not None:
            return 128 + self.signal
        if self.exit_code is not None:
            return self.exit_code
        if self.reason is Reason.SPAWN_FAILED:
            return EXIT_CANNOT_EXECUTE if self.errno in (EACCES, ENOEXEC) else EXIT_NOT_FOUND
        return 143


class Queued(Struct, frozen=True):
    """Accepted and durable; no process yet."""


class Running(Struct, frozen=True):
    """Its keeper holds a live process."""

    started_at: datetime
    pid: int


class Ended(Struct, frozen=True):
    """Over, for ever."""

    ended_at: datetime
    end: End
    started_at: datetime | None = None
    """`None` when the program never ran."""
    pid: int | None = None


Phase = Queued | Running | Ended
Begun = Running | Ended
"""What knows when it started, if it did."""

MOVES: dict[type[Phase], tuple[type[Phase], ...]] = {
    Queued: (Running, Ended),
    Running: (Ended,),
    Ended: (),
}
"""The one table of moves; the store's guarded updates are tested against it."""

PHASE_NAMES: dict[type[Phase], str] = {Queued: "queued", Running: "running", Ended: "ended"}
