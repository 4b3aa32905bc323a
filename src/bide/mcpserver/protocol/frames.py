"""Lines of JSON to and from a client's copier, as the SDK's messages."""

from __future__ import annotations

from collections.abc import Callable

import mcp_types as types
from anyio.abc import ByteReceiveStream, ByteSendStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from bide.mcpserver import refusal
from bide.model.frames import EDGE, FRAME_MAX, TOO_LARGE, LineCutter, Oversize, too_large
from bide.model.jsontext import check_values

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
    cutter = LineCutter()
    async with incoming, back:
        async for data in source:
            for line in cutter.feed(data):
                if isinstance(line, Oversize):
                    await _refuse(line, too_large("this message"), incoming, back)
                elif line.strip():
                    await _take(line, incoming, back, instead)


async def _take(
    line: bytes,
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
    back: MemoryObjectSendStream[SessionMessage],
    instead: Instead,
) -> None:
    try:
        check_values(line)
    except ValueError as error:
        await _refuse(Oversize(line[:EDGE], line[-EDGE:]), f"this message cannot be read: {error}", incoming, back)
        return
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError as error:
        await back.send(_unreadable(line, error))
        return
    if isinstance(message, types.JSONRPCNotification) and (refused := refusal.of_bad_id(line)) is not None:
        await back.send(_error(refused.id, refused.sentence, refused.code))
        return
    answer = instead(message)
    if answer is not None:
        await back.send(answer)
    else:
        await incoming.send(SessionMessage(message))


async def _refuse(
    line: Oversize,
    sentence: str,
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
    back: MemoryObjectSendStream[SessionMessage],
) -> None:
    """Answer a request that is too large; an answer that is too large counts as one that failed."""
    if line.is_request or line.id is None:
        await back.send(_error(line.id, f"{sentence}; nothing was done"))
    else:
        await incoming.send(_error(line.id, sentence.replace("this message", "the answer")))


def _error(id_: str | int | None, sentence: str, code: int = TOO_LARGE) -> SessionMessage:
    told = types.ErrorData(code=code, message=sentence)
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=id_, error=told))


def _unreadable(line: bytes, error: ValueError) -> SessionMessage:
    about = refusal.of(line, error)
    return _error(about.id, about.sentence, about.code)


async def transmit(sink: ByteSendStream, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
    """Messages into lines. An answer that is too large for a line becomes an error."""
    async with outgoing:
        async for message in outgoing:
            line = _line(message)
            if len(line) > FRAME_MAX and isinstance(message.message, types.JSONRPCResponse):
                line = _line(_error(message.message.id, f"{too_large('the answer')}; ask for a part of it"))
            await sink.send(line)


def _line(message: SessionMessage) -> bytes:
    return message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
