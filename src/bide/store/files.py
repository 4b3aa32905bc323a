"""The database as a file: making it, opening it, and putting another in its place when it cannot be believed."""

import errno
import os
import sqlite3
import stat
import time
from contextlib import ExitStack, closing, suppress
from pathlib import Path

from bide.model.errors import DiskFull, HomeUnusable
from bide.store import seal
from bide.store.migrate import migrate

BUSY_SECONDS = 5
NOWHERE = ":memory:"
COMPANIONS = ("-wal", "-shm", "-journal")
_OURS = 0o600


def open_database(path: Path, sealed_schema: int | None = None) -> tuple[sqlite3.Connection, bool]:
    """Return a connection to write with, and whether the schema is new. Checkpoints are left to its user."""
    _create(path)
    with ExitStack() as opened:
        connection = opened.enter_context(closing(connect(path)))
        created = migrate(connection, path, sealed_schema)
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "wal_autocheckpoint = 0"):
            connection.execute(f"PRAGMA {pragma}")
        opened.pop_all()
    return connection, created


def open_in_memory() -> sqlite3.Connection:
    """Return the one connection of an index that is in no file, for want of room."""
    connection = connect_memory()
    migrate(connection, Path(NOWHERE))
    return connection


def connect_memory() -> sqlite3.Connection:
    """Connect to a database that is in no file."""
    return sqlite3.connect(NOWHERE, isolation_level=None, check_same_thread=False)


def open_reader(path: Path) -> sqlite3.Connection:
    """Return a connection to read with."""
    connection = connect(path)
    connection.execute("PRAGMA query_only = ON")
    return connection


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


def connect(path: Path) -> sqlite3.Connection:
    """Connect to a database that is there.

    `unix-excl` keeps the index of the log in memory that all connections of this process share, so that there is no file
    `-shm` that could be damaged, or find no room; and it locks out every other process.
    """
    uri = f"{path.as_uri()}?mode=rw&vfs=unix-excl"
    return sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)


def make_way(path: Path) -> None:
    """Leave only files that we can use where a database, its companions and its seal belong.

    What is no file (a folder, a FIFO, a device) is put aside under another name. Raises HomeUnusable.
    """
    for suffix in ("", *COMPANIONS, seal.SUFFIX):
        place = Path(f"{path}{suffix}")
        try:
            found = place.stat()
        except OSError:
            continue  # there is none, or nothing can be known of it
        try:
            if not stat.S_ISREG(found.st_mode):
                place.rename(f"{place}.corrupt-{time.time_ns()}")
            elif found.st_mode & _OURS != _OURS and found.st_uid == os.geteuid():
                place.chmod(_OURS)
        except OSError as error:
            raise HomeUnusable(home=str(path.parent), detail=f"{place}: {error.strerror}") from error


def remove(path: Path) -> None:
    """Remove a database with its companions, if there is one."""
    for suffix in ("", *COMPANIONS, seal.SUFFIX):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def set_aside(path: Path, stamp: str) -> Path | None:
    """Keep a database that cannot be read beside the one that takes its place; return its path, `None` if there is none.

    It stays at its own path as well, so that a crash before the other is there leaves a database that is known as bad,
    rather than none. Its log is moved: a log that is left would be read into any database in its place.
    """
    aside = Path(f"{path}.corrupt-{stamp}")
    for suffix in COMPANIONS:
        with suppress(FileNotFoundError):
            Path(f"{path}{suffix}").rename(f"{path}{suffix}.corrupt-{stamp}")
    try:
        os.link(path, aside)
    except FileNotFoundError:
        return None
    except OSError:  # a file system without hard links
        path.rename(aside)
    return aside


def replace(path: Path, new: Path) -> None:
    """Put a closed database in the place of another, whose log is gone, and seal it."""
    make_way(path)
    sealed = seal.read(new)
    for suffix in COMPANIONS:
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    new.rename(path)
    Path(f"{new}{seal.SUFFIX}").unlink(missing_ok=True)
    fd = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
    if sealed is not None:
        seal.settle(path, sealed.schema, sealed.generation)
