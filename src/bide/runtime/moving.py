"""Rows follow folders: what the folder says has begun, or is over, is told to whoever waits and moved in the store."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import time
from collections.abc import Callable, Sequence

from bide.keeper import ends, folder
from bide.model.job import Job
from bide.model.phase import Ended, Queued, Reason, Running
from bide.runtime.home import Home
from bide.runtime.hub import Bell, Hub
from bide.runtime.live import Live, Table
from bide.store.faults import DatabaseCorrupt
from bide.store.outbox import Announcement
from bide.store.store import Store

log = logging.getLogger(__name__)

_STORE_AGAIN = 5.0


class Moving:
    """The active jobs of a home, and their rows."""

    def __init__(self, home: Home, store: Store, hub: Hub) -> None:
        """Nothing is active yet."""
        self.home: Home = home
        self.hub: Hub = hub
        self.use(store)
        self.table: Table = Table()
        self.events: Bell = Bell()
        self.renew: Callable[[], None] = lambda: None
        """What begins to make another database from the folders in place of a damaged one; set by `Renewal`."""
        self.placed: Callable[[Live], None] = lambda _: None
        """Called when a job that waits for its turn is on disk; set by the queue."""
        self.freed: Callable[[Live], None] = lambda _: None
        """Called at the end of every job; set by the queue."""
        self.renewed: Callable[[], None] = lambda: None
        """Called when the database was made anew; set by the queue."""
        self.kept_anew: list[Callable[[], None]] = []
        """Who else is told then, to keep there what no folder has."""
        self.on_ready: list[Callable[[Live], None]] = []
        """Who else is told when a service is ready."""
        self.on_admit: list[Callable[[Live], None]] = []
        """Who else is told of each job that is taken up."""
        self.on_end: list[Callable[[Live], None]] = []
        """Who else is told of each end, at once."""
        self.announce: Callable[[Job], Sequence[Announcement]] = lambda _: ()
        """What is to be told of a job that is over, and to whom."""
        self.on_waiting: list[Callable[[Live], None]] = []
        """Who else is told when a job begins to wait for input, or no longer does."""
        self.leave: Callable[[Live, Ended], bool] = lambda _live, _phase: False
        """What takes over what a run left in its session; if True, it calls `end` when that is on disk."""
        self._unstored: list[tuple[Live, Ended]] = []

    def use(self, store: Store) -> None:
        """Keep the rows in this database from now on."""
        self.store: Store = store
        store.go_with(self.hub.call_soon)

    def committed(self, live: Live) -> None:
        """The row is on disk, so the folder may go where such folders are; or it cannot be, and the job must not be."""
        error = live.inserted.exception() if live.inserted is not None else None
        if isinstance(error, DatabaseCorrupt):
            live.inserted = None
            self.renew()
        elif error is not None:
            log.error("the row of %s could not be written (%s); it is ended", live.job.id, error)
            live.doomed = True
            self.end_doomed(live)
        self._place(live)
        if live.held:
            self.placed(live)
        self.events.ring()

    def end_doomed(self, live: Live) -> None:
        """End a job that nobody was given the id of."""
        if live.held:
            record = ends.record_of(Reason.KILLED, error="it has no row", now_ms=time.time_ns() // 1_000_000)
            self.end(live, ends.ended(live.job, record))
            return
        folder.command(live.path, f"kill {signal.SIGKILL} 0 - no row")

    def _place(self, live: Live) -> None:
        if not live.entered or live.path == (there := self.home.job(live.job.id)):
            return
        if live.inserted is None or (live.inserted.done() and live.inserted.exception() is None):
            os.rename(live.path, there)
            live.path = there

    def accepted(self, live: Live) -> None:
        """Its row is known to be on disk: what follows from that happens now, and not a moment later, if it may."""
        self._place(live)
        if live.held:
            self.placed(live)

    def take_start(self, live: Live, started: folder.Started | None) -> None:
        """Move to running what has started, as its folder says."""
        if started is None or not started.ticks or live.ended:
            return
        live.entered = True
        self._place(live)
        phase = live.job.phase
        if isinstance(phase, Running) and phase.pid == started.pid:
            return
        # A start that was taken back before the program ran is followed by another, with another pid.
        live.job = live.job.at(Running(started_at=started.at, pid=started.pid))
        if isinstance(phase, Queued) and not live.doomed:
            # Who follows the events reads them in the store, so nothing is to be seen before this is committed.
            future = self.store.start(live.job.id, started.at, started.pid)
            future.add_done_callback(lambda _: self.hub.call_soon(self.events.ring))
        live.changed.ring()

    def take_end(self, live: Live, *, unfinished: bool = False) -> bool:
        """Move to ended what the folder says is over. Waiters are told at once: the record is already on disk."""
        if live.ended or live.leaving:
            return True
        phase = ends.read(live.job, live.path, unfinished=unfinished)
        if phase is None:
            return False
        live.entered = True
        self._place(live)
        if not self.leave(live, phase):
            self.end(live, phase)
        return True

    def conclude(self, live: Live, reason: Reason, why: str = "", code: int = 0, by: str = "") -> None:
        """Record an end that no keeper can record, in the folder first. Raises OSError, and then the job is not over."""
        started, page = None, None
        if reason is Reason.LOST:
            started, page = folder.read_started(live.path), folder.read_live(live.path)
        now_ms = time.time_ns() // 1_000_000
        record = ends.record_of(reason, error=why, now_ms=now_ms, started=started, code=code, by=by, live=page)
        try:
            for stream in ("out", "err"):
                with contextlib.suppress(FileNotFoundError):
                    record[f"{stream}_size"] = os.stat(os.path.join(live.path, stream)).st_size
            self.home.reserve.with_room(lambda: folder.write_end(live.path, record))
            if self.take_end(live):
                return
        except OSError as error:
            # Without its folder it cannot run again, and without a row nobody was told of it.
            if os.path.isdir(live.path) and not live.doomed:
                raise
            log.warning("the end of %s could not be written to its folder: %s", live.job.id, error.strerror)
        self.end(live, ends.ended(live.job, record))

    def end(self, live: Live, phase: Ended) -> None:
        """It is over, in this way."""
        live.job = live.job.at(phase)
        self.let_go(live)
        live.changed.ring()
        live.output.ring()
        if live.doomed:
            self.table.drop(live)
            folder.remove(live.path)
        else:
            # Those who wait are answered first; the record is on disk already, the row can follow.
            self._unstored.append((live, phase))
            self.hub.call_soon(self.store_ends)
            for told in self.on_end:
                told(live)
        self.freed(live)

    def store_ends(self) -> None:
        """Move the rows of what is over; before a new job, which may have the name of one of them."""
        unstored, self._unstored = self._unstored, []
        for live, phase in unstored:
            self._store_end(live, phase)

    def store_again(self) -> None:
        """Move the rows that could not be moved before, now that they may be."""
        for live in list(self.table.live.values()):
            self._store_again(live)

    def _store_later(self, live: Live) -> None:
        live.store_due = False
        self._store_again(live)

    def _store_again(self, live: Live) -> None:
        if live.stored and isinstance(live.job.phase, Ended) and self.table.live.get(live.job.id) is live:
            self._store_end(live, live.job.phase)

    def let_go(self, live: Live) -> None:
        """Hold nothing more for a job."""
        if live.leader_fd >= 0:
            self.hub.unwatch(live.leader_fd)
            os.close(live.leader_fd)
            live.leader_fd = -1
        live.close_escrow()

    def _store_end(self, live: Live, phase: Ended) -> None:
        def committed() -> None:
            error = future.exception()
            if error is None:
                self.table.drop(live)
            else:
                if first:
                    log.error("the end of %s could not be written to the database yet: %s", live.job.id, error)
                if isinstance(error, DatabaseCorrupt):
                    self.renew()
                if not live.store_due:
                    live.store_due = True
                    self.hub.call_later(_STORE_AGAIN, lambda: self._store_later(live))
            self.events.ring()

        first, live.stored = not live.stored, True
        told = self.announce(live.job)
        future = self.store.end(live.job.id, phase, seen=live.seen or live.awaited > 0, told=told)
        future.add_done_callback(lambda _: self.hub.call_soon(committed))
