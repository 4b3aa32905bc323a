"""Lines of JSON to and from a client's copier, as the SDK's messages."""

from __future__ import annotations

import mcp_types as types
from anyio.abc import ByteReceiveStream, ByteSendStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

_MAX_FRAME = 16 * 1024 * 1024


async def receive(source: ByteReceiveStream, incoming: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
    """Lines into messages. A line that is no message is told to the server, which answers it."""
    rest = b""
    async with incoming:
        async for data in source:
            *lines, rest = (rest + data).split(b"\n")
            if len(rest) > _MAX_FRAME:
                raise ValueError("a frame is longer than 16 MiB")
            for line in lines:
                if line.strip():
                    await incoming.send(_message(line))


def _message(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


async def transmit(sink: ByteSendStream, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
    """Messages into lines."""
    async with outgoing:
        async for message in outgoing:
            await sink.send(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
