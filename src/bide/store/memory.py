"""A database that goes when its process does: the schema of the file, and nothing on disk."""

import sqlite3
import threading
from collections.abc import Callable
from typing import TypeVar

from bide.store.files import open_in_memory
from bide.store.future import Future
from bide.store.rows import Row, Values

T = TypeVar("T")


class Memory:
    """Takes the writes and reads that a store does, each done at once: there is no disk to wait for."""

    def __init__(self) -> None:
        self._connection = open_in_memory()
        self._lock = threading.Lock()

    def submit(self, act: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Do `act`, all of it or nothing; the future is done."""
        done: Future[T] = Future()
        with self._lock:
            try:
                self._connection.execute("BEGIN")
                result = act(self._connection)
                self._connection.execute("COMMIT")
            except Exception as error:  # noqa: BLE001 - as a write to disk, it fails for whoever looks at the future
                self._connection.rollback()
                done.set_exception(error)
            else:
                done.set_result(result)
        return done

    def rows(self, sql: str, values: Values, read: Callable[[Row], T]) -> list[T]:
        """Return what a statement finds, each row read by `read`."""
        try:
            with self._lock:
                return [read(row) for row in self._connection.execute(sql, values)]
        except (UnicodeEncodeError, OverflowError):
            return []  # as in the store: such text and such numbers are in no row

    def close(self) -> None:
        """Forget everything."""
        with self._lock:
            self._connection.close()
