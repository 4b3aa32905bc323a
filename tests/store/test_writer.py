"""Group commit: what is asked for together is committed together, and each caller gets its own answer."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bide.model.errors import BideError, InternalError, NameInUse
from bide.model.job import Job
from bide.model.phase import Ended
from bide.store.seal import Seal
from bide.store.store import Store
from bide.store.writer import BATCH, Writer

NOW = datetime(2026, 7, 1, 13, tzinfo=UTC)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    file = tmp_path / "numbers.db"
    with closing(sqlite3.connect(file, isolation_level=None, check_same_thread=False)) as connection:
        for pragma in ("journal_mode = WAL", "wal_autocheckpoint = 0", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("CREATE TABLE numbers (n INTEGER PRIMARY KEY CHECK (n >= 0)) STRICT")
        connection.execute("CREATE TABLE squares (n INTEGER REFERENCES numbers DEFERRABLE INITIALLY DEFERRED) STRICT")
        connection.execute("CREATE TABLE counted (n INTEGER PRIMARY KEY AUTOINCREMENT) STRICT")
        yield connection


@pytest.fixture
def writer(connection: sqlite3.Connection, tmp_path: Path) -> Iterator[Writer]:
    path = tmp_path / "numbers.db"
    seal = Seal(path, 1, 0)
    writer = Writer(connection, path, seal)
    yield writer
    writer.close()
    seal.close(sound=True)


@pytest.fixture
def gate(writer: Writer) -> Iterator[threading.Event]:
    """Holds the writer in its first write until it is set, so that what follows is queued together."""
    gate = threading.Event()
    entered = threading.Event()

    def hold(_: sqlite3.Connection) -> None:
        entered.set()
        gate.wait()

    writer.submit(hold)
    entered.wait()
    yield gate
    gate.set()


def number(n: int) -> Callable[[sqlite3.Connection], int]:
    def act(connection: sqlite3.Connection) -> int:
        connection.execute("INSERT INTO numbers VALUES (?)", (n,))
        return n

    return act


def numbers(connection: sqlite3.Connection) -> list[int]:
    return [n for (n,) in connection.execute("SELECT n FROM numbers ORDER BY n")]


def test_writes_asked_for_together_are_one_commit(
    writer: Writer, connection: sqlite3.Connection, gate: threading.Event
) -> None:
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    writes = [writer.submit(number(n)) for n in range(BATCH + 1)]
    gate.set()
    assert [write.result() for write in writes] == list(range(BATCH + 1))
    writer.close()
    assert statements.count("COMMIT") == 3


def test_what_is_asked_for_in_one_turn_of_a_loop_is_one_commit(writer: Writer, connection: sqlite3.Connection) -> None:
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    ends: list[Callable[[], None]] = []
    writer.at_end_of_turn = ends.append
    writes = [writer.submit(number(n), with_turn=True) for n in range(20)]
    assert len(ends) == 1
    assert not writer.idle
    ends[0]()
    assert [write.result() for write in writes] == list(range(20))
    writer.submit(number(20), with_turn=True)
    assert len(ends) == 2
    writer.close()
    assert statements.count("COMMIT") == 2
    assert numbers(connection) == list(range(21))
    ends[1]()


def test_what_cannot_wait_for_the_end_of_a_turn_is_done_after_what_was_asked_for_before(
    writer: Writer, connection: sqlite3.Connection
) -> None:
    ends: list[Callable[[], None]] = []
    writer.at_end_of_turn = ends.append
    before = writer.submit(number(1), with_turn=True)
    assert writer.submit(numbers).result() == [1]
    assert before.done()
    after = writer.submit(number(2), with_turn=True)
    ends[0]()
    assert after.result() == 2
    for late in ends[1:]:
        late()
    assert numbers(connection) == [1, 2]


def test_one_failing_write_among_many_fails_alone(
    writer: Writer, connection: sqlite3.Connection, gate: threading.Event
) -> None:
    def half(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO numbers VALUES (1000)")
        raise ValueError("half-way")

    before = [writer.submit(number(n)) for n in range(10)]
    refused = writer.submit(number(-1))
    failed = writer.submit(half)
    after = [writer.submit(number(n)) for n in range(10, 20)]
    gate.set()
    assert [write.result() for write in before + after] == list(range(20))
    with pytest.raises(InternalError, match="CHECK constraint failed"):
        refused.result()
    with pytest.raises(ValueError, match="half-way"):
        failed.result()
    assert numbers(connection) == list(range(20))


def test_a_failing_commit_fails_everything_in_it_and_nothing_after_it(
    writer: Writer, connection: sqlite3.Connection, gate: threading.Event
) -> None:
    def dangle(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO squares VALUES (77)")

    writes = [writer.submit(number(1)), writer.submit(dangle), writer.submit(number(2))]
    gate.set()
    for write in writes:
        with pytest.raises(InternalError, match="FOREIGN KEY constraint failed"):
            write.result()
    assert writer.submit(number(3)).result() == 3
    assert numbers(connection) == [3]


def test_a_transaction_that_sqlite_gave_up_fails_everything_in_it(
    writer: Writer, connection: sqlite3.Connection, gate: threading.Event
) -> None:
    def give_up(connection: sqlite3.Connection) -> None:
        connection.rollback()
        raise ValueError("gone")

    writes = [writer.submit(number(1)), writer.submit(give_up), writer.submit(number(2))]
    gate.set()
    for write in writes:
        with pytest.raises(ValueError, match="gone"):
            write.result()
    assert writer.submit(number(3)).result() == 3
    assert numbers(connection) == [3]


def test_the_writer_is_idle_when_everything_is_answered(writer: Writer, gate: threading.Event) -> None:
    write = writer.submit(number(1))
    assert not writer.idle
    gate.set()
    write.result()
    assert writer.idle


def test_closing_finishes_what_was_asked_for_and_takes_no_more(
    writer: Writer, connection: sqlite3.Connection, gate: threading.Event
) -> None:
    writes = [writer.submit(number(n)) for n in range(300)]
    gate.set()
    writer.close()
    writer.close()
    assert all(write.done() for write in writes)
    assert numbers(connection) == list(range(300))
    with pytest.raises(RuntimeError, match="closed"):
        writer.submit(number(1))


def test_a_store_is_closed_with_its_writes_done_and_no_log_left(path: str, make: Callable[..., Job]) -> None:
    store = Store(path)
    jobs = [make() for _ in range(20)]
    writes = [store.insert(job) for job in jobs]
    store.close()
    store.close()
    assert [write.result() for write in writes] == jobs
    assert {file.name for file in Path(path).parent.iterdir()} == {"bide.db", "bide.db-seal"}
    with pytest.raises(InternalError, match="closed"):
        store.get(jobs[0].id)


def test_a_barrier_is_done_after_every_write_before_it(store: Store, make: Callable[..., Job]) -> None:
    writes = [store.insert(make()) for _ in range(50)]
    store.barrier().result()
    assert all(write.done() for write in writes)
    assert store.idle


def test_many_threads_each_see_what_they_wrote(
    store: Store, make: Callable[..., Job], over: Callable[..., Ended]
) -> None:
    def live(jobs: list[Job]) -> None:
        for job in jobs:
            assert store.insert(job).result() == job
            assert store.start(job.id, NOW, 77).result()
            assert store.end(job.id, over()).result()
            assert store.get(job.id) == job.at(over())

    lives = [[make(name=f"job{thread}") for _ in range(10)] for thread in range(16)]
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(live, lives))
    assert store.counts() == {"queued": 0, "running": 0}
    events = store.events(0, 1000, None)
    assert [event.seq for event in events] == list(range(1, 481))
    for job in (job for jobs in lives for job in jobs):
        assert [event.what for event in events if event.job == job.id] == ["queued", "running", "ended"]


def test_of_many_movers_exactly_one_wins(store: Store, make: Callable[..., Job], over: Callable[..., Ended]) -> None:
    jobs = [make() for _ in range(20)]
    for job in jobs:
        store.insert(job)

    def end(job: Job) -> bool:
        return store.end(job.id, over()).result()

    with ThreadPoolExecutor(8) as threads:
        ends = list(threads.map(end, jobs * 8))
    assert sum(ends) == len(jobs)


def test_of_many_jobs_with_one_name_exactly_one_is_accepted(store: Store, make: Callable[..., Job]) -> None:
    def insert(job: Job) -> Job | BideError:
        try:
            return store.insert(job).result()
        except NameInUse as error:
            return error

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(insert, [make(name="build") for _ in range(16)]))
    (accepted,) = [answer for answer in answers if isinstance(answer, Job)]
    assert {answer.facts["job"] for answer in answers if isinstance(answer, NameInUse)} == {accepted.id}


def test_of_many_requests_with_one_key_all_get_one_job(store: Store, make: Callable[..., Job]) -> None:
    def insert(job: Job) -> Job:
        return store.insert(job).result()

    with ThreadPoolExecutor(8) as threads:
        jobs = list(threads.map(insert, [make(key="k") for _ in range(16)]))
    assert len({job.id for job in jobs}) == 1
    assert store.counts() == {"queued": 1, "running": 0}


@pytest.mark.parametrize(
    ("lazy", "level"), [((True,), 1), ((False,), 2), ((True, False), 2), ((False, True), 2), ((True, False, True), 2)]
)
def test_a_commit_is_synced_unless_all_of_it_can_be_had_again(
    writer: Writer, gate: threading.Event, lazy: tuple[bool, ...], level: int
) -> None:
    """1 is NORMAL, 2 is FULL: what the writes of one commit see."""

    def see(connection: sqlite3.Connection) -> int:
        return connection.execute("PRAGMA synchronous").fetchone()[0]

    seen = [writer.submit(see, lazy=one) for one in lazy]
    gate.set()
    assert [one.result() for one in seen] == [level] * len(lazy)
