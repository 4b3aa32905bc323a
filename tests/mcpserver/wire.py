"""A client that says what it likes, byte for byte, and waits for the answer of each request by its id."""

import itertools
import json
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from bide.api import Jobs
from bide.mcpserver.server import Door
from bide.model.schema import Json

OWNER = "wire"
PATIENCE = 0.2
"""Seconds that a call may block: what is asked here waits for nothing worth it."""
HANG = 10.0
"""Seconds after which an answer is not coming."""
INITIALIZE: Json = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "wire", "version": "1"},
}


class Wire:
    """One connection."""

    def __init__(self, stream: SocketStream) -> None:
        self._stream = stream
        self._ids = itertools.count(1)
        self._answers: dict[object, Json] = {}
        self._rung = anyio.Event()

    async def listen(self) -> None:
        buffered = BufferedByteReceiveStream(self._stream)
        while True:
            message: Json = json.loads(await buffered.receive_until(b"\n", 1 << 26))
            if "method" not in message:
                self._answers[message["id"]] = message
            rung, self._rung = self._rung, anyio.Event()
            rung.set()

    async def send(self, line: bytes) -> None:
        await self._stream.send(line + b"\n")

    async def notify(self, method: str, **params: Any) -> None:
        await self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    async def answer(self, id_: object) -> Json:
        """The answer to the request with this id, whole; fails if none comes."""
        with anyio.fail_after(HANG):
            while id_ not in self._answers:
                await self._rung.wait()
        return self._answers.pop(id_)

    async def request(self, method: str, params: object) -> Json:
        id_ = next(self._ids)
        await self.send(json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}).encode())
        return await self.answer(id_)

    async def call(self, tool: str, arguments: object) -> Json:
        """The answer to a call of a tool: a result, or an error of the protocol."""
        return await self.request("tools/call", {"name": tool, "arguments": arguments})


@asynccontextmanager
async def wire(jobs: Jobs, cwd: Path, tools: tuple[str, ...]) -> AsyncGenerator[Wire]:
    """A client of a door in this process, after the handshake."""
    hello: Json = {
        "owner": OWNER,
        "cwd": str(cwd),
        "env": {"PATH": "/usr/bin:/bin"},
        "connection": "wire",
        "patience": PATIENCE,
        "tools": list(tools),
    }
    ours, theirs = [await SocketStream.from_socket(one) for one in socket.socketpair()]
    async with ours, theirs, anyio.create_task_group() as group:
        client = Wire(ours)
        group.start_soon(Door(jobs, group).serve, theirs, theirs, hello)
        group.start_soon(client.listen)
        await client.request("initialize", INITIALIZE)
        await client.notify("notifications/initialized")
        yield client
        group.cancel_scope.cancel()
