"""Reads rows, and tells damage from everything else: a page, a schema or a value that bide did not write."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from bide.model.errors import InternalError
from bide.store.faults import SQL_ERRORS, VALUE_ERRORS, DatabaseCorrupt, Unreadable, fault
from bide.store.rows import Row, Values
from bide.store.seal import Seal

T = TypeVar("T")


def same(row: Row) -> Row:
    """Read a row as it is."""
    return row


def first(row: Row) -> Any:
    """Read the only column of a row."""
    return row[0]


def parsed(read: Callable[[Row], T], row: Row) -> T:
    """Read a row inside a transaction. Raises Unreadable, which is damage."""
    try:
        return read(row)
    except VALUE_ERRORS as error:
        raise Unreadable(f"{type(error).__name__}: {error}") from error


class Rows(Protocol):
    """Something that rows can be read from, on disk or in memory."""

    def rows(self, sql: str, values: Values, read: Callable[[Row], T]) -> list[T]:
        """Return what a statement finds, each row read by `read`."""
        ...


class Reader:
    """One reading connection. Whatever it finds damaged condemns the database."""

    def __init__(
        self,
        path: Path,
        seal: Seal,
        connect: Callable[[], sqlite3.Connection],
        alone: AbstractContextManager[object] | None = None,
    ) -> None:
        """Connect with the first read. `alone` is held during each, if others use the same connection."""
        self._path = path
        self._seal = seal
        self._connect = connect
        self._connection: sqlite3.Connection | None = None
        self._lock = alone or threading.Lock()
        self._closed = False

    def rows(self, sql: str, values: Values, read: Callable[[Row], T]) -> list[T]:
        """Return what a statement finds, each row read by `read`.

        All rows at once: a half-read result would keep the write-ahead log from being reset. One read at a time: a second
        one on the same connection would join the first in what it sees, which may be older than a write that is done.

        Raises:
            DatabaseCorrupt: this, or an earlier read or write, found damage.

        """
        if self._seal.broken:
            raise DatabaseCorrupt(self._seal.broken)
        try:
            with self._lock:
                found = self._connected().execute(sql, values).fetchall()
        except (UnicodeEncodeError, OverflowError):
            return []  # text that is not Unicode, as a shell may hand us, and numbers beyond 64 bits are in no row
        except SQL_ERRORS as error:
            raise self._judged(error) from error
        try:
            return [parsed(read, row) for row in found]
        except Unreadable as error:
            raise self._judged(error) from error

    def _connected(self) -> sqlite3.Connection:
        if self._closed:
            raise InternalError(detail="the store is closed")
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def _judged(self, error: Exception) -> Exception:
        meaning = fault(error, self._path)
        if isinstance(meaning, DatabaseCorrupt):
            self._seal.condemn(str(meaning))
        return meaning

    def close(self) -> None:
        """Read no more."""
        with self._lock:
            self._closed = True
            if self._connection is not None:
                self._connection.close()
                self._connection = None
