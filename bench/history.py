"""A database with as many ended jobs as one likes, made faster than jobs can be run or even inserted one by one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bide.model.job import Job, JobId, Spec
from bide.model.phase import End, Ended, Kept, Reason, Usage
from bide.store import seal
from bide.store.store import Store

FEW = 1000
MANY = 1_000_000
COMMON = {"reason": "exited", "session": "s1", "owner": "user", "label": "l1", "kind": "shell", "name": "n1"}
"""Values that at least a tenth of all jobs have."""
RARE = {"reason": "oom", "session": "rare", "owner": "rare", "label": "rare", "kind": "python", "name": "rare"}
"""Values that only the oldest jobs have, as many as make a page."""

_RARE = 50
_KINDS = 10
_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_STEP = timedelta(seconds=1)
_TIMES = ("created_at", "started_at", "ended_at")


def job_id(number: int) -> JobId:
    """The id of a job of the history."""
    return JobId(f"j{number:010d}")


def instant(number: int) -> datetime:
    """When it was created."""
    return _EPOCH + number * _STEP


def build(path: Path, count: int) -> None:
    """Fill a new database: the first jobs through the store, the others as copies of them, with other ids and times."""
    store = Store(str(path))
    try:
        store.add([_job(number) for number in range(FEW)]).result()
    finally:
        store.close()
    if count > FEW:
        sealed = seal.read(path)
        _multiply(path, count)
        if sealed is not None:
            seal.settle(path, sealed.schema, sealed.generation)


def _job(number: int) -> Job:
    rare = number < _RARE
    mark = str(number % _KINDS)
    at = instant(number)
    end = End(
        reason=Reason.OOM if rare else Reason.EXITED,
        exit_code=None if rare else 0,
        signal=9 if rare else None,
        duration=timedelta(milliseconds=700),
        usage=Usage(
            cpu_ms=500, memory_peak_bytes=4_000_000, memory_source="maxrss", read_bytes=10_000, written_bytes=100
        ),
        out=Kept(0, 100),
    )
    spec = Spec(
        argv=("/bin/sh", "-c", "make test"),
        command="make test",
        cwd="/home/user/project",
        kind="python" if rare else "shell",
    )
    return Job(
        id=job_id(number),
        spec=spec,
        created_at=at,
        name="rare" if rare else f"n{mark}",
        owner="rare" if rare else "user",
        session="rare" if rare else f"s{mark}",
        label="rare" if rare else f"l{mark}",
        phase=Ended(ended_at=at + timedelta(milliseconds=700), end=end, started_at=at, pid=1000 + number),
    )


def _multiply(path: Path, count: int) -> None:
    """Copy rows inside the database. Indexes are dropped meanwhile and made again: sorting is faster than inserting."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "temp_store = MEMORY", "cache_size = -262144"):
            connection.execute(f"PRAGMA {pragma}")
        indexes = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql NOT NULL"
        ).fetchall()
        for name, _ in indexes:
            connection.execute(f"DROP INDEX {name}")
        connection.execute("BEGIN")
        _copy_jobs(connection, count)
        connection.execute(
            f"INSERT INTO events (at, job, what, detail) SELECT ended_at, id, phase, reason FROM jobs WHERE seq > {FEW}"
        )
        for _, sql in indexes:
            connection.execute(sql)
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")


def _copy_jobs(connection: sqlite3.Connection, count: int) -> None:
    # The sources stand in a table of their own: SQLite would first set aside what it both reads and adds to.
    connection.execute(f"CREATE TEMP TABLE source AS SELECT * FROM jobs WHERE seq > {_RARE}")
    columns: list[str] = [row[1] for row in connection.execute("PRAGMA table_info(jobs)") if row[1] != "seq"]
    step = _STEP // timedelta(milliseconds=1)
    sources = FEW - _RARE
    changed = {"id": "printf('j%010d', n)"} | {
        time: f"{time} + (n - {_RARE} - (n - {_RARE}) % {sources}) * {step}" for time in _TIMES
    }
    connection.execute(
        f"WITH RECURSIVE numbers(n) AS (SELECT {FEW} UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < {count}) "
        f"INSERT INTO jobs ({', '.join(columns)}) "
        f"SELECT {', '.join(changed.get(column, column) for column in columns)} "
        f"FROM numbers JOIN source ON source.rowid = 1 + (n - {_RARE}) % {sources}"
    )
    connection.execute("DROP TABLE temp.source")
