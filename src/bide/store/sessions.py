"""Rows of sessions: which there are and were, their owners and times, and the number of the newest job of each."""

import sqlite3
from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct

from bide.model.job import Job
from bide.model.session import is_later, seq_of
from bide.store.future import Future
from bide.store.queries import QUERIES
from bide.store.reader import Reader
from bide.store.rows import Row, Values, from_ms, to_job, to_ms
from bide.store.writer import Writer

_PAGE = 1000


class SessionRow(Struct, frozen=True):
    """A session as it is listed."""

    id: str
    owner: str
    created_at: datetime
    last_active_at: datetime
    seq: int = 0
    ended_at: datetime | None = None
    why: str = ""
    """`ended`, `evicted`, or empty while it is open."""


class EndedJob(Struct, frozen=True):
    """How much an ended job of a session holds."""

    id: str
    ended_at: datetime
    bytes: int
    """Its output and its command."""


class SessionRows:
    """The sessions of a store. Writes return futures, as those of the store do."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        """Made by the store."""
        self._writer = writer
        self._rows = reader.rows

    def get(self, session: str) -> SessionRow | None:
        """The row of a session, open or ended."""
        found = self._rows(QUERIES["session"], {"id": session}, to_row)
        return found[0] if found else None

    def open(self) -> list[SessionRow]:
        """Every session that has not ended."""
        return self._rows(QUERIES["open_sessions"], {}, to_row)

    def put(self, row: SessionRow) -> Future[None]:
        """Record a session; its number never falls."""
        values: Values = {
            "id": row.id,
            "owner": row.owner,
            "created_at": to_ms(row.created_at),
            "last_active_at": to_ms(row.last_active_at),
            "seq": row.seq,
            "ended_at": None if row.ended_at is None else to_ms(row.ended_at),
            "why": row.why,
        }
        return self._do("put_session", values)

    def end(self, session: str, at: datetime, why: str, seq: int = 0) -> Future[None]:
        """It is over."""
        return self._do("end_session", {"id": session, "ended_at": to_ms(at), "why": why, "seq": seq})

    def last_job_at(self, session: str) -> datetime | None:
        """When the newest job of a session was created."""
        return self._rows(QUERIES["session_last_job"], {"session": session}, _to_instant)[0]

    def newest_number(self, session: str) -> int:
        """The greatest number that a job of this session has, or had before it was forgotten."""
        bounds: Values = {"low": f"job-{session}-", "high": f"job-{session}."}
        numbers = self._rows(QUERIES["session_job_ids"], bounds, lambda row: seq_of(row[0], session))
        return max(numbers, default=0)

    def job_of_pid(self, session: str, pid: int) -> Job | None:
        """The newest job of a session that had this pid."""
        found = self._rows(QUERIES["session_job_of_pid"], {"session": session, "pid": pid}, to_job)
        return found[0] if found else None

    def ended_jobs(self, session: str, first: int) -> Iterator[EndedJob]:
        """Yield the ended jobs of a session with numbers above `first`, oldest first; read a page at a time."""
        after = 0
        while True:
            values: Values = {"session": session, "after": after, "limit": _PAGE}
            rows = self._rows(QUERIES["session_ended"], values, _to_ended)
            yield from (job for _, job in rows if is_later(job.id, session, first))
            if len(rows) < _PAGE:
                return
            after = rows[-1][0]

    def _do(self, query: str, values: Values) -> Future[None]:
        def act(connection: sqlite3.Connection) -> None:
            connection.execute(QUERIES[query], values)

        return self._writer.submit(act)


def _to_instant(row: Row) -> datetime | None:
    return None if row[0] is None else from_ms(row[0])


def _to_ended(row: Row) -> tuple[int, EndedJob]:
    seq, job, ended_at, size = row
    return seq, EndedJob(job, from_ms(ended_at), size or 0)


def to_row(row: Row) -> SessionRow:
    """Read a row of the table of sessions."""
    session, owner, created_at, last_active_at, seq, ended_at, why = row
    ended = None if ended_at is None else from_ms(ended_at)
    return SessionRow(session, owner, from_ms(created_at), from_ms(last_active_at), seq, ended, why)
