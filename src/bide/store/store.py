"""Store: rows in, Jobs out. The database is an index of the job folders and can be rebuilt from them."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bide.api import Filter, Page
from bide.model.errors import InternalError
from bide.model.job import Job
from bide.model.phase import Ended, Running
from bide.store import moves
from bide.store.faults import DatabaseCorrupt, fault, is_of_the_schema
from bide.store.files import Access, inode, open_database, open_single
from bide.store.future import Future
from bide.store.outbox import Announcement, OutboxRows
from bide.store.pages import Place, check_limit, page_query
from bide.store.past import PastJobs
from bide.store.queries import QUERIES
from bide.store.questions import QuestionRows
from bide.store.rows import Event, Row, Values, from_ms, job_values, phase_values, to_event, to_job, to_ms
from bide.store.sessions import SessionRows
from bide.store.writer import Writer

if TYPE_CHECKING:
    from bide.store.llm import LlmRows


class Store:
    """The jobs of one home.

    A write returns a future at once, which has its result when that is on disk. Writes are done in the order asked
    for, and a write goes through even if its caller stops waiting. Reads answer inline and see every write whose
    future is done. No process but this one may write the file, and nothing in this process may open it by other
    means: closing any descriptor of it would drop SQLite's locks.
    """

    created: bool
    """Whether the file had no schema before, so that the caller rebuilds it."""
    access: Access

    def __init__(self, path: str, access: Access = Access.SHARED) -> None:
        """Open the database at `path`; one that is not there is made, an older one is brought up to date.

        Raises:
            DatabaseNewer: a newer bide wrote it.
            DatabaseCorrupt: it cannot be read; `quarantine` it and rebuild.
            HomeUnusable: its folder is not there or not ours.
            DiskFull: there is no room for it.

        """
        self._path = Path(path).absolute()
        self.access = access
        try:
            if access is Access.SHARED:
                self._connection, self._reader, self.created = open_database(self._path)
            else:
                self._connection, self.created = open_single(self._path, access)
                self._reader = self._connection
        except sqlite3.Error as error:
            raise fault(error, self._path) from error
        self._reading = threading.Lock()
        self._inode = inode(self._path)
        self._writer = Writer(self._connection, self._path, self._reading if self._is_single else None)
        self.sessions: SessionRows = SessionRows(self._writer, self._rows)
        self.outbox: OutboxRows = OutboxRows(self._writer, self._rows)
        self.questions: QuestionRows = QuestionRows(self._writer, self._rows)
        self._llm: LlmRows | None = None
        self.past: PastJobs = PastJobs(self._writer, self._path, self._rows if self._is_single else None)

    @property
    def llm(self) -> LlmRows:
        """The requests to LLM command lines; what knows of them is loaded when they are looked at."""
        from bide.store.llm import LlmRows  # noqa: PLC0415 - a home without requests does not pay for it

        if self._llm is None:
            self._llm = LlmRows(self._writer, self._rows)
        return self._llm

    def close(self) -> None:
        """Finish the writes asked for, checkpoint and close. The second time does nothing.

        What was made at the path since the file was moved from it is left alone.
        """
        self._writer.close()
        self.past.close()
        with self._reading:
            self._reader.close()
        if not (self.moved() or self._is_single):
            # A failing checkpoint loses nothing: the next open reads the write-ahead log.
            with suppress(sqlite3.Error):
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        self._connection.close()

    @property
    def _is_single(self) -> bool:
        """Whether one connection reads and writes, so that a read must wait for a commit."""
        return self.access is not Access.SHARED

    def moved(self) -> bool:
        """Whether the file that is open is no longer the one at its path."""
        return inode(self._path) != self._inode

    @property
    def idle(self) -> bool:
        """Whether no write is pending."""
        return self._writer.idle

    def go_with(self, at_end_of_turn: Callable[[Callable[[], None]], object]) -> None:
        """Ask for the moves of jobs once per turn of an event loop, which must not wait for one of them itself."""
        self._writer.at_end_of_turn = at_end_of_turn

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
        rows = self._rows(QUERIES["list_groups"], {})
        return [(name, bool(limited), most, bool(paused)) for name, limited, most, paused in rows]

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
            for (found,) in self._rows(QUERIES[query], values):
                return found
        return None

    def tombstone(self, ref: str) -> tuple[datetime, str] | None:
        """When the job with this id was forgotten, or else the last one with this name, and why if that is known."""
        rows = self._rows(QUERIES["tombstone"], {"ref": ref})
        return (from_ms(rows[0][0]), rows[0][1]) if rows else None

    def page(self, where: Filter, limit: int, before: str | None) -> Page:
        """The newest jobs that pass the filter, at most `limit`; with `before`, those after that page.

        Jobs that come or go between pages neither repeat nor hide others.

        Raises:
            BadRequest: the limit is out of range, or the cursor is none of ours.

        """
        check_limit(limit)
        rows = self._rows(*page_query(where, Place.read(before), limit + 1))
        more = str(Place.of(rows[limit - 1])) if len(rows) > limit else None
        return Page(tuple(to_job(row) for row in rows[:limit]), more)

    def active(self) -> list[Job]:
        """Every queued and running job, oldest first."""
        return [to_job(row) for row in self._rows(QUERIES["active_jobs"], {})]

    def probe(self) -> None:
        """Read what is needed at once, so that damage to it shows now. Raises DatabaseCorrupt."""
        try:
            self._rows(QUERIES["active_jobs"], {})
            self.groups()
            self.sessions.open()
            self.owes_answers()
        except InternalError as error:
            if is_of_the_schema(error.__cause__):
                raise DatabaseCorrupt(str(error)) from error
            raise

    def ended_services(self) -> list[Job]:
        """The newest job of each service that is over."""
        return [to_job(row) for row in self._rows(QUERIES["ended_services"], {})]

    def owes_answers(self) -> bool:
        """Whether a request to an LLM has no answer on record."""
        return bool(self._rows(QUERIES["owes_answers"], {})[0][0])

    def newest_id(self) -> str:
        """The greatest id that was given to a job outside a session; empty before the first."""
        return self._rows(QUERIES["newest_id"], {})[0][0] or ""

    def counts(self) -> dict[str, int]:
        """How many jobs are `queued` and `running`."""
        return {"queued": 0, "running": 0, **dict(self._rows(QUERIES["count_active"], {}))}

    def events(self, after: int, limit: int, job: str | None) -> list[Event]:
        """What happened after the event with this number, of one job or of all, oldest first.

        Raises:
            BadRequest: the limit is out of range.

        """
        check_limit(limit)
        query = "list_events" if job is None else "list_job_events"
        return [to_event(row) for row in self._rows(QUERIES[query], {"after": after, "limit": limit, "job": job})]

    def last_event(self) -> int:
        """The number of the newest event; 0 before the first."""
        return self._rows(QUERIES["last_event"], {})[0][0]

    def _job(self, query: str, values: Values) -> Job | None:
        rows = self._rows(QUERIES[query], values)
        return to_job(rows[0]) if rows else None

    def _rows(self, sql: str, values: Values) -> list[Row]:
        """All rows at once: a half-read result would keep the write-ahead log from being reset.

        One read at a time: a second one on the same connection would join the first in what it sees, which may be
        older than a write that is done.
        """
        try:
            with self._reading:
                return self._reader.execute(sql, values).fetchall()
        except (UnicodeEncodeError, OverflowError):
            return []  # text that is not Unicode, as a shell may hand us, and numbers beyond 64 bits are in no row
        except sqlite3.Error as error:
            raise fault(error, self._path) from error
