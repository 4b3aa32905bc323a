"""The daemon over there, asked from here: HTTP over its socket, each request on a connection of its own, and none of them repeated."""

import http.client
import json
import socket
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

Json = dict[str, Any]


class Refused(Exception):
    """The daemon answered with an error."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code


class Gone(Exception):
    """There was no whole answer."""


class _Connection(http.client.HTTPConnection):
    def __init__(self, address: Path, within: float) -> None:
        super().__init__("bide", timeout=within)
        self._address = address

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._address))


class Door:
    """What one asks of a daemon."""

    def __init__(self, address: Path) -> None:
        self._address = address

    def call(self, method: str, path: str, body: Json | None = None, *, within: float = 60, **query: object) -> Json:
        """Ask, and return the answer's JSON."""
        return json.loads(self.raw(method, path, body, within=within, **query))

    def raw(self, method: str, path: str, body: Json | None = None, *, within: float = 60, **query: object) -> bytes:
        """Ask, and return the answer's bytes."""
        target = f"{path}?{urlencode(query)}" if query else path
        connection = _Connection(self._address, within)
        try:
            connection.request(method, target, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise Gone(str(error) or type(error).__name__) from error
        finally:
            connection.close()
        if answer.status >= 400:
            error = json.loads(data)["error"]
            raise Refused(answer.status, error["code"], error["message"])
        return data

    def answers(self) -> bool:
        """Whether a daemon answers now."""
        try:
            self.call("GET", "/v1/daemon", within=5)
        except Gone:
            return False
        return True

    def jobs(self) -> list[Json]:
        """All jobs, newest first."""
        found: list[Json] = []
        query: Json = {"limit": 200}
        while True:
            page = self.call("GET", "/v1/jobs", **query)
            found += page["jobs"]
            if page["next"] is None:
                return found
            query["before"] = page["next"]

    def output(self, job: str, stream: str = "out") -> bytes:
        """All that is kept of a stream."""
        data = bytearray()
        while True:
            part = self.raw("GET", f"/v1/jobs/{quote(job)}/output", stream=stream, offset=len(data), limit=1 << 20)
            if not part:
                return bytes(data)
            data += part
