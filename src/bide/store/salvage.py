"""Copies what no job folder holds out of a database that is not believed, as far as it can be read.

A row is taken only if the code that will read it can: what was salvaged is never the reason for the next rebuild.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from bide.model.job import Job
from bide.store import outbox, questions, sessions
from bide.store.faults import SQL_ERRORS, VALUE_ERRORS
from bide.store.queries import QUERIES
from bide.store.rows import REQUEST_COLUMNS, Row, from_ms, to_event, to_job

log = logging.getLogger(__name__)


class _Table(Struct, frozen=True):
    """A table whose rows only the database has."""

    name: str
    columns: str
    order: str
    read: Callable[[Row], object]


def _check_request(row: Row) -> object:
    from bide.store.llm import check_request  # noqa: PLC0415 - a home without requests does not pay for it

    return check_request(row)


TOMBSTONES = _Table("forgotten", "id, name, owner, at, why", "rowid", lambda row: from_ms(row[3]))
EVENTS = _Table("events", "seq, at, job, what, detail", "seq", to_event)
TABLES = (
    EVENTS,
    _Table("sessions", "id, owner, created_at, last_active_at, seq, ended_at, why", "rowid", sessions.to_row),
    _Table("groups", "name, limited, most, paused", "rowid", lambda row: str(row[0])),
    _Table("consumers", "name, owner, created_at", "rowid", lambda row: from_ms(row[2])),
    _Table("outbox", outbox.COLUMNS, "job, consumer, id", outbox.to_delivery),
    _Table("questions", questions.COLUMNS, "rowid", questions.to_row),
    _Table("llm_requests", REQUEST_COLUMNS, "seq", _check_request),
    _Table(
        "conversations",
        "id, cli, owner, title, cwd, created_at, last_used_at, active, thread",
        "rowid",
        lambda row: (from_ms(row[5]), from_ms(row[6])),
    ),
)


class Salvage:
    """What could be read of one database."""

    def __init__(self, source: sqlite3.Connection | None) -> None:
        """Read what is needed of its jobs; nothing can be read without a `source`."""
        self._source = source
        self.complete: bool = source is not None
        """Whether all that was read so far was whole."""
        self.seen: set[str] = set()
        """The jobs whose ends somebody was told of."""
        self.active: set[str] = set()
        """The jobs that had not ended, or whose end was not yet told."""
        if source is not None:
            source.text_factory = _text
            for id_, phase, seen in self._rows("jobs", "id, phase, seen", "seq"):
                (self.seen if seen == 1 else self.active if phase in ("queued", "running") else set[str]()).add(
                    str(id_)
                )

    def job(self, id_: str) -> Job | None:
        """Return an active job as its row has it."""
        try:
            rows = [] if self._source is None else self._source.execute(QUERIES["get_job"], {"id": id_}).fetchall()
            return to_job(rows[0]) if rows else None
        except (*SQL_ERRORS, *VALUE_ERRORS):
            self.complete = False
            return None

    def copy(self, into: sqlite3.Connection, table: _Table) -> bool:
        """Copy one table, inside a transaction; return whether all of it could be read."""
        before, self.complete = self.complete, self._source is not None
        marks = ", ".join("?" * (table.columns.count(",") + 1))
        insert = f"INSERT OR IGNORE INTO {table.name} ({table.columns}) VALUES ({marks})"  # noqa: S608 - names of ours
        for row in self._rows(table.name, table.columns, table.order):
            try:
                table.read(row)
                into.execute(insert, row)
            except (sqlite3.IntegrityError, *VALUE_ERRORS):
                self.complete = False
        whole, self.complete = self.complete, self.complete and before
        return whole

    def _rows(self, table: str, columns: str, order: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows up to the first damage, then those after the last."""
        if self._source is None:
            return
        for direction in ("ASC", "DESC"):
            by = ", ".join(f"{one} {direction}" for one in order.split(", "))
            try:
                yield from self._source.execute(f"SELECT {columns} FROM {table} ORDER BY {by}")  # noqa: S608 - names of ours
            except (*SQL_ERRORS, OverflowError) as error:
                if direction == "ASC":
                    log.warning("not all of the table %s can be read: %s", table, error)
                self.complete = False
            else:
                return


def _text(data: bytes) -> str:
    """Read what may not be text: such a row is left out when it is written."""
    return data.decode(errors="surrogateescape")
