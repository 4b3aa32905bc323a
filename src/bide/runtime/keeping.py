"""Keepers and their jobs: start, watch, replace, adopt, and take up ends.

Reads the folders, which are the truth, and moves the rows of the store after them.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import time

from bide.keeper import ends, folder, launch
from bide.model.job import Job
from bide.model.phase import Ended, Queued, Reason, Running
from bide.runtime.home import Home
from bide.runtime.hub import Bell, Hub
from bide.runtime.live import Live, Table
from bide.runtime.notes import Notes
from bide.runtime.nursing import Nursing
from bide.store.store import Store

log = logging.getLogger(__name__)

_KEEPER_REFUSED = {5: "its folder is not complete", 6: "its folder cannot be written (is the disk full?)"}
_ATTEMPTS = 20


class Keeping:
    """All active jobs and their keepers."""

    def __init__(self, home: Home, store: Store, hub: Hub) -> None:
        """Listen for notes at once, so that none is missed."""
        self.home: Home = home
        self.store: Store = store
        self.hub: Hub = hub
        self.table: Table = Table()
        self.kills: dict[str, Bell] = {}
        self.events: Bell = Bell()
        self.orphans: bool = False
        """Whether keepers have died here, so that their jobs' processes may be ours to reap."""
        self._notes = Notes(home, hub, self._noted)
        self.nursing: Nursing = Nursing(hub, self._keeper_made, self._nursery_gone)
        self._unkept: list[Live] = []

    def committed(self, live: Live) -> None:
        """The row is on disk, so the folder may go where such folders are; or it cannot be, and the job must not be."""
        error = live.inserted.exception() if live.inserted is not None else None
        if error is None:
            self._place(live)
        else:
            log.error("the row of %s could not be written (%s); it is ended", live.job.id, error)
            folder.command(live.path, f"kill {signal.SIGKILL} 0 - no row")
            self.table.drop(live)
            live.close_escrow()
        self.events.ring()

    def _place(self, live: Live) -> None:
        done = live.inserted is None or (live.inserted.done() and live.inserted.exception() is None)
        if done and live.entered and live.path != self.home.job(live.job.id):
            os.rename(live.path, self.home.job(live.job.id))
            live.path = self.home.job(live.job.id)

    def start(self, live: Live) -> None:
        """Have the job's keeper made. If not even that is possible, that is the job's end."""
        self.retry()
        live.attempts += 1
        self._ask(live)

    def _ask(self, live: Live, *, replace: bool = False) -> None:
        live.asked = True
        try:
            self.nursing.ask(live.path, replace=replace, in_fd=live.in_fd, tty_fd=live.tty_fd)
        except OSError as error:
            live.asked = False
            self._no_keeper(live, error.errno or 0)

    def _keeper_made(self, job: str, pid: int, fd: int) -> None:
        live = self.table.live.get(job)
        if live is not None:
            live.asked = False
        if pid < 0 and live is not None:
            self._no_keeper(live, -pid)
        elif live is not None and live.keeper_fd < 0:
            self._watch_keeper(live, pid, fd)
        elif fd >= 0:
            os.close(fd)

    def _no_keeper(self, live: Live, code: int) -> None:
        """The system has no room for a keeper: a job that never ran ends so, one that runs waits for its next keeper."""
        if folder.read_started(live.path) is None:
            self._give_up(live, Reason.SPAWN_FAILED, f"no keeper could be started: {os.strerror(code)}", code)
        else:
            log.error("no keeper for %s: %s; it runs on and is tried again", live.job.id, os.strerror(code))
            self._unkept.append(live)

    def _nursery_gone(self) -> None:
        for live in [live for live in self.table.live.values() if live.asked]:
            live.asked = False
            self.recover(live)

    def retry(self) -> None:
        """Try again for jobs that could not get a keeper."""
        waiting, self._unkept = self._unkept, []
        for live in waiting:
            if not live.ended and live.keeper_fd < 0:
                self.recover(live)

    def _watch_keeper(self, live: Live, pid: int, fd: int) -> None:
        live.keeper = pid
        live.keeper_fd = fd
        self.hub.watch(fd, lambda: self._keeper_ended(live))

    def _noted(self, what: str, job: str, fds: list[int]) -> None:
        live = self.table.live.get(job)
        if what == "killed" and job in self.kills:
            self.kills[job].ring()
        if live is None:
            for fd in fds:
                os.close(fd)
        elif what.startswith("fds"):
            live.hold(what, fds)
        elif what.startswith("refused-"):
            live.refused = int(what.removeprefix("refused-"))
        else:
            self._look(live, what)

    def _look(self, live: Live, what: str) -> None:
        if what == "output":
            live.output.ring()
        elif what == "started":
            self.take_start(live)
        elif what == "ended":
            self.take_end(live)
        elif what == "waiting":
            live.changed.ring()

    def take_start(self, live: Live) -> None:
        """Move to running what the folder says has started."""
        started = folder.read_started(live.path)
        if started is None or not isinstance(live.job.phase, Queued):
            return
        live.entered = True
        self._place(live)
        live.job = live.job.at(Running(started_at=started.at, pid=started.pid))
        self.store.start(live.job.id, started.at, started.pid)
        if live.watchers:
            folder.command(live.path, "watch 1")
        live.changed.ring()
        self.events.ring()

    def take_end(self, live: Live, *, unfinished: bool = False) -> bool:
        """Move to ended what the folder says is over. Waiters are told at once: the record is already on disk."""
        if live.ended:
            return True
        record = folder.read_end(live.path, unfinished=unfinished)
        if record is None:
            return False
        live.entered = True
        self._place(live)
        self._end(live, ends.ended(live.job, record))
        return True

    def _end(self, live: Live, phase: Ended) -> None:
        live.job = live.job.at(phase)
        live.close_escrow()
        live.changed.ring()
        live.output.ring()
        if live.job.name is not None:
            # The name is free from now on: the row must let go of it before another job's row takes it.
            self._store_end(live, phase)
        else:
            # Those who wait are answered first; the record is on disk already, the row can follow.
            self.hub.call_soon(lambda: self._store_end(live, phase))

    def _store_end(self, live: Live, phase: Ended) -> None:
        def committed() -> None:
            if not future.cancelled() and future.exception() is None:
                self.table.drop(live)
            else:
                log.error("the end of %s is in its folder but not in the database: %s", live.job.id, future.exception())
            self.events.ring()

        future = self.store.end(live.job.id, phase)
        future.add_done_callback(lambda _: self.hub.call_soon(committed))

    def _keeper_ended(self, live: Live) -> None:
        self.hub.unwatch(live.keeper_fd)
        os.close(live.keeper_fd)
        live.keeper_fd = -1
        live.keeper = 0
        self._notes.read()
        if self.take_end(live):
            return
        if live.refused in _KEEPER_REFUSED:
            self._give_up(live, Reason.SPAWN_FAILED, f"the keeper could not begin: {_KEEPER_REFUSED[live.refused]}", 0)
            return
        self.orphans = True
        log.warning("the keeper of %s ended early; replacing it", live.job.id)
        self.recover(live)

    def recover(self, live: Live) -> None:
        """Bring one active job to where its folder says it is: adopted, over, taken over, or started."""
        found = launch.live_keeper(live.path)
        if found is not None:
            self._watch_keeper(live, *found)
            self.take_start(live)
            if live.job.spec.stdin or live.job.spec.pty:
                folder.command(live.path, "adopt")
            # The end may have been written before we listened for it, by a keeper that now guards descendants.
            self.take_end(live)
            return
        if self.take_end(live, unfinished=True):
            return
        self._without_keeper(live)

    def _without_keeper(self, live: Live) -> None:
        spec = folder.read_spec(live.path)
        if spec is None:
            self._give_up(live, Reason.LOST, ends.LOST_FOLDER, 0)
            return
        aborted = os.path.exists(os.path.join(live.path, "aborted"))
        started = folder.read_started(live.path)
        if live.attempts >= _ATTEMPTS:
            self._give_up(live, Reason.LOST if started else Reason.SPAWN_FAILED, "its keepers kept dying", 0)
        elif started is None or aborted:
            self.start(live)
        elif spec[1] != launch.boot_identity():
            self._give_up(live, Reason.LOST, ends.LOST_BOOT, 0)
        else:
            self._take_over(live, started)

    def _take_over(self, live: Live, started: folder.Started) -> None:
        live.attempts += 1
        live.witness()
        with contextlib.suppress(OSError):
            if live.leader_fd < 0 and launch.start_ticks(started.pid) == started.ticks:
                live.leader_fd = os.pidfd_open(started.pid)
                self.hub.watch(live.leader_fd, lambda: self._leader_ended(live))
        self._ask(live, replace=True)
        self.take_start(live)

    def _leader_ended(self, live: Live) -> None:
        self.hub.unwatch(live.leader_fd)
        os.close(live.leader_fd)
        live.leader_fd = -1
        live.witness()

    def _give_up(self, live: Live, reason: Reason, why: str, code: int) -> None:
        """Record an end that no keeper can record, in the folder first."""
        started = folder.read_started(live.path) if reason is Reason.LOST else None
        record = ends.record_of(reason, error=why, now_ms=time.time_ns() // 1_000_000, started=started, code=code)
        try:
            for stream in ("out", "err"):
                with contextlib.suppress(FileNotFoundError):
                    record[f"{stream}_size"] = os.stat(os.path.join(live.path, stream)).st_size
            folder.write_end(live.path, record)
            if self.take_end(live):
                return
        except OSError as error:
            log.warning("the end of %s could not be written to its folder: %s", live.job.id, error.strerror)
        self._end(live, ends.ended(live.job, record))

    def adopt(self, jobs: list[Job]) -> None:
        """Take up everything that was active when the last runtime ended."""
        for job in jobs:
            path = self.home.job(job.id)
            prepared = os.path.join(self.home.new, job.id)
            if not os.path.isdir(path) and os.path.isdir(prepared):
                os.rename(prepared, path)
            live = self.table.add(job, path)
            if os.path.isdir(path):
                live.open_escrow()
            self.recover(live)

    def reap_orphans(self) -> None:
        """Collect processes that fell to us when their keeper died and that nobody watches."""
        if not self.orphans:
            return
        known = {self.nursing.pid, *(live.keeper for live in self.table.live.values())}
        leaders = {live.job.phase.pid for live in self.table.live.values() if isinstance(live.job.phase, Running)}
        for pid in launch.own_children():
            if pid not in known and pid not in leaders:
                launch.reap(pid)

    def close(self) -> None:
        """Let go of every job; they go on without us."""
        self.nursing.close()
        for live in self.table.live.values():
            for fd in (live.keeper_fd, live.leader_fd):
                if fd >= 0:
                    self.hub.unwatch(fd)
                    os.close(fd)
            live.close_escrow()
        self._notes.close()
