"""Store: rows in, Jobs out. The database is an index of the job folders and can be rebuilt from them."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from bide.api import Filter, Page
from bide.model.job import Job
from bide.model.phase import Ended, Running
from bide.store import moves, seal
from bide.store.faults import SQL_ERRORS, fault
from bide.store.files import open_database, open_in_memory, open_reader
from bide.store.future import Future
from bide.store.migrate import MIGRATIONS
from bide.store.outbox import Announcement, OutboxRows
from bide.store.pages import Place, check_limit, page_query
from bide.store.past import PastJobs
from bide.store.queries import QUERIES
from bide.store.questions import QuestionRows
from bide.store.reader import Reader, first
from bide.store.rows import Event, Row, Values, from_ms, job_values, phase_values, to_event, to_job, to_ms
from bide.store.sessions import SessionRows
from bide.store.writer import Writer

if TYPE_CHECKING:
    from bide.store.llm import LlmRows

T = TypeVar("T")


class Store:
    """The jobs of one home.

    A write returns a future at once, which has its result when that is on disk. Writes are done in the order asked
    for, and a write goes through even if its caller stops waiting. Reads answer inline and see every write whose
    future is done. No process but this one can open the file, and nothing in this process may open it by other
    means: closing any descriptor of it would drop SQLite's locks.

    Whatever finds damage condemns the store: from then on every read raises DatabaseCorrupt, and so does every write.
    """

    created: bool
    """Whether the file had no schema before."""
    _closed = False
    doubt: str
    """Why what the file holds must not be believed; empty if it is as the last store left it."""

    def __init__(self, path: str, *, in_memory: bool = False) -> None:
        """Open the database at `path`; one that is not there is made, an older one is brought up to date.

        `in_memory` reads and writes nothing there: a full disk may have no room for an index.

        Raises:
            DatabaseNewer: a newer bide wrote it.
            DatabaseCorrupt: it cannot be read.
            HomeUnusable: its folder is not there or not ours.
            DiskFull: there is no room for it.

        """
        self._path = Path(path).absolute()
        self.in_memory: bool = in_memory
        fresh = in_memory or not self._path.exists()
        sealed = None if fresh else seal.read(self._path)
        self.doubt = "" if fresh else seal.doubt(self._path, sealed)
        try:
            if in_memory:
                self._connection, self.created = open_in_memory(), True
            else:
                self._connection, self.created = open_database(self._path, None if sealed is None else sealed.schema)
            generation = self._generation()
        except SQL_ERRORS as error:
            raise fault(error, self._path) from error
        if not self.doubt and sealed is not None:
            self.doubt = seal.doubt_generation(sealed, generation)
        self._seal = seal.Seal(None if in_memory else self._path, len(MIGRATIONS), generation)
        if self.doubt:
            self._seal.void()
        alone = threading.Lock() if in_memory else None
        self._reader = Reader(self._path, self._seal, self._connected, alone)
        self._writer = Writer(self._connection, self._path, self._seal, alone)
        self.sessions: SessionRows = SessionRows(self._writer, self._reader)
        self.outbox: OutboxRows = OutboxRows(self._writer, self._reader)
        self.questions: QuestionRows = QuestionRows(self._writer, self._reader)
        self._llm: LlmRows | None = None
        # Its reads take long, and nobody waits for them: they have a connection of their own.
        self.past: PastJobs = PastJobs(self._writer, Reader(self._path, self._seal, self._connected, alone))

    def _connected(self) -> sqlite3.Connection:
        return self._connection if self.in_memory else open_reader(self._path)

    def _generation(self) -> int:
        rows = self._connection.execute(QUERIES["generation"]).fetchall()
        return int(rows[0][0]) if rows else 0

    @property
    def llm(self) -> LlmRows:
        """The requests to LLM command lines; what knows of them is loaded when they are looked at."""
        from bide.store.llm import LlmRows  # noqa: PLC0415 - a home without requests does not pay for it

        if self._llm is None:
            self._llm = LlmRows(self._writer, self._reader)
        return self._llm

    def close(self) -> None:
        """Finish the writes asked for, checkpoint, close and seal. The second time does nothing.

        What was made at the path since the file was moved from it is left alone.
        """
        if self._closed:
            return
        self._closed = True
        self._writer.close()
        self.past.close()
        self._reader.close()
        sound = not (self._seal.broken or self._seal.changed())
        if sound:
            self._writer.checkpoint()
            self._seal.begin_closing()
        self._connection.close()
        self._seal.close(sound=sound)

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    def check(self) -> None:
        """Raise DatabaseCorrupt if somebody else has changed the file or its log, or damage was found before.

        To be asked before the absence of something is taken for true.
        """
        self._seal.check()

    def condemn(self, why: str) -> None:
        """Use the database no more, nor after a restart."""
        self._seal.condemn(why)

    @property
    def broken(self) -> str:
        """Why the database is not used any more; empty while it is sound."""
        return self._seal.broken

    @property
    def idle(self) -> bool:
        """Whether no write is pending."""
        return self._writer.idle

    def go_with(self, at_end_of_turn: Callable[[Callable[[], None]], object]) -> None:
        """Ask for the moves of jobs once per turn of an event loop, which must not wait for one of them itself."""
        self._writer.at_end_of_turn = at_end_of_turn

    def lend(self) -> sqlite3.Connection:
        """Return a connection that reads what this condemned store has open, also where the file was removed.

        Nothing is written any more. The connection is to be closed before the store.
        """
        self._writer.close()
        return self._connection if self._seal.moved() else open_reader(self._path)

    def submit(self, act: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Do `act` in a transaction; the future has its result after that."""
        return self._writer.submit(act)

    def insert(self, job: Job, before: Callable[[], None] | None = None) -> Future[Job]:
        """Record a queued job; the job recorded, or the earlier one if its owner has used its key before.

        `before` is done first, by the writing thread: what must be on disk before the row is.

        Raises:
            NameInUse: an active job of the same owner has its name.
            IdTaken: its id belongs to a job, or to one that was forgotten.

        """
        values = job_values(job)

        def act(connection: sqlite3.Connection) -> Job:
            if before is not None:
                before()
            return moves.insert(connection, job, values)

        return self._writer.submit(act, refusals=moves.REFUSALS, with_turn=True)

    def start(self, job: str, started_at: datetime, pid: int) -> Future[bool]:
        """Move a queued job to running; False if it is not queued."""
        values: Values = {"id": job, **phase_values(Running(started_at, pid))}
        act = partial(moves.move, query="start_job", values=values)
        return self._writer.submit(act, lazy=True, with_turn=True)

    def end(self, job: str, ended: Ended, *, seen: bool = False, told: Sequence[Announcement] = ()) -> Future[bool]:
        """Move a queued or running job to ended; False if it is neither. The first end stays; `told` goes with it."""
        values: Values = {"id": job, **phase_values(ended, seen=seen)}
        act = partial(moves.move, query="end_job", values=values, told=told)
        return self._writer.submit(act, lazy=True, with_turn=True)

    def forget(self, job: str, at: datetime, why: str = "") -> Future[bool]:
        """Replace an ended job by a tombstone; False if there is no ended job with this id."""
        values: Values = {"ids": json.dumps([job]), "at": to_ms(at), "why": why}
        return self._writer.submit(lambda connection: moves.forget(connection, values) > 0)

    def add(self, jobs: Sequence[Job]) -> Future[int]:
        """Record jobs found on disk, in any phase and in the order given; how many were not known before.

        Ids that are known or forgotten are passed over. A job whose key, or whose name while active, belongs to
        another job is recorded without it.
        """
        rows = [job_values(job) for job in jobs]
        return self._writer.submit(lambda connection: moves.add(connection, rows))

    def barrier(self) -> Future[None]:
        """Be done when every write asked for before is."""
        return self._writer.submit(lambda _: None)

    def get(self, job: str) -> Job | None:
        """The job with this id."""
        return self._job("get_job", {"id": job})

    def by_key(self, owner: str, key: str) -> Job | None:
        """The job that this owner asked for with this key."""
        return self._job("keyed_job", {"owner": owner, "key": key})

    def printed(self, owner: str, fingerprint: str, since: datetime) -> Job | None:
        """The newest job of this owner and fingerprint that succeeded, if it ended then or later."""
        return self._job("printed_job", {"owner": owner, "fingerprint": fingerprint, "since": to_ms(since)})

    def groups(self) -> list[tuple[str, bool, int | None, bool]]:
        """What was set for groups: name, whether its limit was set, the limit, whether it is paused."""
        return self._rows("list_groups", {}, _to_group)

    def set_group(self, name: str, *, limited: bool, most: int | None, paused: bool) -> Future[None]:
        """Keep what was set for a group."""
        values: Values = {"name": name, "limited": limited, "most": most, "paused": paused}

        def act(connection: sqlite3.Connection) -> None:
            connection.execute(QUERIES["set_group"], values)

        return self._writer.submit(act)

    def resolve(self, ref: str, owner: str | None) -> str | None:
        """The id of the job that `ref` means: an id, else the name of an active job, else of the newest job.

        A name is looked up among the jobs of `owner`, or among all jobs without one.
        """
        values: Values = {"id": ref, "name": ref, "owner": owner}
        for query in ("job_id", "active_named", "newest_named"):
            for found in self._rows(query, values, first):
                return str(found)
        return None

    def tombstone(self, ref: str, owner: str | None = None) -> tuple[datetime, str] | None:
        """When the job with this id was forgotten, or else the last one with this name, and why if that is known.

        With an owner, only its own jobs count.
        """
        rows = self._rows("tombstone", {"ref": ref, "owner": owner}, lambda row: (from_ms(row[0]), str(row[1])))
        return rows[0] if rows else None

    def page(self, where: Filter, limit: int, before: str | None) -> Page:
        """The newest jobs that pass the filter, at most `limit`; with `before`, those after that page.

        Jobs that come or go between pages neither repeat nor hide others.

        Raises:
            BadRequest: the limit is out of range, or the cursor is none of ours.

        """
        check_limit(limit)
        query = page_query(where, Place.read(before), limit + 1)
        rows = self._reader.rows(*query, lambda row: (to_job(row), Place.of(row)))
        more = str(rows[limit - 1][1]) if len(rows) > limit else None
        return Page(tuple(job for job, _ in rows[:limit]), more)

    def active(self) -> list[Job]:
        """Every queued and running job, oldest first."""
        return self._rows("active_jobs", {}, to_job)

    def probe(self) -> None:
        """Read what is needed at once, so that damage to it shows now. Raises DatabaseCorrupt."""
        self.active()
        self.groups()
        self.sessions.open()
        self.newest_id()
        self.owes_answers()

    def ended_services(self) -> list[Job]:
        """The newest job of each service that is over."""
        return self._rows("ended_services", {}, to_job)

    def owes_answers(self) -> bool:
        """Whether a request to an LLM has no answer on record."""
        return bool(self._rows("owes_answers", {}, first)[0])

    def newest_id(self) -> str:
        """The greatest id that was given to a job outside a session; empty before the first."""
        return str(self._rows("newest_id", {}, first)[0] or "")

    def counts(self) -> dict[str, int]:
        """How many jobs are `queued` and `running`."""
        return {"queued": 0, "running": 0, **dict(self._rows("count_active", {}, _to_count))}

    def events(self, after: int, limit: int, job: str | None) -> list[Event]:
        """What happened after the event with this number, of one job or of all, oldest first.

        Raises:
            BadRequest: the limit is out of range.

        """
        check_limit(limit)
        query = "list_events" if job is None else "list_job_events"
        return self._rows(query, {"after": after, "limit": limit, "job": job}, to_event)

    def last_event(self) -> int:
        """The number of the newest event; 0 before the first."""
        return int(self._rows("last_event", {}, first)[0])

    def _job(self, query: str, values: Values) -> Job | None:
        jobs = self._rows(query, values, to_job)
        return jobs[0] if jobs else None

    def _rows(self, query: str, values: Values, read: Callable[[Row], T]) -> list[T]:
        return self._reader.rows(QUERIES[query], values, read)


def _to_group(row: Row) -> tuple[str, bool, int | None, bool]:
    name, limited, most, paused = row
    return name, bool(limited), most, bool(paused)


def _to_count(row: Row) -> tuple[str, int]:
    phase, count = row
    return phase, count
