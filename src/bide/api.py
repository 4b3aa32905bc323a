"""The verbs. One Protocol, done on this machine by `runtime` and over the socket by `client`.

The docstrings here are the ones the doors show.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol, Unpack

from bide.model.event import Event
from bide.model.job import Job
from bide.model.output import Slice, Stream
from bide.model.phase import Descendant
from bide.model.request import Request, RunOptions
from bide.model.retention import Collected
from bide.model.session import Session
from bide.model.until import Until
from bide.model.waiting import Mode, Waited

READ_LIMIT = 1024 * 1024
PAGE = 50


@dataclass(frozen=True, slots=True)
class Ran:
    """What `run` answers."""

    job: Job
    joined: bool = False
    """An earlier request had started it: one with the same key, or an equal one if reuse was asked for."""
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
    parent: str | None = None
    """Started from this job."""
    since: datetime | None = None
    """Created at this time or later."""
    until: datetime | None = None
    """Created before this time."""


@dataclass(frozen=True, slots=True)
class Group:
    """Jobs that share a limit."""

    name: str | None
    """`None`: all jobs together."""
    limit: int | None
    """How many may run at once; `None` for no limit."""
    paused: bool
    """Nothing of it starts."""
    running: int = 0
    waiting: int = 0


class Groups(Protocol):
    """How many jobs of a group may run at once, or of all jobs together: there the group is `None`.

    What is set here holds over restarts, and over what the home's config.toml says. What runs goes on in any case.
    """

    async def list(self) -> tuple[Group, ...]:
        """All jobs together, then every group that has a limit, is paused, or has active jobs."""
        ...

    async def limit(self, group: str | None, most: int | None) -> Group:
        """Let at most so many run at once; `None` for any number."""
        ...

    async def pause(self, group: str | None) -> Group:
        """Start nothing more of it."""
        ...

    async def resume(self, group: str | None) -> Group:
        """Start again what waits."""
        ...


class Services(Protocol):
    """What services have beyond the verbs of jobs."""

    async def restart(self, job: str, *, grace: timedelta = ..., by: str = ...) -> Ran:
        """End a service, verified, if it runs; then start it as it was: same command, folder, environment and policy.

        The answer is that of a foreground run: when it is ready, or says that it was not in time. A service that has
        ended is started again. If something of it survives the kill, nothing is started.
        """
        ...


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


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """What starting a session answers."""

    session: Session
    evicted: tuple[str, ...] = ()
    """Sessions that had to go for it; what runs in them goes on."""


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """What ending a session answers."""

    session: Session
    """As it was at last."""
    killed: tuple[str, ...] = ()
    """Its jobs that were active, and are verified to be over."""
    unverified: tuple[str, ...] = ()
    """Those of which something may be left; look at them with `get`."""
    forgotten: int = 0
    """How many of its jobs were forgotten."""


class Sessions(Protocol):
    """Shell-like places: what a run does to its folder, environment and variables holds for the next run."""

    async def start(
        self,
        session: str | None = None,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        vars: Mapping[str, Any] | None = None,  # noqa: A002 - the word for them everywhere
        base_env: Mapping[str, str] | None = None,
        owner: str | None = None,
    ) -> SessionStarted:
        """Open a session, with an id of the caller's or a short one of its own.

        It begins in the caller's folder and with the caller's environment unless others are given. If there are as
        many as may be, the least recently active one goes: one without active jobs if there is one; no job is killed.
        """
        ...

    async def update(
        self,
        session: str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        unset: Sequence[str] = (),
        vars: Mapping[str, Any] | None = None,  # noqa: A002
        drop: Sequence[str] = (),
    ) -> Session:
        """Change its folder, set and unset variables of its environment, set `vars` and drop some. All of it or nothing."""
        ...

    async def get(self, session: str) -> Session:
        """One session as it is now, with its newest jobs."""
        ...

    async def list(self, *, owner: str | None = None) -> tuple[Session, ...]:
        """The open sessions, the most recently active first."""
        ...

    async def job(self, session: str, job: str | int) -> Job:
        """One job of a session by its id, its name or its pid; a job of another session is not found."""
        ...

    async def end(self, session: str, *, forget: bool = False) -> SessionEnded:
        """Kill what is active in it, verified, and close it; with `forget`, forget its jobs as well.

        Without, they stay where all jobs are, under their owner.
        """
        ...


class Jobs(Protocol):
    """The verbs of jobs. Wherever an id is taken, a name is taken as well: the owner's active job, else the newest."""

    @property
    def groups(self) -> Groups:
        """Limits on how many run at once."""
        ...

    @property
    def services(self) -> Services:
        """What services have beyond these."""
        ...

    @property
    def sessions(self) -> Sessions:
        """The sessions that jobs can run in."""
        ...

    async def run(self, command: str | Sequence[str] | Request, **options: Unpack[RunOptions]) -> Ran:
        """Start a command as a job and answer with its end, or with the job itself.

        The job is durable before its id is given out. In the foreground the answer comes at its end, with the tails of
        its output; past the deadline it is deferred: the job goes on and the answer says so. In the background the
        answer comes as soon as it runs, or, if its turn has not come, as soon as it is queued. A request that asks for
        reuse may join an equal job instead. Cancelling the call never touches the job.
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

    async def send(
        self,
        job: str,
        *,
        data: bytes = b"",
        eof: bool = False,
        signal: int | None = None,
        at: int | None = None,
        pause: bool | None = None,
    ) -> Job:
        """Write bytes to a job's stdin or terminal, close it, send its process group a signal, pause or resume it.

        With `at`, the data is what begins at this byte of all its input: what is there already is not written again, so
        that whoever does not know whether it was heard can say it once more. What is written to a queued job it finds
        when it starts. With `pause`, its whole tree is stopped, and the answer comes when it is; with False it goes on.
        Its time limit counts meanwhile.
        """
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
