"""HTTP/1.1 on a stream: requests parsed by httptools, answers written by hand. Knows nothing of jobs."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote

import anyio
import httptools
from anyio.abc import ByteStream
from anyio.streams.memory import MemoryObjectSendStream

log = logging.getLogger(__name__)

BODY_MAX = 64 * 1024 * 1024
_RECEIVE = 64 * 1024
_PHRASES = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    409: "Conflict",
    410: "Gone",
    413: "Content Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
    507: "Insufficient Storage",
}


@dataclass(slots=True)
class HttpRequest:
    """One request."""

    method: str = "GET"
    path: str = "/"
    query: dict[str, str] = field(default_factory=dict[str, str])
    body: bytearray = field(default_factory=bytearray)

    def json(self) -> dict[str, Any]:
        """The body as an object; an empty body is an empty one. Raises ValueError."""
        value: object = json.loads(self.body) if self.body else {}
        if not isinstance(value, dict):
            raise ValueError("the body must be a JSON object")
        return value  # pyright: ignore[reportUnknownVariableType]


class Reply:
    """The answer to one request: whole, or streamed until the connection ends."""

    def __init__(self, stream: ByteStream) -> None:
        """Nothing is sent yet."""
        self._stream = stream
        self.started = False
        self.streamed = False

    async def send(
        self,
        body: bytes,
        *,
        status: int = 200,
        kind: str = "application/json",
        headers: Mapping[str, object] | None = None,
    ) -> None:
        """Send a whole answer."""
        self.started = True
        await self._stream.send(_head(status, kind, {"Content-Length": len(body), **(headers or {})}) + body)

    async def json(self, value: object, *, status: int = 200) -> None:
        """Send a JSON answer."""
        await self.send(json.dumps(value, separators=(",", ":")).encode(), status=status)

    async def stream(self, kind: str) -> Callable[[bytes], Awaitable[None]]:
        """Begin an answer that ends with the connection; returns how to send its parts."""
        self.started = self.streamed = True
        await self._stream.send(_head(200, kind, {"Connection": "close", "Cache-Control": "no-store"}))
        return self._stream.send


def _head(status: int, kind: str, headers: Mapping[str, object]) -> bytes:
    lines = [f"HTTP/1.1 {status} {_PHRASES.get(status, 'Answer')}", f"Content-Type: {kind}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class _Incoming:
    """Collects requests from bytes; its methods are httptools' callbacks."""

    def __init__(self) -> None:
        self.ready: list[HttpRequest] = []
        self.keep_alive = True
        self.too_large = False
        self._request = HttpRequest()
        self._url = b""
        self._parser = httptools.HttpRequestParser(self)

    def feed(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._request = HttpRequest()
        self._url = b""

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_body(self, body: bytes) -> None:
        self._request.body += body
        if len(self._request.body) > BODY_MAX:
            self.too_large = True
            self._request.body.clear()

    def on_message_complete(self) -> None:
        request = self._request
        request.method = self._parser.get_method().decode("ascii")
        path, _, query = self._url.decode("latin-1").partition("?")
        request.path = path
        request.query = dict(parse_qsl(query, keep_blank_values=True))
        self.keep_alive = self._parser.should_keep_alive()
        self.ready.append(request)


App = Callable[[HttpRequest, Reply], Awaitable[None]]


async def serve_connection(stream: ByteStream, app: App) -> None:
    """Answer the requests of one connection in turn. If the peer goes away, the call in progress is cancelled."""
    send, receive = anyio.create_memory_object_stream[HttpRequest | None](16)
    incoming = _Incoming()
    async with stream, send, receive, anyio.create_task_group() as group:
        group.start_soon(_read_requests, stream, incoming, send, group.cancel_scope)
        async for request in receive:
            reply = Reply(stream)
            try:
                if request is None:
                    await _refuse(reply, too_large=incoming.too_large)
                    break
                await app(request, reply)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                break
            if reply.streamed or not incoming.keep_alive:
                break
        group.cancel_scope.cancel()


async def _read_requests(
    stream: ByteStream, incoming: _Incoming, send: MemoryObjectSendStream[HttpRequest | None], scope: anyio.CancelScope
) -> None:
    """Pass on whole requests; `None` for what is no request. Cancels the scope when the peer goes away."""
    try:
        while not incoming.too_large:
            incoming.feed(await stream.receive(_RECEIVE))
            while incoming.ready:
                await send.send(incoming.ready.pop(0))
    except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
        scope.cancel()
    except httptools.HttpParserError:
        await send.send(None)
    else:
        await send.send(None)


async def _refuse(reply: Reply, *, too_large: bool) -> None:
    message = f"the body is larger than {BODY_MAX} bytes" if too_large else "this is not HTTP/1.1"
    error = {"code": "bad_request", "message": message, "facts": {"detail": message}}
    await reply.json({"error": error}, status=413 if too_large else 400)


def segments(path: str) -> list[str]:
    """The parts of a path, unquoted."""
    return [unquote(part, errors="surrogateescape") for part in path.split("/")[1:]]
