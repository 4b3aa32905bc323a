"""Streamable HTTP: the same server for clients that connect to a URL. Loopback only, with a bearer token.

Host and Origin are checked by the SDK's own guard, so that no web page can reach it through a browser. Connections are
admitted by our own gate, because uvicorn waits for a request without end and knows no limit that counts silent connections.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
import secrets
import socket
from collections.abc import AsyncGenerator, Callable
from typing import Any

import anyio
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from bide.gate import Guest, Limits, admitting
from bide.mcpserver.server import Door
from bide.model.errors import BadSettings
from bide.model.frames import FRAME_MAX, TOO_LARGE, LineCutter, Oversize, too_large
from bide.settings import FILE

PATH = "/mcp"
NAMES = ("127.0.0.1", "localhost")
LIMITS = Limits(most=100, asks_within=10, rests=60, public=True)
_BACKLOG = 128
_LEAVES_WITHIN = 1.0
"""Seconds that requests have to end when the daemon ends."""
TOKEN_FILE = "mcp-token"  # noqa: S105 - the name of the file, not what is in it


def token(home: str) -> str:
    """The home's token; made, for its owner's eyes only, when it is first asked for."""
    path = os.path.join(home, TOKEN_FILE)
    if not _written(path):
        # Whole when it gets its name: nobody reads, and no crash leaves, an empty token, which anybody could give.
        temporary = f"{path}.{secrets.token_hex(4)}"
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(fd, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
        os.rename(temporary, path)
    return _written(path)


def _written(path: str) -> str:
    """Return the token that a file holds; empty if there is none."""
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except FileNotFoundError:
        return ""


class Guarded:
    """Lets through only requests that carry the token."""

    def __init__(self, app: ASGIApp, expected: str) -> None:
        """Everything but the start and end of the server is guarded."""
        self._app = app
        self._expected = f"Bearer {expected}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on, or answer 401."""
        if scope["type"] != "http" or self._is_allowed(scope):
            await self._app(scope, receive, send)
            return
        message = f"give the token that is in the file {TOKEN_FILE!r} of bide's home: 'Authorization: Bearer TOKEN'"
        body = {"error": {"code": "unauthorized", "message": message}}
        await JSONResponse(body, 401, {"WWW-Authenticate": 'Bearer realm="bide"'})(scope, receive, send)

    def _is_allowed(self, scope: Scope) -> bool:
        given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        return hmac.compare_digest(given, self._expected)


class Sized:
    """Answers a message that is too large with an error of the protocol, under its id where that can be read."""

    def __init__(self, app: ASGIApp) -> None:
        """The app gets each body as one piece."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on, or answer 413."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body = await _body(receive)
        if isinstance(body, Oversize):
            error = {"code": TOO_LARGE, "message": f"{too_large('this message')}; nothing was done"}
            answer = {"jsonrpc": "2.0", "id": body.id, "error": error}
            await JSONResponse(answer, 413, {"Connection": "close"})(scope, receive, send)
            return
        pieces: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return pieces.pop() if pieces else await receive()

        if body is not None:
            await self._app(scope, replay, send)


async def _body(receive: Receive) -> bytes | Oversize | None:
    """The body of a request; None if its client left."""
    cutter = LineCutter()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        # A body is one message, however many lines it has.
        cutter.feed(message.get("body", b"").replace(b"\n", b" "))
        if not message.get("more_body", False):
            return cutter.rest()


class _Protocol(H11Protocol):
    """One connection, which says to the gate when it asks and when it was answered."""

    def __init__(self, config: uvicorn.Config, state: ServerState, app_state: dict[str, Any], guest: Guest) -> None:
        super().__init__(config, state, app_state)
        self._guest = guest
        self._dropped = False
        guest.drop = self._drop

    def _drop(self) -> None:
        self._dropped = True
        if self.transport is not None:  # pyright: ignore[reportUnnecessaryComparison] - uvicorn sets it late
            self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        if self._dropped:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._guest.left()

    def data_received(self, data: bytes) -> None:
        self._guest.asks()
        super().data_received(data)
        if self.cycle is not None and not self.cycle.more_body:  # pyright: ignore[reportUnnecessaryComparison]
            if self.cycle.response_complete:
                self._guest.rests()
            else:
                self._guest.busy()

    def on_response_complete(self) -> None:
        self._guest.rests()
        super().on_response_complete()


def _listening(port: int, home: str) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind(("127.0.0.1", port))
    except OSError as error:
        sock.close()
        raise BadSettings(
            path=os.path.join(home, FILE), detail=f"'mcp.port' {port} cannot be used: {error.strerror}"
        ) from error
    sock.listen(_BACKLOG)
    return sock


async def serve(door: Door, home: str, port: int) -> None:
    """Serve on this port until cancelled. Raises BadSettings, naming the file that has the port."""
    hosts = [f"{name}:{port}" for name in NAMES]
    security = TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts])
    served = door.server.streamable_http_app(
        streamable_http_path=PATH, max_request_body_size=FRAME_MAX, transport_security=security
    )
    secret = token(home)  # before the port is open: who finds it open finds the token
    sock = _listening(port, home)
    async with _protocols(Guarded(Sized(served), secret)) as make:
        making: set[asyncio.Task[object]] = set()
        loop = asyncio.get_running_loop()

        def admit(peer: socket.socket, guest: Guest) -> None:
            protocol = make(guest)
            task = loop.create_task(loop.connect_accepted_socket(lambda: protocol, peer))
            making.add(task)
            task.add_done_callback(making.discard)

        async with admitting(sock, "mcp.port", LIMITS, admit, _refuse):
            await anyio.sleep_forever()


def _refuse(peer: socket.socket) -> None:
    peer.send(b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")


@contextlib.asynccontextmanager
async def _protocols(app: ASGIApp) -> AsyncGenerator[Callable[[Guest], _Protocol]]:
    """How a connection is served; at the end those that are left are closed."""
    config, state = configured(app), ServerState()
    config.load()
    lifespan = config.lifespan_class(config)
    with anyio.CancelScope(shield=True):  # what has begun to start can be shut down, and nothing else can
        await lifespan.startup()
    try:
        yield lambda guest: _Protocol(config, state, lifespan.state, guest)
    finally:
        with anyio.CancelScope(shield=True):
            for connection in tuple(state.connections):
                connection.shutdown()
            if state.tasks:
                _, late = await asyncio.wait(state.tasks, timeout=_LEAVES_WITHIN)
                for task in late:
                    task.cancel()
            await lifespan.shutdown()


def configured(app: Any) -> uvicorn.Config:
    """How it is served. By h11, because what else uvicorn would take leaves blanks at the end of header values."""
    return uvicorn.Config(
        app, http="h11", log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=1
    )
