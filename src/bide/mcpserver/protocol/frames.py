"""Lines of JSON to and from a client's copier, as the SDK's messages."""

from __future__ import annotations

from collections.abc import Callable

import mcp_types as types
from anyio.abc import ByteReceiveStream, ByteSendStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from bide.mcpserver import refusal

_MAX_FRAME = 16 * 1024 * 1024

Instead = Callable[[types.JSONRPCMessage], SessionMessage | None]
"""What a message is answered that the server is not to see; `None` if it is."""


def passed(_: types.JSONRPCMessage) -> None:
    """The server sees every message."""


async def receive(
    source: ByteReceiveStream,
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
    back: MemoryObjectSendStream[SessionMessage],
    instead: Instead,
) -> None:
    """Lines into messages. A line that is no message is answered here: the server would say nothing, for ever."""
    rest = b""
    async with incoming, back:
        async for data in source:
            *lines, rest = (rest + data).split(b"\n")
            if len(rest) > _MAX_FRAME:
                raise ValueError("a frame is longer than 16 MiB")
            for line in filter(bytes.strip, lines):
                try:
                    message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError as error:
                    await back.send(_unreadable(line, error))
                    continue
                answer = instead(message)
                if answer is not None:
                    await back.send(answer)
                else:
                    await incoming.send(SessionMessage(message))


def _unreadable(line: bytes, error: ValueError) -> SessionMessage:
    about = refusal.of(line, error)
    told = types.ErrorData(code=about.code, message=about.sentence)
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=about.id, error=told))


async def transmit(sink: ByteSendStream, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
    """Messages into lines."""
    async with outgoing:
        async for message in outgoing:
            await sink.send(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
