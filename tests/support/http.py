"""A plain HTTP client on the daemon's socket, as any language has one."""

import http.client
import json
import os
import socket
from pathlib import Path
from typing import Any

from tests.support.patience import PATIENCE


class Http(http.client.HTTPConnection):
    """A connection to the daemon of a home."""

    def __init__(self, home: Path) -> None:
        super().__init__("bide", timeout=PATIENCE)
        self.home = home

    def connect(self) -> None:
        """Connect to the socket in the home, however long its path."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        folder = os.open(self.home, os.O_PATH)
        try:
            self.sock.connect(f"/proc/self/fd/{folder}/bide.sock")
        finally:
            os.close(folder)

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """A request and its JSON answer."""
        self.request(method, path, None if body is None else json.dumps(body))
        answer = self.getresponse()
        return answer.status, json.loads(answer.read())

    def raw(self, method: str, path: str) -> http.client.HTTPResponse:
        """A request and its answer, unread."""
        self.request(method, path)
        return self.getresponse()


def frames(data: bytes) -> list[tuple[int, bytes]]:
    """The frames of a streamed answer."""
    found: list[tuple[int, bytes]] = []
    while data:
        end = 5 + int.from_bytes(data[1:5], "big")
        found.append((data[0], data[5:end]))
        data = data[end:]
    return found
