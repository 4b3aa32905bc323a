"""Pipes and locks of jobs that are over, for those that come: to move a file costs a tenth of making one.

Nothing depends on them: what is not there, or may still be in use, is made anew.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections import deque
from collections.abc import Iterable

_MOST = 256


class Leftovers:
    """The folders of a few jobs that are over, whose keepers are gone and that nothing survived."""

    def __init__(self) -> None:
        """None yet."""
        self._folders: deque[str] = deque(maxlen=_MOST)

    def offer(self, path: str) -> None:
        """What this folder needs no more may be had."""
        self._folders.append(path)

    def furnish(self, path: str, fifos: Iterable[str]) -> None:
        """Put the FIFOs of a job into its folder, and a lock where there is one to be had. Raises OSError."""
        old = self._folders.popleft() if self._folders else None
        for name in fifos:
            if old is None or not _moved(f"{old}/{name}", f"{path}/{name}"):
                os.mkfifo(f"{path}/{name}", 0o600)
        if old is not None:
            with contextlib.suppress(OSError):
                os.rename(f"{old}/lock", f"{path}/lock")


def _moved(old: str, new: str) -> bool:
    try:
        if not _is_free(old):
            return False
        os.rename(old, new)
    except OSError:
        return False
    return True


def _is_free(fifo: str) -> bool:
    """Whether nobody holds an end of it. Who holds none cannot come by one: nothing names it but this path."""
    try:
        os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
    else:
        return False  # somebody reads from it
    fd = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return os.read(fd, 1) == b""  # with a writer it would be "try again"
    finally:
        os.close(fd)
