"""A new database beside the one that is not believed: filled from the job folders, then put in its place in one step.

Nobody ever finds it half filled: until it is complete it has another name, and whatever ends its making leaves the old one
in its place, marked as void.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from bide.model.errors import DiskFull
from bide.model.job import Job
from bide.store import files, moves, seal
from bide.store.faults import SQL_ERRORS, DatabaseCorrupt
from bide.store.queries import load
from bide.store.rows import job_values
from bide.store.salvage import EVENTS, TABLES, TOMBSTONES, Salvage
from bide.store.store import Store

log = logging.getLogger(__name__)

NEW = ".new"
QUERIES = load(Path(__file__).with_name("anew.sql"))


class Anew:
    """The making of one database."""

    def __init__(self, path: str, old: Store | None = None, *, in_memory: bool = False, fresh: bool = False) -> None:
        """Begin; `old` is the store that is being replaced, if it could be opened. Raises DiskFull or HomeUnusable.

        One `in_memory` replaces nothing: the next start tries again. There was none before in a home that is `fresh`.
        """
        self._fresh = fresh
        self._in_memory = in_memory
        self._path = Path(path).absolute()
        self._new = Path(f"{self._path}{NEW}")
        self._old = old
        for one in (self._path, self._new):
            files.make_way(one)
        seal.void(self._path)
        files.remove(self._new)
        self._source = self._open_source()
        self.salvage: Salvage = Salvage(self._source)
        self.store: Store = Store(str(self._new), in_memory=in_memory)
        self.store.submit(lambda connection: self.salvage.copy(connection, TOMBSTONES)).result()

    def _open_source(self) -> sqlite3.Connection | None:
        try:
            if self._old is not None and not self._old.closed:
                return self._old.lend()
            return files.open_reader(self._path) if self._path.exists() else None
        except SQL_ERRORS as error:
            log.warning("nothing can be read from %s: %s", self._path, error)
            return None

    def add(self, jobs: Sequence[Job]) -> int:
        """Record jobs as their folders have them; return how many there were. Those that were forgotten are passed over."""
        rows = [job_values(job) for job in jobs]
        return self.store.submit(lambda connection: moves.fill(connection, rows)).result()

    def finish(self, stamp: str) -> str | None:
        """Copy what only the old one has, and take its place.

        Return where the old one is kept, if not all of it could be read. Raises DiskFull, and then nothing has changed.
        """
        existed = self._path.exists() or self._old is not None
        self.store.submit(self._copy_rest).result()
        if self._in_memory:
            self._close_source()
            if self._old is not None:
                self._old.close()
            return None
        self.store.close()
        if seal.is_unfinished(self._new):
            raise DiskFull(home=str(self._path.parent))
        self._close_source()
        if self._old is not None:
            self._old.close()
        aside = None
        if existed and not self.salvage.complete:
            aside = files.set_aside(self._path, stamp)
        files.replace(self._path, self._new)
        return None if aside is None else str(aside)

    def _copy_rest(self, connection: sqlite3.Connection) -> None:
        whole = {table.name: self.salvage.copy(connection, table) for table in TABLES}
        for job in self.salvage.seen:
            connection.execute(QUERIES["mark_salvaged"], {"id": job})
        self._number_events(connection, whole=whole[EVENTS.name])
        connection.execute(QUERIES["unsaid_moves"])

    def _number_events(self, connection: sqlite3.Connection, *, whole: bool) -> None:
        """No number is given twice: a follower who knows a greater one would miss what follows."""
        lost = self._old is not None and self._old.created  # what was there had not even a schema
        newest = 0 if self._fresh or (whole and not lost) else time.time_ns() // 1_000_000
        for one in (connection, self._source):
            if one is not None:
                with suppress(*SQL_ERRORS, TypeError):
                    newest = max([newest, *(row[0] for row in one.execute(QUERIES["event_numbers"]))])
        connection.execute(QUERIES["drop_event_numbers"])
        connection.execute(QUERIES["set_event_numbers"], {"seq": newest})

    def _close_source(self) -> None:
        if self._source is not None:
            self._source.close()
            self._source = None

    def abandon(self) -> None:
        """Leave everything as it was, and the old one void."""
        with suppress(DatabaseCorrupt):
            self.store.close()
        self._close_source()
