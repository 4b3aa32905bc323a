"""The reserve of a home: files made while the disk has room, and removed one by one when it has none.

Each file holds one inode and some blocks. Removing one lets a small write succeed: a row, a socket, a record.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from bide.keeper import told
from bide.keeper.folder import NO_ROOM
from bide.model.errors import DiskFull

FOLDER = "reserve"
_PIECES = 8
_PIECE_BYTES = 64 * 1024
_ROOMY = 8
"""The disk has room if it could hold the whole reserve this many times."""

T = TypeVar("T")


class Reserve:
    """Space of one home that nothing else can take."""

    def __init__(self, home: str) -> None:
        """Count what an earlier process left."""
        self._home = home
        self._folder = os.path.join(home, FOLDER)
        self._pieces: list[str] = []
        with suppress(OSError):
            self._pieces = sorted(os.listdir(self._folder))

    @property
    def is_whole(self) -> bool:
        """Whether nothing of it is missing."""
        return len(self._pieces) >= _PIECES

    def is_roomy(self) -> bool:
        """Whether the disk has so much room that the home needs no reserve now."""
        return has_room(self._home, _PIECES * _PIECE_BYTES * _ROOMY, _PIECES * _ROOMY)

    def fill(self) -> None:
        """Make the missing files, if the disk has room for them."""
        if self.is_whole or not self.is_roomy():
            return
        with suppress(OSError):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            for name in map(str, range(_PIECES)):
                if name not in self._pieces:
                    told.write_reserved(os.path.join(self._folder, name), _PIECE_BYTES)
                    self._pieces.append(name)

    def spend(self, *, keep: int = 0) -> bool:
        """Remove one file; False if no more than `keep` are left."""
        while len(self._pieces) > keep:
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(self._folder, self._pieces.pop()))
                return True
        return False

    def with_room(self, act: Callable[[], T]) -> T:
        """Return what `act` returns. Each time the disk is full, spend one file and call it again, as long as there are any."""
        while True:
            try:
                return act()
            except (OSError, DiskFull) as error:
                if not is_full(error) or not self.spend():
                    raise


def is_full(error: BaseException) -> bool:
    """Whether an error means that the disk has no room."""
    return isinstance(error, DiskFull) or (isinstance(error, OSError) and error.errno in NO_ROOM)


def has_room(folder: str, size: int, inodes: int) -> bool:
    """Whether the disk of a folder has this many bytes and inodes for us. Some filesystems do not count inodes."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize >= size and (not disk.f_files or disk.f_favail >= inodes)
