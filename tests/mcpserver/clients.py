"""The official Python client on our door, in this process or through the copier."""

import secrets
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream
from mcp import Client
from mcp.client.session import ElicitationFnT, MessageHandlerFnT
from mcp.shared.message import SessionMessage
from mcp_types import CallToolResult, Implementation, TextContent, TextResourceContents, jsonrpc_message_adapter

from bide.api import Jobs
from bide.mcpserver.server import Door
from bide.model.plaintext import uncontrolled
from bide.model.schema import Json
from bide.settings import Settings

ERAS = ("legacy", "2026-07-28")


class Sender(ByteSendStream):
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def send(self, item: bytes) -> None:
        await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()


class Receiver(ByteReceiveStream):
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def receive(self, max_bytes: int = 65536) -> bytes:  # noqa: ARG002 - the frames of our peer are small
        return await self._stream.receive()

    async def aclose(self) -> None:
        await self._stream.aclose()


@dataclass
class Agent:
    """A client that calls tools."""

    client: Client

    async def ask(self, tool: str, **arguments: Any) -> CallToolResult:
        return await self.client.call_tool(tool, arguments)

    async def data(self, tool: str, **arguments: Any) -> Json:
        """The structured content of an answer that is no error."""
        answer = await self.ask(tool, **arguments)
        assert not answer.is_error, text_of(answer)
        assert answer.structured_content is not None
        return answer.structured_content

    async def text(self, tool: str, **arguments: Any) -> str:
        """The text of an answer that is no error."""
        answer = await self.ask(tool, **arguments)
        assert not answer.is_error, text_of(answer)
        return text_of(answer)

    async def resource(self, uri: str) -> str:
        """The text of a resource."""
        (found,) = (await self.client.read_resource(uri)).contents
        assert isinstance(found, TextResourceContents)
        return found.text

    async def refusal(self, tool: str, **arguments: Any) -> tuple[str, str]:
        """Code and sentence of an error, which are the same in both forms."""
        answer = await self.ask(tool, **arguments)
        assert answer.is_error
        assert answer.structured_content is not None
        error = answer.structured_content["error"]
        assert uncontrolled(error["message"]) == text_of(answer)
        return error["code"], error["message"]


def text_of(answer: CallToolResult) -> str:
    (text,) = texts_of(answer)
    return text


def texts_of(answer: CallToolResult) -> list[str]:
    return [block.text for block in answer.content if isinstance(block, TextContent)]


@asynccontextmanager
async def agent(
    jobs: Jobs,
    cwd: Path,
    *,
    door: Door | None = None,
    owner: str = "",
    era: str = ERAS[0],
    patience: float | None = None,
    tools: tuple[str, ...] = ("core",),
    scope: str = "own",
    shared: tuple[str, ...] = (),
    settings: Settings | None = None,
    name: str = "mcp",
    attended: bool = False,
    heard: MessageHandlerFnT | None = None,
    env: Mapping[str, str] | None = None,
    elicits: ElicitationFnT | None = None,
    says: Json | None = None,
    output: str | None = "data",
) -> AsyncGenerator[Agent]:
    """A client of a door in this process, that calls itself by this name; `heard` gets what the door says unasked, `elicits` answers what it asks.

    Its answers have output in the data, unless `output` says otherwise; with `None`, where this client's model finds it.
    """
    hello = {
        "owner": owner,
        "cwd": str(cwd),
        "env": {"PATH": "/usr/bin:/bin", **(env or {})},
        "connection": secrets.token_hex(4),
        "patience": patience,
        "tools": list(tools),
        "scope": scope,
        "shared": list(shared),
        "attended": attended,
        "output": output,
        **(says or {}),
    }
    to_door, at_door = anyio.create_memory_object_stream[bytes](100)
    to_client, at_client = anyio.create_memory_object_stream[bytes](100)

    @asynccontextmanager
    async def transport() -> AsyncGenerator[Any]:
        incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)

        async def receive() -> None:
            async with incoming:
                async for line in at_client:
                    await incoming.send(SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False)))

        async def transmit() -> None:
            async with outgoing, to_door:
                async for message in outgoing:
                    await to_door.send(
                        message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                    )

        async with anyio.create_task_group() as group:
            group.start_soon(receive)
            group.start_soon(transmit)
            yield read, write
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group, to_client, at_door, at_client:
        group.start_soon((door or Door(jobs, group, settings)).serve, Receiver(at_door), Sender(to_client), hello)
        info = Implementation(name=name, version="1")
        async with Client(
            transport(), mode=era, client_info=info, message_handler=heard, elicitation_callback=elicits
        ) as client:
            yield Agent(client)
        group.cancel_scope.cancel()
