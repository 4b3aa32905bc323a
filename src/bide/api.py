"""The verbs. One Protocol, done on this machine by `runtime` and over the socket by `client`.

The docstrings here are the ones the doors show.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, Unpack

from bide.model.event import Event
from bide.model.job import Job
from bide.model.output import Slice, Stream
from bide.model.phase import Descendant
from bide.model.request import Request, RunOptions
from bide.model.retention import Collected
from bide.model.until import Until
from bide.model.waiting import Mode, Waited

READ_LIMIT = 1024 * 1024
PAGE = 50


@dataclass(frozen=True, slots=True)
class Ran:
    """What `run` answers."""

    job: Job
    joined: bool = False
    """An earlier request with the same key had started it."""
    deferred: bool = False
    """The deadline passed first; the job goes on."""
    out: Slice | None = None
    """The tail of stdout so far (foreground only)."""
    err: Slice | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Some jobs, newest first."""

    jobs: tuple[Job, ...]
    next: str | None = None
    """Give this as `before` to see older ones."""


@dataclass(frozen=True, slots=True)
class Killed:
    """What `kill` answers."""

    job: Job
    signalled: int = 0
    """How many processes were signalled."""
    verified_empty: bool = True
    """Nothing of the tree is left."""
    survivors: tuple[Descendant, ...] = ()
    """What is left, if anything."""
    already_ended: bool = False


@dataclass(frozen=True, slots=True)
class Filter:
    """Which jobs to list; every condition given must hold."""

    phase: str | None = None
    reason: str | None = None
    session: str | None = None
    owner: str | None = None
    label: str | None = None
    kind: str | None = None
    name: str | None = None
    since: datetime | None = None
    """Created at this time or later."""
    until: datetime | None = None
    """Created before this time."""


class Upkeep(Protocol):
    """Who is there, and what of the past is kept."""

    def attend(self, owner: str) -> AbstractAsyncContextManager[None]:
        """While inside, a client of this owner is there: jobs that live with their owner go on.

        When the last one leaves, or dies, those jobs have the time of grace until another comes, and are then ended.
        """
        ...

    async def gc(
        self, *, dry_run: bool = False, older_than: timedelta | None = None, owner: str | None = None
    ) -> Collected:
        """Remove what retention no longer keeps, as the daemon does by itself; with `dry_run`, only say what would go.

        With `older_than`, forget the jobs that ended that long ago or longer, seen or not, of one owner or of all.
        """
        ...


class Events(Protocol):
    """What happens to jobs, as it happens."""

    def follow(self, *, after: int | None = None, job: str | None = None) -> AsyncIterator[Event]:
        """Every move after this sequence number (by default: from now on), in order, for ever."""
        ...


class Jobs(Protocol):
    """The verbs of jobs. Wherever an id is taken, a name is taken as well: the owner's active job, else the newest."""

    async def run(self, command: str | Sequence[str] | Request, **options: Unpack[RunOptions]) -> Ran:
        """Start a command as a job and answer with its end, or with the job itself.

        The job is durable before its id is given out. In the foreground the answer comes at its end, with the tails of
        its output; past the deadline it is deferred: the job goes on and the answer says so. In the background the
        answer comes as soon as it runs. Cancelling the call never touches the job.
        """
        ...

    async def get(self, job: str) -> Job:
        """One job as it is now: phase, end, usage, whether it waits for input."""
        ...

    async def list(self, where: Filter = ..., *, limit: int = PAGE, before: str | None = None) -> Page:
        """Jobs, newest first, one page at a time."""
        ...

    async def wait(
        self,
        jobs: Sequence[str],
        *,
        mode: Mode = Mode.ALL,
        until: Until = ...,
        timeout: timedelta | None = None,  # noqa: ASYNC109 - the timeout is a result here, not a cancellation
    ) -> Waited:
        """Wait until any or all of the jobs ended, or until a condition holds; costs nothing meanwhile.

        A timeout is a result, not an error. Cancelling a wait never touches the jobs.
        """
        ...

    async def read(
        self,
        job: str,
        *,
        stream: Stream = Stream.OUT,
        offset: int | None = None,
        limit: int = READ_LIMIT,
        tail: int | None = None,
        grep: str | None = None,
        follow: timedelta | None = None,
    ) -> Slice:
        """Bytes of one stream, from an absolute offset or as the last `tail` lines.

        Joining successive reads gives the output byte for byte. If the offset was dropped the slice begins at the head
        and says so. With `grep`, only whole lines that match the regular expression, each with its offset. With
        `follow`, an empty read waits that long for more bytes or the end.
        """
        ...

    async def send(self, job: str, *, data: bytes = b"", eof: bool = False, signal: int | None = None) -> Job:
        """Write bytes to a job's stdin or terminal, close it, or send its process group a signal."""
        ...

    async def kill(
        self, job: str, *, signal: int = 15, grace: timedelta = timedelta(seconds=5), by: str = "user"
    ) -> Killed:
        """Signal the whole tree, wait for the grace time, then KILL what is left (grace 0: no KILL).

        Reaches children that left the group or session. Answers when the tree is verified empty, or says what survives.
        On an ended job it ends the descendants that outlived it.
        """
        ...

    async def forget(self, job: str) -> None:
        """Remove an ended job's record and output; its id then says that it was forgotten, and when."""
        ...
