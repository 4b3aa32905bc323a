"""The socket for MCP clients. The protocol is loaded, in a thread, when the first of them comes: that takes a second."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack
from importlib import import_module
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from anyio.abc import SocketStream, TaskGroup
from anyio.streams.buffered import BufferedByteReceiveStream

from bide.client.start import MCP_SOCKET
from bide.gate import Gate, Guest, Limits, admitting
from bide.model.errors import BadRequest, BideError

if TYPE_CHECKING:
    from bide.api import Jobs, Upkeep
    from bide.mcpserver.server import Door
    from bide.settings import Settings

log = logging.getLogger(__name__)

_HELLO_MAX = 4 * 1024 * 1024
_LIMITS = Limits(most=2000, asks_within=30)
_TRIES_AGAIN = 5.0
_GONE = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.IncompleteRead)
"""The client left, in the middle of a message or of an answer."""


class McpSocket:
    """Takes connections of copiers and hands them to the door, which it loads when it is first needed."""

    def __init__(
        self,
        jobs: Jobs,
        upkeep: Upkeep,
        settings: Settings,
        allowed: Callable[[socket.socket], bool],
        group: TaskGroup,
    ) -> None:
        """Nothing is loaded yet. `group` is for what outlives a connection."""
        self._jobs = jobs
        self._upkeep = upkeep
        self._settings = settings
        self._group = group
        self._allowed = allowed
        self._door: Door | None = None
        self._loading = anyio.Lock()

    async def serve(self, sock: socket.socket, opened: Callable[[Gate], None]) -> None:
        """Serve the clients that come to this socket, for as long as the daemon lives. `opened` is given its gate."""

        def admit(peer: socket.socket, guest: Guest) -> None:
            if self._allowed(peer):
                scope = anyio.CancelScope()
                guest.drop = scope.cancel
                self._group.start_soon(self._answer, peer, guest, scope)
            else:
                guest.left()
                peer.close()

        async with admitting(sock, MCP_SOCKET, _LIMITS, admit) as gate:
            opened(gate)
            await anyio.sleep_forever()

    async def _answer(self, peer: socket.socket, guest: Guest, scope: anyio.CancelScope) -> None:
        """Serve one connection until its client goes away, or the scope is cancelled."""
        with scope:
            try:
                async with await SocketStream.from_socket(peer) as stream:
                    await self._serve(stream, guest)
            except* _GONE:
                pass
            except* OSError as errors:
                log.warning("a connection of an MCP client failed: %s", errors.exceptions[0])
            except* Exception:
                log.exception("a connection of an MCP client failed")
            finally:
                peer.close()
                guest.left()

    async def _serve(self, stream: SocketStream, guest: Guest) -> None:
        buffered = BufferedByteReceiveStream(stream)
        hello = json.loads(await buffered.receive_until(b"\n", _HELLO_MAX))
        guest.busy()
        async with AsyncExitStack() as present:
            hello["attended"] = await self._attend(hello, present)
            door = await self._loaded()
            await door.serve(buffered, stream, hello)

    async def _attend(self, hello: dict[str, Any], present: AsyncExitStack) -> bool:
        """The owner is there from now on, not only from when the protocol is loaded, until the client is gone."""
        owner = _import("bide.mcpserver.scope").owner_in(hello)
        if not owner:
            return False
        try:
            await present.enter_async_context(self._upkeep.attend(owner))
        except BadRequest:
            return False  # no owner can be called so; the calls are told
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
                door = self._door = module.Door(self._jobs, self._group, self._settings)
        return door


def _import(name: str) -> Any:
    return import_module(name)
