"""Streamable HTTP: the same server for clients that connect to a URL. Loopback only, with a bearer token.

Host and Origin are checked by the SDK's own guard, so that no web page can reach it through a browser.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import socket
from collections.abc import Generator
from typing import Any

import uvicorn
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from bide.mcpserver.server import Door
from bide.model.errors import BadSettings
from bide.settings import FILE

PATH = "/mcp"
TOKEN_FILE = "mcp-token"  # noqa: S105 - the name of the file, not what is in it


def token(home: str) -> str:
    """The home's token; made, for its owner's eyes only, when it is first asked for."""
    path = os.path.join(home, TOKEN_FILE)
    with contextlib.suppress(FileExistsError):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(fd, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
    with open(path, encoding="ascii") as file:
        return file.read().strip()


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


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Signals are the daemon's."""
        yield


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
    sock.listen(128)
    return sock


async def serve(door: Door, home: str, port: int) -> None:
    """Serve on this port until cancelled. Raises BadSettings, naming the file that has the port."""
    app: Any = Guarded(door.server.streamable_http_app(streamable_http_path=PATH, host="127.0.0.1"), token(home))
    await _Server(configured(app)).serve(sockets=[_listening(port, home)])


def configured(app: Any) -> uvicorn.Config:
    """How it is served. By h11, because what else uvicorn would take leaves blanks at the end of header values."""
    return uvicorn.Config(
        app, http="h11", log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=1
    )
