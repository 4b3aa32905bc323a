"""The socket for MCP clients. The protocol is loaded, in a thread, when the first of them comes: that takes a second."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.to_thread
from anyio.abc import SocketStream, TaskGroup
from anyio.streams.buffered import BufferedByteReceiveStream

from bide.client.start import MCP_SOCKET
from bide.gate import Gate, Guest, Limits, admitting
from bide.model.errors import BadRequest, BideError, NotAllowed

if TYPE_CHECKING:
    from bide.api import Upkeep
    from bide.daemon.views import View, Views
    from bide.mcpserver.server import Door
    from bide.settings import Settings

log = logging.getLogger(__name__)

_HELLO_MAX = 4 * 1024 * 1024
_LIMITS = Limits(most=2000, asks_within=30)
_TRIES_AGAIN = 5.0
_NO_HELLO = (
    b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the first line says who connects; use bide mcp"}}\n'
)
_GONE = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.IncompleteRead)
"""The client left, in the middle of a message or of an answer."""


class McpSocket:
    """Takes connections of copiers and hands them to the door, which it loads when it is first needed."""

    def __init__(
        self,
        views: Views,
        settings: Settings,
        group: TaskGroup,
    ) -> None:
        """Nothing is loaded yet. `group` is for what outlives a connection."""
        self._views = views
        self._settings = settings
        self._group = group
        self._door: Door | None = None
        self._loading = anyio.Lock()

    async def serve(self, sock: socket.socket, opened: Callable[[Gate], None]) -> None:
        """Serve the clients that come to this socket, for as long as the daemon lives. `opened` is given its gate."""

        def admit(peer: socket.socket, guest: Guest) -> None:
            view = self._views.of(peer)
            if view is None:
                guest.left()
                peer.close()
                return
            scope = anyio.CancelScope()
            guest.drop = scope.cancel
            self._group.start_soon(self._answer, peer, view, guest, scope)

        async with admitting(sock, MCP_SOCKET, _LIMITS, admit) as gate:
            opened(gate)
            await anyio.sleep_forever()

    async def _answer(self, peer: socket.socket, view: View, guest: Guest, scope: anyio.CancelScope) -> None:
        """Serve one connection until its client goes away, or the scope is cancelled."""
        with scope:
            try:
                async with await SocketStream.from_socket(peer) as stream:
                    await self._serve(stream, view, guest)
            except* _GONE:
                pass
            except* OSError as errors:
                log.warning("a connection of an MCP client failed: %s", errors.exceptions[0])
            except* Exception:
                log.exception("a connection of an MCP client failed")
            finally:
                peer.close()
                guest.left()

    async def _serve(self, stream: SocketStream, view: View, guest: Guest) -> None:
        buffered = BufferedByteReceiveStream(stream)
        try:
            hello = _hello(await buffered.receive_until(b"\n", _HELLO_MAX))
        except (ValueError, RecursionError, anyio.DelimiterNotFound):
            await stream.send(_NO_HELLO)
            return
        guest.busy()
        async with AsyncExitStack() as present:
            if view.rights is not None:
                hello["owner"] = hello.get("owner") or view.rights.owner
            hello["attended"] = await self._attend(hello, view.upkeep, present)
            door = await self._loaded()
            if view.rights is not None:
                door = door.within(view.jobs)
            await door.serve(buffered, stream, hello)

    async def _attend(self, hello: dict[str, Any], upkeep: Upkeep, present: AsyncExitStack) -> bool:
        """The owner is there from now on, not only from when the protocol is loaded, until the client is gone."""
        owner = _import("bide.mcpserver.scope").owner_in(hello)
        if not owner:
            return False
        try:
            await present.enter_async_context(upkeep.attend(owner))
        except (BadRequest, NotAllowed):
            return False  # no owner can be called so, or it is not this one; the calls are told
        return True

    async def serve_http(self, home: str, port: int) -> None:
        """Serve clients that connect to a URL, for as long as the daemon lives."""
        while True:
            try:
                door = await self._loaded()
                http = await anyio.to_thread.run_sync(_import, "bide.mcpserver.http")
                await http.serve(door, home, port)
            except BideError as error:
                log.warning("MCP over HTTP is off: %s", error)
                return
            except OSError as error:
                log.warning("MCP over HTTP is off for %.0f s: %s", _TRIES_AGAIN, error)
                await anyio.sleep(_TRIES_AGAIN)

    async def _loaded(self) -> Door:
        async with self._loading:
            door = self._door
            if door is None:
                module = await anyio.to_thread.run_sync(_import, "bide.mcpserver.server")
                door = self._door = module.Door(self._views.all.jobs, self._group, self._settings)
        return door


def _hello(line: bytes) -> dict[str, Any]:
    """Who connects. Raises ValueError for what does not say it."""
    hello: Any = json.loads(line)
    if not isinstance(hello, dict):
        raise ValueError
    found = cast("dict[str, Any]", hello)
    if not {"cwd", "connection"} <= found.keys() or not isinstance(found.get("env"), dict):
        raise ValueError
    return found


def _import(name: str) -> Any:
    return import_module(name)
