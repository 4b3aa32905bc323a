"""What the verbs share: the parts of one runtime, and how to find a job in them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from msgspec.structs import replace

from bide.keeper import ends, folder, launch, services
from bide.model.errors import DiskFull, JobForgotten, JobNotFound
from bide.model.job import ID_PATTERN, Facts, Job, Taken
from bide.model.phase import Ended, Kept, Queued, Running
from bide.model.question import Posed
from bide.model.times import stamp
from bide.model.turn import Place
from bide.runtime import prompts
from bide.runtime.asking import Asking
from bide.runtime.home import Home
from bide.runtime.hub import Alarm, Hub
from bide.runtime.keeping import Keeping
from bide.runtime.live import Live
from bide.runtime.places import Places
from bide.runtime.queue import NO_ROOM, Queue
from bide.runtime.renewal import Renewal, until_done
from bide.runtime.searching import Searches
from bide.runtime.seen import Seen
from bide.runtime.telling import Watches, asker_now
from bide.settings import Settings
from bide.store.store import Store

_KEPT_PIECES = 5
"""So much of the reserve is not for rows, which the job folders can replace."""


@dataclass(slots=True)
class Core:
    """One runtime."""

    home: Home
    hub: Hub
    keeping: Keeping
    queue: Queue
    settings: Settings
    places: Places
    renewal: Renewal
    newest_id: str = ""
    """The greatest id given so far."""
    stopping: set[str] = field(default_factory=set[str])
    """Services and requests to LLMs that somebody asked to end, so that none of them comes back."""
    asking: Asking = field(default_factory=Asking)
    searches: Searches = field(default_factory=Searches)
    watches: Watches = field(init=False)
    seen: Seen = field(init=False)

    def __post_init__(self) -> None:
        """With nothing seen yet."""
        self.watches = Watches(self.keeping.events)
        self.seen = Seen(self.keeping, self.watches)

    @property
    def store(self) -> Store:
        """The database in use; it may be replaced while we run, if its file is."""
        return self.keeping.store

    def spawn(self, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Do something beside everything else, until the runtime ends; damage to the index makes it begin again."""
        self.hub.spawn(partial(until_done, self.renewal, work))

    def find(self, ref: str, owner: str | None = None) -> Job:
        """The job with this id or name, as the runtime knows it. Raises JobNotFound or JobForgotten.

        Owners may use the same name: it means the job of whoever asks, and only without one that of somebody else. With an
        `owner`, jobs of others are not there and never were.
        """
        live = self.keeping.table.live.get(ref)
        job = self._looked_up(ref, owner) if live is None else live.job
        if job is not None and owner in (None, job.owner):
            return job
        # Not there, or no longer: it may have been forgotten since its id was looked up.
        tombstone = self.store.tombstone(ref, owner)
        if tombstone is None:
            raise JobNotFound(job=ref)
        at, why = tombstone
        raise JobForgotten(job=ref, at=stamp(at) or "", why=why or "as asked")

    def _looked_up(self, ref: str, owner: str | None) -> Job | None:
        if ID_PATTERN.match(ref):
            return self._recorded(ref, None)
        return self._named(ref, owner or asker_now()) or (self._named(ref, None) if owner is None else None)

    def _named(self, name: str, owner: str | None) -> Job | None:
        """The active one, else the newest. The rows may lag behind: an end is told as soon as its folder has it."""
        active = [live.job for live in self.keeping.table.live.values() if live.job.name == name and not live.ended]
        own = [job for job in active if owner in (None, job.owner)]
        return own[-1] if own else self._recorded(name, owner)

    def _recorded(self, ref: str, owner: str | None) -> Job | None:
        """Return the job of this id or name, by its row. Nothing is said by an index that somebody else has written to."""
        self.store.check()
        job_id = self.store.resolve(ref, owner)
        if job_id is None:
            return None
        live = self.keeping.table.live.get(job_id)
        return self.store.get(job_id) if live is None else live.job

    def live(self, job: Job) -> Live | None:
        """Its active state, if it has one."""
        return self.keeping.table.live.get(job.id)

    def folder(self, job: Job) -> str:
        """Where its folder is now; a job may end before its row is on disk and its folder in its place."""
        live = self.live(job)
        return self.home.job(job.id) if live is None else live.path

    def with_facts(self, job: Job) -> Job:
        """The job with what is so at this moment."""
        facts = self._facts(job)
        if job.spec.service is not None:
            facts = _of_service(facts or Facts(), job, self.home.job(job.id))
        return job if facts is None else replace(job, facts=facts)

    def _facts(self, job: Job) -> Facts | None:
        if isinstance(job.phase, Ended):
            left = tuple(d for d in job.phase.end.survivors if launch.is_alive(d.pid, d.start_ticks))
            return Facts(alive=left) if left else None
        if isinstance(job.phase, Queued):
            place = self.queue.place(job.id)
            live = self.live(job)
            if place is None and live is not None and live.lacks_room:
                place = Place(NO_ROOM)
            return None if place is None else Facts(queue=place)
        path = self.home.job(job.id)
        page = folder.read_live(path)
        if not page:
            return None
        waiting, question, unsure = self._asks(job, path, page)
        return Facts(
            waiting=waiting,
            question=question,
            unsure=unsure,
            usage=ends.usage(page, live=True),
            out=Kept(page["out_head"], size_of(path, "out")),
            err=Kept(page["err_head"], size_of(path, "err")),
            input=_taken(job, path, page),
            stalled=bool(page["stalled"]),
            paused=bool(page.get("paused")),
            escaped=ends.escaped(page),
        )

    def _asks(self, job: Job, path: str, page: dict[str, Any]) -> tuple[str | None, Posed | None, bool]:
        """What it waits for, and whether that is a guess: the answer to its oldest question, else to the prompt it shows."""
        for row in self.asking.of(job.id):
            return row.posed.question.text, row.posed, False
        prompt, live = prompts.shown(path, page["waiting"]), self.live(job)
        if prompt is None:
            return None, None, False
        terminal = -1 if live is None else live.tty_fd
        asked = prompts.question(job, prompt, _taken(job, path, page), path, terminal)
        return prompt, asked, page["waiting"] != prompts.SURE

    async def settled(self) -> None:
        """Return when every move that was told of is in the rows: ends are told first, and written after."""
        if any(live.ended for live in self.keeping.table.live.values()):
            written = Alarm()
            self.hub.call_soon(written.set)
            await written.wait()
        if not self.store.idle:
            await self.hub.settled(self.store.barrier())

    async def caught_up(self) -> None:
        """Do the same, as far as a full disk and the reserve allow it: a list finds jobs by their rows."""
        while True:
            try:
                await self.settled()
            except DiskFull:
                if self.home.reserve.spend(keep=_KEPT_PIECES):
                    self.keeping.store_again()
                    continue
            return


def _of_service(facts: Facts, job: Job, path: str) -> Facts:
    at = services.read_ready(path)
    after = services.read_next(path) if isinstance(job.phase, Ended) else None
    facts = replace(facts, ready=at is not None and isinstance(job.phase, Running), ready_at=at)
    return facts if after is None else replace(facts, successor=after.job, gave_up=after.gave_up)


def now() -> datetime:
    """Return the wall-clock time in whole milliseconds, the precision of every stored stamp. For stamps only."""
    return folder.instant(time.time_ns() // 1_000_000)


def size_of(path: str, stream: str) -> int:
    """How many bytes a stream has."""
    try:
        return os.stat(f"{path}/{stream}").st_size
    except OSError:
        return 0


def _taken(job: Job, path: str, page: dict[str, Any]) -> Taken | None:
    return Taken(page.get("in_pos", 0), size_of(path, "in")) if job.spec.stdin or job.spec.pty else None
