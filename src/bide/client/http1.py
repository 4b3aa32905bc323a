"""The client's side of HTTP/1.1 and of the frames in a streamed answer: bytes to values, no socket.

The daemon never sends chunked bodies: a body has a Content-Length, or it ends with the connection.
"""

import json

from bide import config
from bide.model.errors import BideError, InternalError, from_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Json = dict[str, Any]
    Query = Mapping[str, str | int | float | None]
else:
    Json = Query = dict

EVENT, OUT, ERR = 0, 1, 2
"""The types of a frame."""

_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_FRAME_HEAD = 5
_HEAD_MAX = 64 * 1024


def quote(text: str) -> str:
    """Text as one segment of a path or one value of a query."""
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in text.encode("utf-8", "surrogateescape"))


def request(
    method: str, path: str, body: "Json | bytes | None" = None, query: "Query | None" = None, asker: str = ""
) -> bytes:
    """A whole request of this asker. Parts of the query that are None are left out; the path is already quoted, and so may
    the body be.
    """
    pairs = [f"{quote(key)}={quote(str(value))}" for key, value in (query or {}).items() if value is not None]
    target = f"{path}?{'&'.join(pairs)}" if pairs else path
    head = f"{method} {target} HTTP/1.1\r\nHost: bide\r\n"
    if owner := asker or config.owner():
        head += f"Bide-Owner: {quote(owner)}\r\n"
    if body is None:
        return (head + "\r\n").encode("ascii")
    payload = body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode("ascii")
    head += f"Content-Type: application/json\r\nContent-Length: {len(payload)}\r\n\r\n"
    return head.encode("ascii") + payload


class Answer:
    """An answer as far as it has come: feed it what arrives."""

    __slots__ = ("_buffer", "headers", "length", "status")

    def __init__(self) -> None:
        """Nothing has come yet."""
        self.status = 0
        self.headers: dict[str, str] = {}
        """Names in lower case."""
        self.length: int | None = None
        """How long the body is; None if it ends with the connection, or the head is not here."""
        self._buffer = bytearray()

    def feed(self, data: "bytes | memoryview") -> None:
        """Take bytes from the connection; raises InternalError on what is not HTTP."""
        self._buffer += data
        if self.status:
            return
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > _HEAD_MAX:
                raise InternalError(detail="the daemon's answer has no end of its head")
            return
        head = bytes(self._buffer[:end]).decode("latin-1").split("\r\n")
        del self._buffer[: end + 4]
        self._parse(head)

    def _parse(self, head: list[str]) -> None:
        words = head[0].split(" ", 2)
        if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdecimal():
            raise InternalError(detail=f"the daemon's answer begins with {head[0][:80]!r}")
        for line in head[1:]:
            name, _, value = line.partition(":")
            self.headers[name.strip().lower()] = value.strip()
        length = self.headers.get("content-length")
        if length is not None:
            if not length.isdecimal():
                raise InternalError(detail=f"the daemon's answer has the length {length!r}")
            self.length = int(length)
        self.status = int(words[1])

    @property
    def has_head(self) -> bool:
        """Status and headers are known."""
        return self.status != 0

    @property
    def complete(self) -> bool:
        """Everything is here; never so for a body that ends with the connection."""
        return self.length is not None and len(self._buffer) >= self.length

    @property
    def keeps_alive(self) -> bool:
        """The connection can carry another request after this answer."""
        return self.complete and self.headers.get("connection", "").lower() != "close"

    def take(self) -> bytes:
        """The bytes of the body that have come and were not taken yet."""
        if self.length is None:
            taken = bytes(self._buffer)
            self._buffer.clear()
        else:
            taken = bytes(self._buffer[: self.length])
        return taken

    def json(self, decode: "Callable[[bytes], Json]" = json.loads) -> "Json":
        """The body of a complete answer as an object; raises the BideError that it carries."""
        try:
            answer: Json = decode(self.take())
        except ValueError as error:
            raise InternalError(detail=f"the daemon's answer is not JSON: {error}") from error
        if not _is_object(answer):
            raise InternalError(detail="the daemon's answer is not an object")
        if self.status >= 400:
            raise error_of(answer, self.status)
        return answer


def error_of(body: "Json", status: int) -> BideError:
    """The error of an answer with a status of 400 or more."""
    if _is_object(body.get("error")):
        return from_json(body["error"])
    return InternalError(detail=f"the daemon answered {status} without an error")


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


class Frames:
    """Cuts a streamed body into frames."""

    __slots__ = ("_buffer",)

    def __init__(self) -> None:
        """Nothing has come yet."""
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """The frames completed by these bytes, as (type, payload)."""
        self._buffer += data
        frames: list[tuple[int, bytes]] = []
        at = 0
        with memoryview(self._buffer) as view:
            while len(view) - at >= _FRAME_HEAD:
                end = at + _FRAME_HEAD + int.from_bytes(view[at + 1 : at + _FRAME_HEAD], "big")
                if end > len(view):
                    break
                frames.append((view[at], bytes(view[at + _FRAME_HEAD : end])))
                at = end
        del self._buffer[:at]
        return frames
