"""What can be wrong with the database, in words that callers without SQL understand."""

import errno
import os
import sqlite3
from pathlib import Path

from bide.model.errors import DiskFull, HomeReadOnly, HomeUnusable, InternalError, TooManyFiles


class DatabaseCorrupt(Exception):
    """The file is not a database, or a damaged one. The job folders have all that was in it."""


class IdTaken(Exception):
    """A job has this id, or had it before it was forgotten."""


_WITHOUT_ROOM = (sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_CANTOPEN)
"""Codes that SQLite uses for a full disk among other things."""


def _is_full(folder: Path) -> bool:
    disk = os.statvfs(folder)
    return not disk.f_bavail or (bool(disk.f_files) and not disk.f_favail)


def _unusable(home: str, detail: str) -> Exception:
    if os.statvfs(home).f_flag & os.ST_RDONLY:
        return HomeReadOnly(home=home)
    return TooManyFiles(home=home) if _has_no_descriptor() else HomeUnusable(home=home, detail=detail)


def _has_no_descriptor() -> bool:
    try:
        os.close(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.ENFILE)
    return False


def is_of_the_schema(error: BaseException | None) -> bool:
    """Whether a statement of ours found tables that are not as this version, or the file itself, says."""
    return isinstance(error, sqlite3.Error) and error.sqlite_errorcode == sqlite3.SQLITE_ERROR


def fault(error: sqlite3.Error, path: Path) -> Exception:
    """What a failure of SQLite means to those who do not know of it."""
    # Errors of the Python module itself, such as the use of a closed connection, carry no code.
    extended = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
    code = extended & 0xFF
    if code == sqlite3.SQLITE_FULL or (extended in _WITHOUT_ROOM and _is_full(path.parent)):
        return DiskFull(home=str(path.parent))
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return DatabaseCorrupt(f"{path}: {error}")
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
        return _unusable(str(path.parent), str(error))
    return InternalError(detail=f"{path}: {error}")
