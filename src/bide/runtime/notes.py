"""Notes from keepers: datagrams that say where to look. The folder is what counts."""

from __future__ import annotations

import socket
from array import array
from collections.abc import Callable

from bide.runtime.home import Home
from bide.runtime.hub import Hub

_NOTE_BYTES = 256
_PASSED_BYTES = socket.CMSG_LEN(2 * array("i").itemsize)


class Notes:
    """The socket that keepers write to."""

    def __init__(self, home: Home, hub: Hub, noted: Callable[[str, str, list[int]], None]) -> None:
        """`noted(what, job, descriptors)` for every note, from now on."""
        self._hub = hub
        self._noted = noted
        self._sock = home.bind("notify.sock", socket.SOCK_DGRAM)
        hub.watch(self._sock.fileno(), self.read)

    def read(self) -> None:
        """Take all notes that are there."""
        while True:
            try:
                data, passed, _, _ = self._sock.recvmsg(_NOTE_BYTES, _PASSED_BYTES, socket.MSG_CMSG_CLOEXEC)
            except BlockingIOError:
                return
            what, _, job = data.decode("ascii", "replace").partition(" ")
            self._noted(what, job, list(array("i", passed[0][2])) if passed else [])

    def close(self) -> None:
        """Listen no more."""
        self._hub.unwatch(self._sock.fileno())
        self._sock.close()
