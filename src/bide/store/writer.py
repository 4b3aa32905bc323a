"""The one thread that writes: it commits together what was asked for meanwhile, and answers after the commit.

What a runtime asks for in one turn of its event loop is asked for together, at the end of the turn: a commit costs the same
for one and for twenty, and until then the interpreter is the loop's own.

Writes that repeat what a job's folder already says (a start, an end) are *lazy*: they wait a moment for company, and a
transaction of nothing else is not synced. A crash of ours loses none of them, a power cut at most those, and the folder
has them.
"""

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from bide.store.faults import SQL_ERRORS, DatabaseCorrupt, fault
from bide.store.future import Future
from bide.store.queries import QUERIES
from bide.store.seal import Seal

log = logging.getLogger(__name__)

BATCH = 256
CHECKPOINT = 400
"""After so many changed rows the log is copied into the database file: about as often as SQLite would, which counts pages."""
GENERATION = "generation"
"""The row of `sqlite_sequence` that every commit raises: a job's row and event change that page anyway."""
_LINGER = 0.003

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

    def settle(self, failure: Exception | None, path: Path) -> Exception | None:
        """Tell the caller, once the transaction is over; return what stood in the way."""
        failure = failure or self._failure
        if isinstance(failure, SQL_ERRORS):
            meaning = fault(failure, path)
            meaning.__cause__ = failure
            failure = meaning
        if failure is None:
            self.future.set_result(self._result)
        else:
            self.future.set_exception(failure)
        return failure


class Writer:
    """Uses the writing connection, alone. Writes are done in the order asked for."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        seal: Seal,
        alone: AbstractContextManager[object] | None = None,
    ) -> None:
        """`alone` is held during each transaction, if others use the same connection."""
        self._alone = alone or nullcontext()
        self._connection = connection
        self._path = path
        self._seal = seal
        self._copied = connection.total_changes
        self._queue: SimpleQueue[list[_Write[Any]] | None] = SimpleQueue()
        self._turn: list[_Write[Any]] = []
        self._lock = threading.Lock()
        self._asked = 0
        self._done = 0
        self._closed = False
        self._full = True
        self.at_end_of_turn: Callable[[Callable[[], None]], object] | None = None
        """Has something done at the end of the event loop's turn; without one, everything is asked for at once."""
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
        with_turn: bool = False,
    ) -> Future[T]:
        """Do `act` in the next transaction; the future has its result when that is on disk (lazy: in the system's hands).

        An exception of `act` undoes it alone; one of its `refusals` has nothing to undo. A failing commit fails everything
        in it. What goes `with_turn` must not be waited for by the loop's own thread.
        """
        write = _Write(act, lazy=lazy, refusals=refusals)
        with self._lock:
            if self._closed and self._seal.broken:
                write.future.set_exception(DatabaseCorrupt(self._seal.broken))
                return write.future
            if self._closed:
                raise RuntimeError("the store is closed")
            self._asked += 1
            self._turn.append(write)
            if not with_turn or self.at_end_of_turn is None:
                self._put_turn()
            elif len(self._turn) == 1:
                self.at_end_of_turn(self._end_turn)
        return write.future

    def _end_turn(self) -> None:
        with self._lock:
            self._put_turn()

    def _put_turn(self) -> None:
        """The order is that of asking, so what waits for the end of the turn goes first."""
        if self._turn:
            self._queue.put(self._turn)
            self._turn = []

    def close(self) -> None:
        """Finish what was asked for and take no more."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._put_turn()
                self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        for batch in self._batches():
            with self._alone:
                failure = self._commit(batch)
            self._done += len(batch)
            for write in batch:
                if isinstance(found := write.settle(failure, self._path), DatabaseCorrupt):
                    self._seal.condemn(str(found))
            if self._connection.total_changes - self._copied >= CHECKPOINT:
                self.checkpoint()

    def _batches(self) -> Iterator[list[_Write[Any]]]:
        """What is queued, about BATCH at a time, until the queue is closed."""
        while (batch := self._queue.get()) is not None:
            while len(batch) < BATCH and (not self._queue.empty() or batch[-1].lazy):
                try:
                    following = self._queue.get(timeout=_LINGER)
                except Empty:
                    break
                if following is None:
                    yield batch
                    return
                batch += following
            yield batch

    def _commit(self, batch: list[_Write[Any]]) -> Exception | None:
        connection = self._connection
        try:
            self._seal.begin()
        except DatabaseCorrupt as error:
            return error
        before = connection.total_changes
        committed = False
        try:
            self._sync(full=not all(write.lazy for write in batch))
            connection.execute("BEGIN IMMEDIATE")
            for write in batch:
                write.attempt(connection)
            committed = connection.total_changes != before
            if committed:
                self._raise_generation()
            connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - whatever it is, callers wait for an answer from this thread
            committed = False
            with suppress(*SQL_ERRORS):
                connection.rollback()
            return error
        finally:
            self._seal.written(committed=committed)
        return None

    def _raise_generation(self) -> None:
        values = {"name": GENERATION, "seq": self._seal.generation + 1}
        for query in ("raise_generation", "first_generation"):
            if self._connection.execute(QUERIES[query], values).rowcount:
                return

    def checkpoint(self) -> None:
        """Copy the log into the database file, as far as no reader needs it. For the writing thread, or after its end."""
        try:
            self._seal.begin_checkpoint()
        except DatabaseCorrupt:
            return
        try:
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        except SQL_ERRORS as error:
            # It loses nothing: the log keeps what could not be copied.
            log.warning("the log of the database could not be copied into it: %s", error)
            if isinstance(meaning := fault(error, self._path), DatabaseCorrupt):
                self._seal.condemn(str(meaning))
        finally:
            self._seal.end_checkpoint()
        self._copied = self._connection.total_changes

    def _sync(self, *, full: bool) -> None:
        if full is not self._full:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
            self._full = full
