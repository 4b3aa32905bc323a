"""Guards the sockets of a home: one whose file is deleted or replaced is bound anew, at once.

The kernel reports changes of the folder (inotify); where it does not, the files are looked at twice a second.
"""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Callable

from bide.model.errors import BideError
from bide.runtime.home import Home
from bide.runtime.hub import Hub

log = logging.getLogger(__name__)

_MOVED_FROM, _MOVED_TO, _DELETE = 0x40, 0x80, 0x200
_EVENTS = 4096
_LOOK_SECONDS = 0.5


class SocketGuard:
    """The sockets of one home."""

    def __init__(self, home: Home, hub: Hub) -> None:
        """Begin to watch the folder."""
        self._home = home
        self._hub = hub
        self._renewals: dict[str, Callable[[], None]] = {}
        self._failed = False
        self._cancel: Callable[[], None] | None = None
        self._fd = _watch_folder(home.path)
        if self._fd >= 0:
            hub.watch(self._fd, self._changed)
        else:
            self._look_later()

    def guard(self, name: str, renew: Callable[[], None]) -> None:
        """Call `renew`, which binds the socket anew, whenever its file is not there."""
        self._renewals[name] = renew

    def close(self) -> None:
        """Guard nothing more."""
        if self._cancel is not None:
            self._cancel()
        if self._fd >= 0:
            self._hub.unwatch(self._fd)
            os.close(self._fd)

    def _changed(self) -> None:
        os.read(self._fd, _EVENTS)
        self._look()

    def _look(self) -> None:
        failed = False
        for name, renew in self._renewals.items():
            if self._home.has_socket(name):
                continue
            try:
                renew()
                log.warning("%s was deleted; it was made anew", name)
            except (OSError, BideError) as error:
                failed = True
                if not self._failed:
                    log.error("%s was deleted and cannot be made anew: %s; it is tried again", name, error)  # noqa: TRY400
        self._failed = failed
        if failed:
            self._look_later()

    def _look_later(self) -> None:
        self._cancel = self._hub.call_later(_LOOK_SECONDS, self._look_again)

    def _look_again(self) -> None:
        self._look()
        if self._fd < 0 and not self._failed:
            self._look_later()


def _watch_folder(path: str) -> int:
    """A descriptor that is readable when names in the folder go or are replaced; -1 if there is none to be had."""
    libc = ctypes.CDLL(None)
    fd = int(libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
    if fd >= 0 and libc.inotify_add_watch(fd, os.fsencode(path), _MOVED_FROM | _MOVED_TO | _DELETE) < 0:
        os.close(fd)
        return -1
    return fd
