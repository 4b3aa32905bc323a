"""Notes from keepers: datagrams that say where to look. The folder is what counts."""

from __future__ import annotations

import socket
from array import array
from collections.abc import Callable

from bide.runtime.home import Home
from bide.runtime.hub import Hub

SOCKET = "notify.sock"
_NOTE_BYTES = 256
_PASSED_BYTES = socket.CMSG_LEN(2 * array("i").itemsize)


class Notes:
    """The socket that keepers write to."""

    def __init__(self, home: Home, hub: Hub, noted: Callable[[str, str, list[int]], None]) -> None:
        """`noted(what, job, descriptors)` for every note, from now on."""
        self._home = home
        self._hub = hub
        self._noted = noted
        self._sock = self._bind()

    def _bind(self) -> socket.socket:
        sock = self._home.bind(SOCKET, socket.SOCK_DGRAM)
        self._hub.watch(sock.fileno(), self.read)
        return sock

    def renew(self) -> None:
        """Bind the socket anew, after its file was deleted. What was sent to the old one is read first."""
        old, self._sock = self._sock, self._bind()
        self._take(old)
        self._hub.unwatch(old.fileno())
        old.close()

    def read(self) -> None:
        """Take all notes that are there."""
        self._take(self._sock)

    def _take(self, sock: socket.socket) -> None:
        while True:
            try:
                data, passed, _, _ = sock.recvmsg(_NOTE_BYTES, _PASSED_BYTES, socket.MSG_CMSG_CLOEXEC)
            except BlockingIOError:
                return
            what, _, job = data.decode("ascii", "replace").partition(" ")
            self._noted(what, job, list(array("i", passed[0][2])) if passed else [])

    def close(self) -> None:
        """Listen no more."""
        self._hub.unwatch(self._sock.fileno())
        self._sock.close()
