"""The one thread that writes: it commits together what was asked for meanwhile, and answers after the commit.

Writes that repeat what a job's folder already says (a start, an end) are *lazy*: they wait a moment for company, and a
transaction of nothing else is not synced. A crash of ours loses none of them, a power cut at most those, and the folder
has them.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from bide.store.faults import fault

BATCH = 256
_LINGER = 0.003
_CROWD = 4
"""So many writes at once are a crowd: the next ones are as many, …"""
_GATHER = 0.004
"""… and a commit costs the same for one and for twenty."""

T = TypeVar("T")


class _Write(Generic[T]):
    """Something to do in a transaction, and the future of whoever asked for it."""

    __slots__ = ("_act", "_failure", "_refusals", "_result", "future", "lazy")

    def __init__(
        self, act: Callable[[sqlite3.Connection], T], *, lazy: bool, refusals: tuple[type[Exception], ...] = ()
    ) -> None:
        self._act = act
        self._refusals = refusals
        self.lazy = lazy
        self._failure: Exception | None = None
        self.future: Future[T] = Future()
        # A caller who stops waiting takes nothing back: a running future cannot be cancelled.
        self.future.set_running_or_notify_cancel()

    def attempt(self, connection: sqlite3.Connection) -> None:
        """Do it, or undo it alone. Raises only when SQLite gave up the whole transaction.

        A lazy write is a guarded update and its event: it does nothing or all, and has nothing to undo. Neither has one
        that refuses before it changes anything.
        """
        if self.lazy or self._refusals:
            try:
                self._result = self._act(connection)
            except self._refusals as error:
                self._failure = error
            return
        connection.execute("SAVEPOINT one")
        try:
            self._result = self._act(connection)
        except Exception as error:
            if not connection.in_transaction:
                raise
            connection.execute("ROLLBACK TO one")
            self._failure = error
        connection.execute("RELEASE one")

    def settle(self, failure: Exception | None, path: Path) -> None:
        """Tell the caller, once the transaction is over."""
        failure = failure or self._failure
        if isinstance(failure, sqlite3.Error):
            meaning = fault(failure, path)
            meaning.__cause__ = failure
            failure = meaning
        if failure is None:
            self.future.set_result(self._result)
        else:
            self.future.set_exception(failure)


class Writer:
    """Uses the writing connection, alone. Writes are done in the order asked for."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._queue: SimpleQueue[_Write[Any] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._asked = 0
        self._done = 0
        self._closed = False
        self._closing = threading.Event()
        self._full = True
        self._thread = threading.Thread(target=self._work, name="bide-store", daemon=True)
        self._thread.start()

    @property
    def idle(self) -> bool:
        """Whether everything asked for was committed or has failed."""
        return self._asked == self._done

    def submit(
        self,
        act: Callable[[sqlite3.Connection], T],
        *,
        lazy: bool = False,
        refusals: tuple[type[Exception], ...] = (),
    ) -> Future[T]:
        """Do `act` in the next transaction; the future has its result when that is on disk (lazy: in the system's hands).

        An exception of `act` undoes it alone; one of its `refusals` has nothing to undo. A failing commit fails everything
        in it.
        """
        write = _Write(act, lazy=lazy, refusals=refusals)
        with self._lock:
            if self._closed:
                raise RuntimeError("the store is closed")
            self._asked += 1
            self._queue.put(write)
        return write.future

    def close(self) -> None:
        """Finish what was asked for and take no more."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._closing.set()
                self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        for batch in self._batches():
            failure = self._commit(batch)
            self._done += len(batch)
            for write in batch:
                write.settle(failure, self._path)

    def _batches(self) -> Iterator[list[_Write[Any]]]:
        """What is queued, at most BATCH at a time, until the queue is closed. Who comes in a crowd waits for more of it."""
        crowded = False
        while (write := self._queue.get()) is not None:
            if crowded:
                self._closing.wait(_GATHER)
            batch = [write]
            while len(batch) < BATCH and (not self._queue.empty() or batch[-1].lazy):
                try:
                    following = self._queue.get(timeout=_LINGER)
                except Empty:
                    break
                if following is None:
                    yield batch
                    return
                batch.append(following)
            crowded = len(batch) >= _CROWD
            yield batch

    def _commit(self, batch: list[_Write[Any]]) -> Exception | None:
        connection = self._connection
        try:
            self._sync(full=not all(write.lazy for write in batch))
            connection.execute("BEGIN IMMEDIATE")
            for write in batch:
                write.attempt(connection)
            connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - whatever it is, callers wait for an answer from this thread
            with suppress(sqlite3.Error):
                connection.rollback()
            return error
        return None

    def _sync(self, *, full: bool) -> None:
        if full is not self._full:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
            self._full = full
