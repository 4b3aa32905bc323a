"""What can be wrong with the database, in words that callers without SQL understand."""

import errno
import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from bide.model.errors import (
    BideError,
    DatabaseInUse,
    DiskFull,
    HomeReadOnly,
    HomeUnusable,
    InternalError,
    TooManyFiles,
)

_OF_THE_SYSTEM = (sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_INTERRUPT)
_OF_WRITING = (
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_FSYNC,
    sqlite3.SQLITE_IOERR_DIR_FSYNC,
    sqlite3.SQLITE_IOERR_TRUNCATE,
    sqlite3.SQLITE_IOERR_NOMEM,
    sqlite3.SQLITE_IOERR_LOCK,
)
"""The disk refused what we wanted to write: what it holds is not damaged by that."""
_WITHOUT_ROOM = (sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_CANTOPEN)
"""Codes that SQLite uses for a full disk among other things."""
_UNUSABLE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH)
_UNIQUE = (
    sqlite3.SQLITE_CONSTRAINT_UNIQUE,
    sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY,
    sqlite3.SQLITE_CONSTRAINT_ROWID,
)
"""Every conflict that a request can cause is looked for before: what is left is an index that its table contradicts."""
VALUE_ERRORS = (ValueError, KeyError, TypeError, IndexError, AttributeError, ArithmeticError, RecursionError, BideError)
"""Raised where a row holds a value that no version of bide has written."""


SQL_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""Raised by SQLite's module; the second where a message quotes a damaged name."""


class DatabaseCorrupt(Exception):
    """The index cannot be believed: it is damaged, it is not as we left it, or it is being rebuilt."""


class Unreadable(sqlite3.DatabaseError):
    """A row holds a value that no version of bide has written."""


class IdTaken(Exception):
    """A job has this id, or had it before it was forgotten."""


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


def _holder(path: Path) -> str:
    """Name another process that has a file open, as far as we may look."""
    wanted = os.path.realpath(path)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            folder = f"/proc/{pid}/fd"
            if int(pid) != os.getpid() and any(os.readlink(f"{folder}/{fd}") == wanted for fd in os.listdir(folder)):
                name = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
                return f"process {pid} ({name})"
    return "another process"


def fault(error: Exception, path: Path) -> Exception:
    """Translate a failure of SQLite, or of a row that cannot be read.

    Everything that the disk, memory or permissions do not explain is damage: a page, a schema or a value that we did not
    write. The list of codes is the other way round on purpose, so that a code nobody thought of is damage as well.
    """
    code = getattr(error, "sqlite_errorcode", None)
    kind = None if code is None else code & 0xFF
    if kind == sqlite3.SQLITE_FULL or (code in _WITHOUT_ROOM and _is_full(path.parent)):
        return DiskFull(home=str(path.parent))
    if kind == sqlite3.SQLITE_BUSY:
        return DatabaseInUse(holder=_holder(path), path=str(path))
    if kind in _UNUSABLE:
        return _unusable(str(path.parent), str(error))
    if kind == sqlite3.SQLITE_CONSTRAINT:
        damaged = code in _UNIQUE
    elif kind is None:
        # Errors of the Python module itself carry no code: the use of a closed connection, text that is not UTF-8.
        damaged = not isinstance(error, sqlite3.ProgrammingError)
    else:
        damaged = kind not in _OF_THE_SYSTEM and code not in _OF_WRITING
    return DatabaseCorrupt(f"{path}: {error}") if damaged else InternalError(detail=f"{path}: {error}")
