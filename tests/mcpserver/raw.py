"""A client that speaks in frames: what the SDK's own client cannot say, and what it would hide."""

import itertools
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from tests.mcpserver.clients import Receiver, Sender

from bide.api import Jobs
from bide.mcpserver.server import Door
from bide.model.schema import Json

MODERN = "2026-07-28"
HANDSHAKE = "2025-11-25"
TASKS: Json = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
ASKED: Json = {"elicitation": {}}
INFO = {"name": "raw", "version": "1"}


class Refused(Exception):
    """An error of the protocol."""

    def __init__(self, error: Json) -> None:
        super().__init__(error)
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


class Raw:
    """One connection."""

    def __init__(self, send: Callable[[bytes], Any], version: str, abilities: Json) -> None:
        self._send = send
        self._version = version
        self._abilities = abilities
        self._ids = itertools.count(1)
        self._answers: dict[int, Json] = {}
        self._rung = anyio.Event()
        self.notes: list[Json] = []
        self.abilities_of_server: Json = {}
        self.answer_with: Callable[[Json], Json] = lambda _: {"action": "decline"}

    async def heard(self, line: bytes) -> None:
        """A frame from the other side; what it asks is answered at once."""
        message: Json = json.loads(line)
        if "method" not in message:
            self._answers[message["id"]] = message
        elif "id" in message:
            await self.say({"id": message["id"], "result": self.answer_with(message)})
        else:
            self.notes.append(message)
        rung, self._rung = self._rung, anyio.Event()
        rung.set()

    async def say(self, message: Json) -> None:
        await self._send(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def ask(self, method: str, **params: Any) -> int:
        """Send a request; its id."""
        id_ = next(self._ids)
        if self._version == MODERN:
            said = {"protocolVersion": MODERN, "clientCapabilities": self._abilities, "clientInfo": INFO}
            params["_meta"] = {f"io.modelcontextprotocol/{key}": value for key, value in said.items()}
        await self.say({"id": id_, "method": method, "params": params})
        return id_

    async def request(self, method: str, **params: Any) -> Json:
        """A request's result; raises Refused."""
        id_ = await self.ask(method, **params)
        await self.until(lambda: id_ in self._answers)
        answer = self._answers.pop(id_)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["result"]

    def speak(self, version: str) -> None:
        """Go on in another version."""
        self._version = version

    async def call(self, tool: str, arguments: Json, **more: Any) -> Json:
        return await self.request("tools/call", name=tool, arguments=arguments, **more)

    async def until(self, holds: Callable[[], object]) -> None:
        """Return when what came makes it hold."""
        with anyio.fail_after(15):
            while not holds():
                await self._rung.wait()

    def told(self, method: str) -> list[Json]:
        """What was told unasked, by this method."""
        return [note.get("params", {}) for note in self.notes if note["method"] == method]

    async def initialize(self) -> Json:
        answer = await self.request(
            "initialize", protocolVersion=self._version, capabilities=self._abilities, clientInfo=INFO
        )
        await self.say({"method": "notifications/initialized"})
        return answer


@asynccontextmanager
async def raw(
    jobs: Jobs, cwd: Path, version: str, *abilities: Json, owner: str = "raw", **more: object
) -> AsyncGenerator[Raw]:
    """A client of a door in this process that says it can do this; the handshake is done. `more` is for its copier to say."""
    hello = {
        "owner": owner,
        "cwd": str(cwd),
        "env": {"PATH": "/usr/bin:/bin"},
        "connection": "c0",
        "output": "data",
        **more,
    }
    to_door, at_door = anyio.create_memory_object_stream[bytes](100)
    to_client, at_client = anyio.create_memory_object_stream[bytes](100)
    client = Raw(to_door.send, version, {key: value for one in abilities for key, value in one.items()})

    async def listen() -> None:
        async for line in at_client:
            await client.heard(line)

    async with anyio.create_task_group() as group, to_door, to_client, at_door, at_client:
        group.start_soon(Door(jobs, group).serve, Receiver(at_door), Sender(to_client), hello)
        group.start_soon(listen)
        if version != MODERN:
            client.abilities_of_server = (await client.initialize())["capabilities"]
        yield client
        group.cancel_scope.cancel()
