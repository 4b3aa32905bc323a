"""An active job as the runtime holds it: its keeper, what is kept in escrow for it, and who waits for it.

Nothing here is durable; all of it can be had again from the job's folder.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
from collections.abc import Callable
from dataclasses import dataclass, field

from bide.keeper import folder, launch
from bide.model.job import Job
from bide.model.phase import Ended
from bide.runtime.hub import Bell
from bide.store.future import Future

_SPARE = 32


@dataclass(slots=True)
class Live:
    """One active job."""

    job: Job
    path: str
    inserted: Future[Job] | None = None
    """Its row, on its way to the disk; `None` for a job that was there before this runtime."""
    doomed: bool = False
    """Its row cannot be written, so that it must not be: it is ended as soon as it has a keeper to end it."""
    leaving: bool = False
    """It is over, and what it leaves in its session is being written."""
    entered: bool = False
    """Its keeper is in the folder, so that it may be moved."""
    held: bool = False
    """It waits for its turn: nothing was started, and nothing is held open for it."""
    counted: bool = False
    """It has one of the places that its group, and all jobs together, may have."""
    keeper_fd: int = -1
    leader_fd: int = -1
    escrow: list[int] = field(default_factory=list[int])
    """Ends of the job's FIFOs, held and never read: with one open, no byte in a pipe can be lost."""
    stdin_end: int = -1
    in_fd: int = -1
    tty_fd: int = -1
    asked: int = 0
    """The nursery (its number) that was asked for a keeper and has not answered yet."""
    refused: int = 0
    """The code with which a keeper refused to begin."""
    stalled: bool = False
    """Its output waits for room on the disk."""
    lacks_room: bool = False
    """Its keeper could not begin because the disk is full; it is tried again."""
    kept_since: float = 0.0
    deaths: int = 0
    """How many keepers in a row died young."""
    pause: float = 0.0
    """Seconds until the next attempt, when one failed."""
    watchers: int = 0
    seen: bool = False
    """Somebody was told of its end before its row was moved."""
    awaited: int = 0
    """How many callers wait for its end, and will be told of it first thing."""
    stored: bool = False
    """Its row is being moved to ended, or was."""
    store_due: bool = False
    """That failed, and is tried again in a while."""
    changed: Bell = field(default_factory=Bell)
    output: Bell = field(default_factory=Bell)

    @property
    def ended(self) -> bool:
        """Whether its end is known."""
        return isinstance(self.job.phase, Ended)

    def open_escrow(self, spare: int = _SPARE) -> None:
        """Hold what must not close: the read ends of its output, the write end of its stdin.

        Raises OSError, also if fewer than `spare` descriptors would be left: those are for the jobs that run already.
        """
        self.close_escrow()
        for name in ("out.p", "err.p"):
            with contextlib.suppress(FileNotFoundError):
                self.escrow.append(os.open(f"{self.path}/{name}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
        if self.job.spec.stdin and not self.job.spec.pty and not self._input_delivered():
            with contextlib.suppress(FileNotFoundError):
                self.stdin_end = os.open(f"{self.path}/in.p", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            self.close_stdin()
        if max(self.escrow, default=0) + spare >= resource.getrlimit(resource.RLIMIT_NOFILE)[0]:
            self.close_escrow()
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    def _input_delivered(self) -> bool:
        return bool(folder.read_live(self.path).get("in_closed"))

    def close_stdin(self) -> None:
        """Let the job see the end of its stdin, once the keeper has put all of the input into it and closed its own end.

        If we let go before, a keeper that dies meanwhile would end the input too early.
        """
        if self.stdin_end >= 0 and self._input_delivered():
            os.close(self.stdin_end)
            self.stdin_end = -1

    def close_escrow(self) -> None:
        """Let go of everything held for the job."""
        for fd in (*self.escrow, self.stdin_end, self.in_fd, self.tty_fd):
            if fd >= 0:
                os.close(fd)
        self.escrow.clear()
        self.stdin_end = self.in_fd = self.tty_fd = -1

    def hold(self, kind: str, fds: list[int]) -> None:
        """Keep what the keeper handed over: the position in its input, and its terminal."""
        wanted = 2 if kind == "fds-terminal" else 1
        for fd in (self.in_fd, self.tty_fd):
            if fd >= 0:
                os.close(fd)
        self.in_fd = self.tty_fd = -1
        if len(fds) == wanted and not self.ended:
            self.in_fd = fds[0]
            self.tty_fd = fds[1] if wanted == 2 else -1
        else:
            for fd in fds:
                os.close(fd)

    def watch_output(self) -> None:
        """One more wants to be told of output."""
        self.watchers += 1
        if self.watchers == 1:
            folder.command(self.path, "watch 1")

    def unwatch_output(self) -> None:
        """One fewer."""
        self.watchers -= 1
        if self.watchers == 0 and not self.ended:
            folder.command(self.path, "watch 0")

    def hold_leader(self, started: folder.Started | None) -> None:
        """Have what tells how the leader ends, if it is still there."""
        if self.leader_fd >= 0 or started is None or not started.ticks:
            return
        with contextlib.suppress(OSError):
            fd = os.pidfd_open(started.pid)
            if launch.start_ticks(started.pid) == started.ticks:
                self.leader_fd = fd
            else:
                os.close(fd)

    def witness(self) -> bool:
        """If the leader is over and its keeper is dead, put its status on record; then let it go, if it was our child."""
        started = folder.read_started(self.path)
        if started is None or not started.ticks:
            return False
        ours = launch.start_ticks(started.pid) == started.ticks
        status = launch.peek(started.pid) if ours else None
        if status is None and self.leader_fd >= 0:
            ours, status = False, launch.exit_status(self.leader_fd)
        if status is None:
            return False
        try:
            folder.write_status(self.path, status)
        except OSError:
            return False  # it stays a zombie, and the new keeper reads its status from there
        if ours:
            launch.reap(started.pid)
        return True


class Table:
    """All active jobs, by id, name and key."""

    def __init__(self) -> None:
        """Nothing is active yet."""
        self.live: dict[str, Live] = {}
        self._names: dict[tuple[str, str], Live] = {}
        self._keys: dict[tuple[str, str], Live] = {}
        self._prints: dict[tuple[str, str], list[Live]] = {}
        self.added: list[Callable[[Live], None]] = []
        """Who is told of each job that becomes active."""
        self.dropped: list[Callable[[Live], None]] = []
        """Who is told of each job that was active: its end is in its row."""

    def add(self, job: Job, path: str) -> Live:
        """Hold a job as active."""
        live = Live(job=job, path=path)
        self.live[job.id] = live
        if job.name is not None:
            self._names[job.owner, job.name] = live
        if job.key is not None:
            self._keys[job.owner, job.key] = live
        if job.fingerprint is not None:
            self._prints.setdefault((job.owner, job.fingerprint), []).append(live)
        for told in self.added:
            told(live)
        return live

    def drop(self, live: Live) -> None:
        """No longer hold it; a newer job may have its name by now. The second time does nothing."""
        job = live.job
        if self.live.pop(job.id, None) is None:
            return
        for index, word in ((self._names, job.name), (self._keys, job.key)):
            if word is not None and index.get((job.owner, word)) is live:
                del index[job.owner, word]
        if job.fingerprint is not None and live in (equal := self.with_print(job.owner, job.fingerprint)):
            equal.remove(live)
            if not equal:
                del self._prints[job.owner, job.fingerprint]
        for told in self.dropped:
            told(live)

    def with_name(self, owner: str, name: str) -> Live | None:
        """The owner's active job of this name."""
        live = self._names.get((owner, name))
        return None if live is None or live.ended else live

    def with_key(self, owner: str, key: str) -> Live | None:
        """The owner's job with this key, as long as it is held."""
        return self._keys.get((owner, key))

    def with_print(self, owner: str, fingerprint: str) -> list[Live]:
        """The owner's jobs with this fingerprint, as long as they are held, oldest first."""
        return self._prints.get((owner, fingerprint), [])
