"""The database as a file: making it, opening it, and putting it aside when it cannot be read."""

import errno
import sqlite3
from contextlib import ExitStack, closing, suppress
from enum import StrEnum
from pathlib import Path

from bide.model.errors import DiskFull, HomeUnusable
from bide.store.migrate import migrate

BUSY_SECONDS = 5
COMPANIONS = ("-wal", "-shm", "-journal")


NOWHERE = ":memory:"


class Access(StrEnum):
    """The ways to open the database, in the order in which a full disk lets them fail."""

    SHARED = "shared"
    """Readers beside the writer. SQLite needs room for the memory that they share (`-shm`)."""
    ALONE = "alone"
    """One connection reads and writes and keeps all others out. Reading needs no room; writing does."""
    MEMORY = "memory"
    """Nothing is read from the file or written to it: the caller fills the index from the job folders."""


def open_single(path: Path, access: Access) -> tuple[sqlite3.Connection, bool]:
    """Open the one connection of a database that has no room for two; whether the schema is new."""
    if access is Access.ALONE:
        _create(path)
    with ExitStack() as opened:
        there = connect(path, "rw") if access is Access.ALONE else connect_memory()
        connection = opened.enter_context(closing(there))
        # Set before the first read, so that SQLite keeps the index of the write-ahead log in its own memory.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        created = migrate(connection, path)
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")
        opened.pop_all()
    return connection, created


def connect_memory() -> sqlite3.Connection:
    """A database that is in no file."""
    return sqlite3.connect(NOWHERE, isolation_level=None, check_same_thread=False)


def open_database(path: Path) -> tuple[sqlite3.Connection, sqlite3.Connection, bool]:
    """A connection to write with, one to read with, and whether the schema is new."""
    _create(path)
    with ExitStack() as opened:
        connection = opened.enter_context(closing(connect(path, "rw")))
        created = migrate(connection, path)
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")
        reader = opened.enter_context(closing(connect(path, "ro")))
        reader.execute("PRAGMA query_only = ON")
        opened.pop_all()
    return connection, reader, created


def _create(path: Path) -> None:
    """Make the file if it is not there, for its owner's eyes only: commands may hold secrets."""
    try:
        path.touch(mode=0o600, exist_ok=False)
        # They belong to a file that was deleted, perhaps under a store that is still open: sharing its wal-index
        # would corrupt this one.
        for suffix in COMPANIONS:
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    except FileExistsError:
        pass
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(home=str(path.parent)) from error
        raise HomeUnusable(home=str(path.parent), detail=str(error.strerror)) from error


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """A connection of this mode: `rw` or `ro`."""
    uri = f"{path.as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)


def inode(path: Path) -> tuple[int, int] | None:
    """Which file is at this path; `None` if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def quarantine(path: str, stamp: str) -> str:
    """Rename a database that cannot be read, with its companions, to `*.corrupt-<stamp>`; its new path."""
    # The database goes first: companions that are left behind without one are removed by the next open.
    for suffix in ("", *COMPANIONS):
        with suppress(FileNotFoundError):
            Path(path + suffix).rename(f"{path}{suffix}.corrupt-{stamp}")
    return f"{path}.corrupt-{stamp}"
