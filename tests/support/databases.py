"""Databases that a test changes from outside, and seals again as their owner would."""

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from bide.store import seal


@contextmanager
def edited(path: Path) -> Generator[sqlite3.Connection]:
    """Yield a connection to a database that nobody has open; what it changes is believed afterwards."""
    with closing(sqlite3.connect(path)) as connection, connection:
        yield connection
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (schema,) = connection.execute("PRAGMA user_version").fetchone()
        rows = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'generation'").fetchall()
    seal.settle(path, schema, rows[0][0] if rows else 0)
