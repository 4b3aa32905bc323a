"""What can be wrong with the database, in words that callers without SQL understand."""

import sqlite3
from pathlib import Path

from bide.model.errors import DiskFull, HomeUnusable, InternalError


class DatabaseCorrupt(Exception):
    """The file is not a database, or a damaged one. The job folders have all that was in it."""


class IdTaken(Exception):
    """A job has this id, or had it before it was forgotten."""


def is_of_the_schema(error: BaseException | None) -> bool:
    """Whether a statement of ours found tables that are not as this version, or the file itself, says."""
    return isinstance(error, sqlite3.Error) and error.sqlite_errorcode == sqlite3.SQLITE_ERROR


def fault(error: sqlite3.Error, path: Path) -> Exception:
    """What a failure of SQLite means to those who do not know of it."""
    # Errors of the Python module itself, such as the use of a closed connection, carry no code.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return DiskFull(home=str(path.parent))
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return DatabaseCorrupt(f"{path}: {error}")
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
        return HomeUnusable(home=str(path.parent), detail=str(error))
    return InternalError(detail=f"{path}: {error}")
