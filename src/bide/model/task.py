"""Tasks: coroutines of an embedding program that are jobs. How they are named, and what became of them."""

from __future__ import annotations

from signal import SIGPIPE

from msgspec import Struct
from msgspec.structs import replace

from bide.model.job import Job
from bide.model.phase import End, Ended, Queued, Reason

NAME = "task"
LOST_PROGRAM = "the program whose coroutine it was went away before it was done"


class Place(Struct, frozen=True):
    """Where the program of a task listens, and which of its coroutines is meant."""

    path: str
    token: str
    shown: str
    """The coroutine, for people to read."""

    def write(self) -> str:
        """As the command of a request."""
        return "\n".join((self.path, self.token, self.shown))

    @staticmethod
    def read(command: str) -> Place | None:
        """From the command of a request; `None` if it is none."""
        parts = command.split("\n", 2)
        return Place(*parts) if len(parts) == 3 and all(parts) else None


def end_of(end: End) -> End:
    """How a task ended, from how its stand-in did: one whose program vanished ends itself by SIGPIPE."""
    if end.reason is Reason.SIGNALED and end.signal == SIGPIPE:
        return replace(end, reason=Reason.LOST, signal=None, error=LOST_PROGRAM)
    return end


def progress(job: Job) -> str:
    """`pending`, `running`, `completed`, `failed` or `aborted`."""
    if isinstance(job.phase, Queued):
        return "pending"
    if not isinstance(job.phase, Ended):
        return "running"
    end = job.phase.end
    return "completed" if end.success else "aborted" if end.reason is Reason.KILLED else "failed"
