"""A client with a channel on the wire: it is served with the handshake, since only there a server may speak unasked."""

from __future__ import annotations

from contextlib import suppress

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from bide.api import Outbox
from bide.mcpserver import channel
from bide.model.schema import Json


class Channel:
    """What is said unasked on one connection."""

    def __init__(self, outbox: Outbox, owner: str, write: MemoryObjectSendStream[SessionMessage]) -> None:
        """Nothing is said before the client is ready."""
        self._outbox = outbox
        self._owner = owner
        self._write = write
        self._ready = anyio.Event()

    def answered(self, message: types.JSONRPCMessage) -> SessionMessage | None:
        """The answer to a message that the server is not to see: no other era is offered."""
        if isinstance(message, types.JSONRPCNotification) and message.method == "notifications/initialized":
            self._ready.set()
        if not isinstance(message, types.JSONRPCRequest) or message.method != "server/discover":
            return None
        error = types.ErrorData(code=types.METHOD_NOT_FOUND, message="a channel needs the handshake: initialize")
        return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=message.id, error=error))

    async def serve(self) -> None:
        """Push until the connection ends."""
        await self._ready.wait()
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            await channel.serve(self._outbox, self._owner, self._push)

    async def _push(self, method: str, params: Json) -> None:
        await self._write.send(SessionMessage(types.JSONRPCNotification(jsonrpc="2.0", method=method, params=params)))
