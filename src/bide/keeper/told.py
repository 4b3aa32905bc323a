"""What a job is told on its stdin or terminal: files in its folder that the daemon writes and the keeper delivers."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_KEEP_SIZE = 1
"""FALLOC_FL_KEEP_SIZE: the keeper takes what the file's size says."""
_NOT_THERE = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


def append(path: str, data: bytes) -> None:
    """Add to what the job will read from its stdin or terminal: all of it, or nothing where the disk is full. Raises OSError."""
    fd = os.open(f"{path}/in", os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _reserve(fd, len(data))
        write_all(fd, data)
    finally:
        os.close(fd)


def _reserve(fd: int, size: int) -> None:
    """Have room for so many bytes at the end of a file, which stays as long as it is; filesystems that cannot are let be."""
    if size and sys.maxsize > 2**32:  # else the system's own offsets are shorter than what is given here
        while (failed := _fallocate()(fd, os.fstat(fd).st_size, size)) == errno.EINTR:
            pass
        if failed and failed not in _NOT_THERE:
            raise OSError(failed, os.strerror(failed))


@cache
def _fallocate() -> Callable[[int, int, int], int]:
    try:
        import ctypes  # noqa: PLC0415 - the standard library has no other way, and few jobs have input
    except ImportError:  # a Python that was built without it
        return lambda _fd, _at, _size: errno.ENOSYS
    function = ctypes.CDLL(None, use_errno=True).fallocate
    function.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    return lambda fd, at, size: ctypes.get_errno() if function(fd, _KEEP_SIZE, at, size) else 0


def write_all(fd: int, data: bytes) -> None:
    """Write all of it, in as many pieces as the system takes it."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def write(path: str, data: bytes, how: int = os.O_CREAT | os.O_EXCL) -> None:
    """Write all of it to a file, which must not be there unless `how` says otherwise. Raises OSError."""
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC | how, 0o600)
    try:
        write_all(fd, data)
    finally:
        os.close(fd)


def write_reserved(path: str, size: int, *, keep_size: bool = False) -> None:
    """Make a file that occupies `size` bytes on disk; with `keep_size` it is empty all the same.

    Raises OSError, and then leaves nothing.
    """
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        _reserve(fd, size)
        if not keep_size:
            write_all(fd, bytes(size))
    except OSError:
        os.unlink(path)
        raise
    finally:
        os.close(fd)


def read(path: str) -> bytes:
    """All that the job was told. Raises OSError."""
    with open(f"{path}/in", "rb") as file:
        return file.read()


def mark(path: str, key: str, at: int) -> None:
    """Put on record where what has this key begins, before it is there."""
    fd = os.open(f"{path}/in.keys", os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, f"{at} {key}\n".encode())
    finally:
        os.close(fd)


def place(path: str, key: str, data: bytes) -> int | None:
    """Where data with this key begins; `None` if it was never said, or was on record alone and others spoke there."""
    with contextlib.suppress(FileNotFoundError), open(f"{path}/in.keys", encoding="utf-8") as file:
        rows = [line.rstrip("\n").partition(" ") for line in file]
        for at in [int(at) for at, _, known in rows if known == key]:
            with open(f"{path}/in", "rb") as said:
                said.seek(at)
                if data.startswith(said.read(len(data))):
                    return at
    return None


def close(path: str) -> None:
    """After what is in `in`, the stdin ends."""
    os.close(os.open(f"{path}/in.eof", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))


def is_closed(path: str) -> bool:
    """Whether the stdin's end was asked for."""
    return os.path.exists(f"{path}/in.eof")
