"""The seal: a page beside the database that says how we left it, so that a start can tell in no time whether to believe it.

SQLite drops the end of a damaged write-ahead log without a word, and does not notice bytes that somebody else changed
inside a page. The seal holds a *generation*, which every commit raises in the database and after it here, and the size
and times of the database file, which nobody but a checkpoint of ours changes. Reading it costs the same for any number
of jobs. See docs/decisions/030-the-index-is-sealed.md.
"""

from __future__ import annotations

import os
import struct
import time
import zlib
from contextlib import suppress
from enum import IntEnum
from pathlib import Path

from msgspec import Struct

from bide.store.faults import DatabaseCorrupt

SUFFIX = "-seal"
_MAGIC = b"bideseal"
_FORMAT = struct.Struct("<8sHHI16sQQqq")
_CHECK = struct.Struct("<I")
_SIZE = _FORMAT.size + _CHECK.size
_VERSION = 1
_BOOT = "/proc/sys/kernel/random/boot_id"
_PAST_NS = 2_000_000_000


class State(IntEnum):
    """What the database file and its log are to be at this moment."""

    SERVING = 1
    """The file is as the last checkpoint left it; its log has what came after."""
    MOVING = 2
    """A checkpoint writes to the file."""
    CLEAN = 3
    """The file was closed, and has everything."""
    VOID = 4
    """It is damaged, or was."""


_DOUBTFUL = {
    State.VOID: "it was found damaged, and has not been rebuilt since",
    State.MOVING: "a checkpoint was not finished",
}


class Sealed(Struct, frozen=True):
    """What a seal says."""

    state: State
    schema: int
    boot: bytes
    generation: int
    size: int
    mtime_ns: int
    ctime_ns: int


class Stamp(Struct, frozen=True):
    """A file as the system knows it, less what a hard link or a chmod changes."""

    inode: int
    size: int
    mtime_ns: int


def read(path: Path) -> Sealed | None:
    """Return what the seal of a database says; `None` if there is none, or it is damaged."""
    try:
        data = Path(f"{path}{SUFFIX}").read_bytes()[:_SIZE]
        if len(data) < _SIZE or _CHECK.unpack(data[-_CHECK.size :])[0] != zlib.crc32(data[: -_CHECK.size]):
            return None
        magic, version, state, schema, boot, generation, size, mtime_ns, ctime_ns = _FORMAT.unpack(data[: _FORMAT.size])
        if magic != _MAGIC or version != _VERSION:
            return None
        return Sealed(State(state), schema, boot, generation, size, mtime_ns, ctime_ns)
    except (OSError, ValueError):
        return None


def doubt(path: Path, sealed: Sealed | None) -> str:
    """Say why a database file is not to be believed; empty if it is as its seal says. To be asked before it is opened."""
    if sealed is None:
        return "it has no seal that can be read"
    if sealed.state is State.SERVING and sealed.boot != boot_id():
        return "the machine went down while it was in use"
    if sealed.state in _DOUBTFUL:
        return _DOUBTFUL[sealed.state]
    found = path.stat()
    if (found.st_size, found.st_mtime_ns, found.st_ctime_ns) != (sealed.size, sealed.mtime_ns, sealed.ctime_ns):
        return "somebody else has written to it"
    return ""


def is_unfinished(path: Path) -> bool:
    """Whether a database that was closed has not everything in its file."""
    sealed = read(path)
    return sealed is None or sealed.state is not State.CLEAN


def doubt_generation(sealed: Sealed, generation: int) -> str:
    """Say why its commits are not to be believed; empty if all are there. A daemon may have died right after a commit."""
    latest = sealed.generation + (1 if sealed.state is State.SERVING else 0)
    if sealed.generation <= generation <= latest:
        return ""
    return f"commits are missing or are not ours (it is at {generation}, and was at {sealed.generation})"


def boot_id() -> bytes:
    """Return what tells this run of the machine from others."""
    try:
        return bytes.fromhex(Path(_BOOT).read_text(encoding="ascii").strip().replace("-", ""))[:16].ljust(16, b"\0")
    except (OSError, ValueError):
        return bytes(16)


class Seal:
    """Keeps the seal of one open database, and notices when somebody else writes to the database or its log.

    The writing thread calls `begin`, `committed` and the checkpoint's two; any thread may call `changed` and `condemn`.
    Where the seal itself cannot be written (a disk without room for its first page) everything works but the next start,
    which rebuilds the index.
    """

    def __init__(self, path: Path | None, schema: int, generation: int) -> None:
        """Take over a database that is open and believed; one in memory has no path, and nobody else can change it."""
        self.generation: int = generation
        self.broken: str = ""
        """Why the index is not to be used any more; empty while it is sound."""
        self._path, self._log, self._schema = ("", "", schema) if path is None else (str(path), f"{path}-wal", schema)
        self._fd = -1
        self._doubted = False
        self._boot = boot_id()
        self._busy = False
        self._turn = 0
        if path is not None:
            with suppress(OSError):
                self._fd = os.open(f"{path}{SUFFIX}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._database, self._ctime_ns = _mark(self._path)
        self._wal, _ = _mark(self._log)
        self._write(State.SERVING)

    def changed(self) -> str:
        """Say what somebody else did to the files; empty if nothing. While the writer is at work, it is the one to look."""
        turn = self._turn
        if self._busy:
            return ""
        database, log = _stamp(self._path), _stamp(self._log)
        if self._busy or turn != self._turn or (database == self._database and log == self._wal):
            return ""
        return f"somebody else has written to {self._path if database != self._database else self._log}, or removed it"

    def check(self) -> None:
        """Raise DatabaseCorrupt if the index is not to be used."""
        if not self.broken and (why := self.changed()):
            self.condemn(why)
        if self.broken:
            raise DatabaseCorrupt(self.broken)

    def moved(self) -> bool:
        """Whether the database is no longer at its path."""
        found = _stamp(self._path)
        return found is None or self._database is None or found.inode != self._database.inode

    def condemn(self, why: str) -> None:
        """Use the database no more; a start after this rebuilds it, whatever comes in between."""
        if not self.broken:
            self.broken = why
            self._write(State.VOID)

    def void(self) -> None:
        """Say that a start after this is not to believe the database, though it may be used until then."""
        self._doubted = True
        self._write(State.VOID)

    # For the writing thread.

    def begin(self) -> None:
        """Begin to write to the log. Raises DatabaseCorrupt if that would add to damage."""
        self.check()
        self._busy = True

    def written(self, *, committed: bool) -> None:
        """Be done with writing to the log."""
        if committed:
            self.generation += 1
        self._wal, _ = _mark(self._log)
        if committed and not self.broken:
            self._write(State.SERVING)
        self._done()

    def begin_checkpoint(self) -> None:
        """Begin to write to the database file. Raises DatabaseCorrupt if that would hide damage."""
        self.begin()
        self._write(State.MOVING)

    def end_checkpoint(self) -> None:
        """Be done with it."""
        self._database, self._ctime_ns = _mark(self._path)
        self._wal, _ = _mark(self._log)
        if not self.broken:
            self._write(State.SERVING)
        self._done()

    def begin_closing(self) -> None:
        """Let SQLite do what it does to the file and its log when it is closed."""
        self._busy = True
        self._write(State.MOVING)

    def _done(self) -> None:
        self._turn += 1
        self._busy = False

    def close(self, *, sound: bool) -> None:
        """Leave a database that is closed. If that was sound, and its log is gone, everything is in the file."""
        if sound and self._path:
            self._database, self._ctime_ns = _mark(self._path)
            _sync(self._path)
            self._write(State.SERVING if os.path.exists(self._log) else State.CLEAN)
        if self._fd >= 0:
            with suppress(OSError):
                os.fsync(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _write(self, state: State) -> None:
        if self._doubted:
            state = State.VOID
        if self._fd >= 0:
            stamp = self._database or Stamp(0, 0, 0)
            page = (state, self._schema, self._boot, self.generation, stamp.size, stamp.mtime_ns, self._ctime_ns)
            with suppress(OSError):
                os.pwrite(self._fd, _page(*page), 0)


def void(path: Path) -> None:
    """Put on disk that a database is not to be believed, before anything is done about it."""
    if read(path) is None and not Path(f"{path}{SUFFIX}").exists():
        return
    page = _page(State.VOID, 0, boot_id(), 0, 0, 0, 0)
    fd = os.open(f"{path}{SUFFIX}", os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.pwrite(fd, page, 0)
        os.fsync(fd)
    finally:
        os.close(fd)


def settle(path: Path, schema: int, generation: int) -> None:
    """Seal a closed database as it is: everything is in it, and it is right."""
    stamp, ctime_ns = _mark(str(path))
    if stamp is None:
        raise FileNotFoundError(path)
    _sync(str(path))
    fd = os.open(f"{path}{SUFFIX}", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.pwrite(fd, _page(State.CLEAN, schema, boot_id(), generation, stamp.size, stamp.mtime_ns, ctime_ns), 0)
        os.fsync(fd)
    finally:
        os.close(fd)


def _page(state: State, schema: int, boot: bytes, generation: int, size: int, mtime_ns: int, ctime_ns: int) -> bytes:
    data = _FORMAT.pack(_MAGIC, _VERSION, state, schema, boot, generation, size, mtime_ns, ctime_ns)
    return data + _CHECK.pack(zlib.crc32(data))


def _mark(path: str) -> tuple[Stamp | None, int]:
    """Give a file a time of modification that no write gives it, and return how it is then.

    The kernel's clock for files ticks every few milliseconds: without a mark, a write of somebody else in the tick of our
    own would leave no trace.
    """
    at = time.time_ns() - _PAST_NS - int.from_bytes(os.urandom(4)) // 4
    with suppress(OSError):  # a file system that became read-only changes by nobody's hand
        os.utime(path, ns=(at, at))
    try:
        found = os.stat(path)
    except OSError:
        return None, 0
    return Stamp(found.st_ino, found.st_size, found.st_mtime_ns), found.st_ctime_ns


def _stamp(path: str) -> Stamp | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return Stamp(found.st_ino, found.st_size, found.st_mtime_ns)


def _sync(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
