"""Keepers and their jobs: start, watch, replace and adopt. The folders are the truth; `moving` moves the rows after them."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable

from bide import config
from bide.keeper import ends, folder, holding, launch, systemd
from bide.keeper.groups import Groups
from bide.model.job import Job
from bide.model.phase import Reason
from bide.runtime.home import Home
from bide.runtime.hub import Bell, Hub
from bide.runtime.live import Live
from bide.runtime.moving import Moving
from bide.runtime.notes import Notes
from bide.runtime.nursing import Nursing
from bide.runtime.reserve import is_full
from bide.store.store import Store

log = logging.getLogger(__name__)

_BAD_FOLDER = 5
_NO_ROOM = 6
_YOUNG_SECONDS = 1.0
_YOUNG_DEATHS = 20
_PAUSE_MAX = 60.0
_ROOM_PAUSE_MAX = 5.0
_WITNESS_PAUSE = 0.02
_WITNESS_TRIES = 75


class Keeping(Moving):
    """All active jobs and their keepers."""

    def __init__(self, home: Home, store: Store, hub: Hub, *, apart: bool = False) -> None:
        """Listen for notes at once, so that none is missed.

        With `apart`, this process and all keepers leave the login session, if there is a place that outlives it.
        """
        super().__init__(home, store, hub)
        self.kills: dict[str, Bell] = {}
        self.groups: Groups = Groups(home.path)
        self._apart = apart and self._leave_session()
        self.nursing: Nursing = self._nursing(self._open_apart if self._apart else _open, config.spares())
        self._limited: Nursing = self.nursing if self._apart else self._nursing(self.groups.nursery, 0)
        """Makes the keepers of jobs whose groups no other keeper could put them into."""
        self._waiting: dict[str, Live] = {}
        self._keepers: set[int] = set()
        """Their pidfds; also those that guard what outlived an ended job."""
        self._notes = Notes(home, hub, self._noted)

    # Where they are.

    def _nursing(self, opened: Callable[[], launch.Nursery], spares: int) -> Nursing:
        return Nursing(self.home.new, self.hub, self._keeper_made, self._nursery_gone, opened, spares)

    def _leave_session(self) -> bool:
        try:
            return systemd.leave_session(f"daemon of bide in {self.home.path}")
        except OSError as error:
            log.warning("the daemon stays in its login session: %s", error)
            return False

    def _open_apart(self) -> launch.Nursery:
        """A nursery outside of the login session, if there can be one."""
        return self.groups.place().nursery or _open()

    def needs_scope(self, job: Job) -> bool:
        """Tell whether only a keeper of the scope's own nursery can start the job in its groups."""
        how = dict(job.spec.enforced).values()
        return self.groups.scoped and not self._apart and "cgroup v2" in how

    # Keepers that are asked for.

    def start(self, live: Live, spare: int | None = None) -> None:
        """Give the job to a spare keeper (its pidfd), or have one made. If not even that is possible, that is its end."""
        self.store_ends()
        if spare is None:
            self._ask(live)
            return
        if not folder.command(live.path, "go"):
            launch.kill(spare)
        # If it is gone we see it by its pidfd, as with every keeper that dies before the start, and have one made.
        self._watch_keeper(live, spare)

    def _ask(self, live: Live, *, replace: bool = False) -> None:
        try:
            nursing = self.nursing
            if not replace and any(how.startswith("cgroup") for _, how in live.job.spec.enforced):
                if not self.groups.has(live.job.id):
                    holding.group_again(live.path, live.job, self.groups)
                nursing = self._limited if self.needs_scope(live.job) else nursing
            live.asked = nursing.ask(live.path, replace=replace, in_fd=live.in_fd, tty_fd=live.tty_fd)
        except OSError as error:
            self._no_keeper(live, error.errno or 0)

    def _keeper_made(self, job: str, pid: int, fd: int) -> None:
        live = self.table.live.get(job)
        if live is not None:
            live.asked = 0
        if pid < 0 and live is not None:
            self._no_keeper(live, -pid)
        elif fd < 0 and live is not None:
            self._later(live)  # it lives, but there was no descriptor left to watch it by
        elif live is not None and live.keeper_fd < 0:
            self._watch_keeper(live, fd)
        elif fd >= 0:
            os.close(fd)

    def _no_keeper(self, live: Live, code: int) -> None:
        """The system has no room for a keeper: a job that never ran ends so, one that runs waits for its next keeper."""
        if folder.read_started(live.path) is None:
            self.give_up(live, Reason.SPAWN_FAILED, f"no keeper could be started: {os.strerror(code)}", code)
        else:
            log.error("no keeper for %s: %s; it runs on", live.job.id, os.strerror(code))
            self._later(live)

    def _nursery_gone(self) -> None:
        """What an earlier nursery was asked for may have been made or not."""
        for live in list(self.table.live.values()):
            if live.asked and live.asked not in (self.nursing.number, self._limited.number):
                live.asked = 0
                self.recover(live)

    def _later(self, live: Live) -> None:
        """Try again after a pause, longer each time, or as soon as there may be room again."""
        longest = _ROOM_PAUSE_MAX if live.lacks_room else _PAUSE_MAX
        live.pause = min(max(live.pause * 2, _YOUNG_SECONDS), longest)
        self._waiting[live.job.id] = live
        self.hub.call_later(live.pause, lambda: self._again(live))

    def _again(self, live: Live) -> None:
        if self._waiting.pop(live.job.id, None) is not None and live.keeper_fd < 0 and not live.asked:
            live.deaths = min(live.deaths, _YOUNG_DEATHS - 1)
            self.recover(live)

    def retry(self) -> None:
        """Some process ended, so there may be room: try now for jobs that wait for a keeper."""
        for live in list(self._waiting.values()):
            if live.deaths < _YOUNG_DEATHS:
                self._again(live)

    # Keepers that live and die.

    def _watch_keeper(self, live: Live, fd: int) -> None:
        live.keeper_fd = fd
        live.kept_since = time.monotonic()
        self._keepers.add(fd)
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
            self._hear(live, what)

    def _hear(self, live: Live, what: str) -> None:
        try:
            self._look(live, what)
        except OSError as error:
            log.warning("%s says %s, and cannot be looked at now: %s", live.job.id, what, error.strerror)
            self.hub.call_later(_YOUNG_SECONDS, lambda: self._hear(live, what))

    def _look(self, live: Live, what: str) -> None:
        if what == "output":
            live.output.ring()
        elif what == "started":
            self._keeper_began(live)
        elif what == "ended":
            self.take_end(live)
        elif what == "waiting":
            live.changed.ring()
            for told in self.on_waiting:
                told(live)
        elif what == "stalled":
            self._look_at_stall(live)
        elif what == "input":
            live.close_stdin()

    def _look_at_stall(self, live: Live) -> None:
        stalled = bool(folder.read_live(live.path).get("stalled"))
        if stalled is not live.stalled:
            live.stalled = stalled
            live.changed.ring()

    def _keeper_began(self, live: Live) -> None:
        live.pause = 0.0
        live.lacks_room = False
        if live.stalled:
            self._look_at_stall(live)  # it was so with an earlier keeper
        self.take_start(live, folder.read_started(live.path))
        if live.doomed:
            self.end_doomed(live)
        if live.watchers:
            folder.command(live.path, "watch 1")

    def _keeper_ended(self, live: Live) -> None:
        self._release(live.keeper_fd)
        live.keeper_fd = -1
        # What it said before it died counts, above all what it handed over.
        self._notes.read()
        young = time.monotonic() - live.kept_since < _YOUNG_SECONDS
        live.deaths = live.deaths + 1 if young else 0
        self.recover(live)

    def _release(self, keeper_fd: int) -> None:
        self._keepers.discard(keeper_fd)
        self.hub.unwatch(keeper_fd)
        os.close(keeper_fd)

    def recover(self, live: Live) -> None:
        """Bring one active job to where its folder says it is: adopted, over, taken over, or started."""
        if live.ended:
            return
        try:
            blind = not live.escrow
            had_reader = not blind or folder.has_reader(live.path)
            if blind:
                live.open_escrow(spare=0)
            keeper = launch.live_keeper(live.path)
            if keeper is not None:
                self._adopt(live, keeper[1])
            elif not self.take_end(live, unfinished=True):
                folder.set_aside_end(live.path, readable=lambda: ends.read(live.job, live.path) is not None)
                if blind:
                    self._note_gap(live, had_reader=had_reader)
                self._without_keeper(live)
        except Exception:
            log.exception("%s could not be taken up; it is tried again", live.job.id)
            self._later(live)

    def _note_gap(self, live: Live, *, had_reader: bool) -> None:
        """Put on record that the end of the output may be gone: neither we nor a keeper held the pipes until now.

        The program holds them as well, so nothing is gone while it lives.
        """
        started = folder.read_started(live.path)
        if started is None or not started.ticks or (had_reader and launch.is_alive(started.pid, started.ticks)):
            return
        self.home.reserve.with_room(lambda: folder.mark_unheld(live.path))

    def _adopt(self, live: Live, keeper_fd: int) -> None:
        self._watch_keeper(live, keeper_fd)
        started = folder.read_started(live.path)
        self.take_start(live, started)
        # We are not above this keeper: if it dies, the leader's pidfd is how we learn what becomes of the job.
        live.hold_leader(started)
        self._look_at_stall(live)
        folder.command(live.path, "adopt")
        live.close_stdin()
        # The end may have been written before we listened for it, by a keeper that now guards descendants.
        self.take_end(live)

    def _without_keeper(self, live: Live) -> None:
        refused, live.refused = live.refused, 0
        spec = folder.read_spec(live.path)
        started = folder.read_started(live.path)
        if spec is None:
            self.give_up(live, Reason.LOST, ends.LOST_FOLDER)
        elif spec[1] == folder.BOOT_UNKNOWN:
            self.give_up(live, Reason.LOST, ends.LOST_SPEC)
        elif spec[1] != launch.boot_identity():
            self.give_up(live, Reason.LOST, ends.LOST_START if started is None else ends.LOST_BOOT)
        elif started is None:
            self._start_again(live, refused)
        elif not started.ticks or refused == _BAD_FOLDER:
            self.give_up(live, Reason.LOST, ends.LOST_RECORD if not started.ticks else "its folder is not complete")
        elif refused or live.deaths >= _YOUNG_DEATHS:
            self._later(live)
        else:
            log.warning("the keeper of %s is gone; it is taken over", live.job.id)
            self._take_over(live, started)

    def _start_again(self, live: Live, refused: int) -> None:
        if refused == _BAD_FOLDER:
            self.give_up(live, Reason.SPAWN_FAILED, "the keeper could not begin: its folder is not complete")
        elif refused == _NO_ROOM and not live.doomed:
            log.warning("%s cannot start now: nothing can be written in its folder; it is tried again", live.job.id)
            live.lacks_room = True
            live.deaths = 0
            live.changed.ring()
            self._later(live)
        elif live.deaths >= _YOUNG_DEATHS:
            self.give_up(live, Reason.SPAWN_FAILED, "its keepers kept dying before it could be started")
        elif live.doomed:
            self.give_up(live, Reason.SPAWN_FAILED, "it has no row")
        else:
            self.start(live)

    def _take_over(self, live: Live, started: folder.Started) -> None:
        live.hold_leader(started)
        live.witness()
        if live.leader_fd >= 0:
            self.hub.unwatch(live.leader_fd)
            self.hub.watch(live.leader_fd, lambda: self._leader_ended(live))
        self._ask(live, replace=True)
        self.take_start(live, started)

    def _leader_ended(self, live: Live, tries: int = _WITNESS_TRIES) -> None:
        """Learn how. Whoever inherited it collects it in a moment, and only then does its descriptor tell the status."""
        self.hub.unwatch(live.leader_fd)
        if not live.ended and not live.witness() and tries:
            self.hub.call_later(_WITNESS_PAUSE, lambda: self._leader_ended(live, tries - 1))

    def cancel_start(self, live: Live, by: str) -> bool:
        """End a job that waits for room to start; False if it does not, or not any more. Raises OSError; see `conclude`."""
        if not live.lacks_room or live.job.id not in self._waiting:
            return False
        self.conclude(live, Reason.KILLED, by=by)
        return True

    def give_up(self, live: Live, reason: Reason, why: str, code: int = 0) -> None:
        """End a job that has no keeper and gets none. Where that cannot be recorded now, look at the job again later."""
        try:
            self.conclude(live, reason, why, code)
        except OSError as error:
            if not live.lacks_room:
                log.warning("the end of %s cannot be written now: %s; it is tried again", live.job.id, error.strerror)
            live.lacks_room = live.lacks_room or (is_full(error) and reason is Reason.SPAWN_FAILED)
            self._later(live)

    # All of them.

    def renew_notes(self) -> None:
        """Bind the socket for notes anew, and look at every job: notes sent meanwhile are lost."""
        self._notes.renew()
        for live in list(self.table.live.values()):
            if not (live.ended or live.held):
                self._look_at_all(live)
        for bell in self.kills.values():
            bell.ring()

    def _look_at_all(self, live: Live) -> None:
        self._hear(live, "started")
        if live.keeper_fd >= 0:
            folder.command(live.path, "adopt")
        for what in ("stalled", "input", "output", "waiting", "ended"):
            self._hear(live, what)

    def take_up(self, jobs: list[Job]) -> list[Live]:
        """Hold as active what was so when the last runtime ended; nothing is done about it yet."""
        for job in jobs:
            path = self.home.job(job.id)
            prepared = os.path.join(self.home.new, job.id)
            if not os.path.isdir(path) and os.path.isdir(prepared):
                os.rename(prepared, path)
        return [self.table.add(job, self.home.job(job.id)) for job in jobs]

    def reap_orphans(self) -> None:
        """Collect processes that fell to us when their keeper died, except leaders: how those ended is put on record."""
        nurseries = (self.nursing.pid, self._limited.pid)
        dead = {pid for pid in launch.own_children() if pid not in nurseries and launch.peek(pid) is not None}
        if dead:
            kept = [live for live in self.table.live.values() if not (live.ended or live.held)]
            started = [folder.read_started(live.path) for live in kept]
            for pid in dead - {one.pid for one in started if one is not None}:
                launch.reap(pid)

    def close(self) -> None:
        """Let go of every job; they go on without us."""
        self.nursing.close()
        self._limited.close()
        self.groups.close()
        for fd in list(self._keepers):
            self._release(fd)
        for live in self.table.live.values():
            self.let_go(live)
        self._notes.close()


def _open() -> launch.Nursery:
    nursery = launch.Nursery()
    nursery.open()
    return nursery
