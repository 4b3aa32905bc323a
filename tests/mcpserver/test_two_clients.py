"""Two clients at once, with a `bide mcp` each: what happens to one, or to the daemon, harms no job and no answer."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from tests.mcpserver.clients import ERAS, Agent
from tests.support import homes
from tests.support.gates import Gate
from tests.support.patience import eventually

from bide.model.schema import Json

INFO = {"name": "frames", "version": "1"}
MODERN: Json = {
    "io.modelcontextprotocol/protocolVersion": ERAS[1],
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": INFO,
}


@pytest.fixture
async def served(home: Path) -> AsyncIterator[Path]:
    """A home with its daemon, ended after the test."""
    async with homes.remote(home):
        yield home


def command(home: Path) -> list[str]:
    return [sys.executable, "-m", "bide", "--home", str(home), "mcp", "--owner", "tester", "--output", "data"]


@asynccontextmanager
async def started(home: Path, era: str) -> AsyncGenerator[Agent]:
    """The official client."""
    first, *rest = command(home)
    parameters = StdioServerParameters(command=first, args=rest, env=dict(os.environ))
    async with Client(stdio_client(parameters), mode=era) as client:
        yield Agent(client)


class Framed:
    """A client whose frames and process are in our hands."""

    def __init__(self, process: subprocess.Popen[bytes], era: str) -> None:
        self.process = process
        self._meta = {"_meta": MODERN} if era == ERAS[1] else {}
        self.heard: list[Json] = []
        if era == ERAS[0]:
            self.say(1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=INFO)
            self.answer(1)
            self.say(None, "notifications/initialized")

    def say(self, id_: int | None, method: str, **params: Any) -> None:
        assert self.process.stdin is not None
        message = {"jsonrpc": "2.0", "method": method, "params": {**params, **self._meta}}
        self.process.stdin.write(json.dumps(message if id_ is None else {**message, "id": id_}).encode() + b"\n")
        self.process.stdin.flush()

    def call(self, id_: int, tool: str, **arguments: Any) -> None:
        self.say(id_, "tools/call", name=tool, arguments=arguments)

    def answer(self, id_: int) -> Json:
        """What comes under this id; all that comes before it is kept in `heard`."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.heard.append(json.loads(line))
            if self.heard[-1].get("id") == id_:
                return self.heard[-1]
        raise AssertionError(f"it ended without an answer to {id_}: {self.heard}")


@contextmanager
def framed(home: Path, era: str) -> Generator[Framed]:
    with subprocess.Popen(command(home), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield Framed(process, era)
        finally:
            process.kill()


async def into(answers: list[Json], ai: Agent, tool: str, **arguments: Any) -> None:
    answers.append(await ai.data(tool, **arguments))


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_killed_in_an_await_harms_neither_the_job_nor_another_that_waits(
    served: Path, gate: Gate, era: str
) -> None:
    answers: list[Json] = []
    async with started(served, era) as ai, anyio.create_task_group() as group:
        job = (await ai.data("run", command=f"{gate.wait}; echo fine; exit 3", background=True))["job"]
        group.start_soon(lambda: into(answers, ai, "await", jobs=[job]))
        with framed(served, era) as doomed:
            doomed.call(2, "await", jobs=[job])
            doomed.call(3, "jobs")
            doomed.answer(3)
            assert [one for one in doomed.heard if one.get("id") == 2] == []
        gate.open()
    assert (answers[0]["exit_code"], answers[0]["out"]["text"]) == (3, "fine\n")


@pytest.mark.parametrize("era", ERAS)
async def test_a_cancelled_call_is_not_answered_and_its_job_goes_on(
    served: Path, tmp_path: Path, gate: Gate, era: str
) -> None:
    with framed(served, era) as client:
        client.call(2, "run", command=f"echo ran >> {tmp_path}/ran; {gate.wait}; echo fine", name="kept", wait=60)
        await eventually((tmp_path / "ran").exists)
        client.say(None, "notifications/cancelled", requestId=2, reason="enough")
        client.call(3, "jobs")  # whatever its phase: that it runs is in its folder before it is in a list
        (row,) = client.answer(3)["result"]["structuredContent"]["jobs"]
        assert (row["name"], row["phase"] == "ended") == ("kept", False)
        # Nor does a daemon that comes back start it again: what was cancelled is not said again.
        await homes.kill_daemon(served)
        gate.open()
        client.call(4, "await", jobs=["kept"])
        data = client.answer(4)["result"]["structuredContent"]
        assert (data["exit_code"], data["out"]["text"]) == (0, "fine\n")
        assert [one for one in client.heard if one.get("id") == 2] == []
    assert (tmp_path / "ran").read_text() == "ran\n"


@pytest.mark.parametrize("era", ERAS)
async def test_a_killed_daemon_costs_neither_of_two_clients_its_answer(
    served: Path, tmp_path: Path, gate: Gate, era: str
) -> None:
    ran: list[Json] = []
    waited: list[Json] = []
    script = f"echo ran >> {tmp_path}/ran; {gate.wait}; echo fine; exit 3"
    async with started(served, era) as one, started(served, era) as two, anyio.create_task_group() as group:
        group.start_soon(lambda: into(ran, one, "run", command=script, name="shared", wait=60))
        await eventually((tmp_path / "ran").exists)
        group.start_soon(lambda: into(waited, two, "await", jobs=["shared"]))
        await two.data("jobs")
        await homes.kill_daemon(served)
        gate.open()
    for answer in (*ran, *waited):
        assert (answer["exit_code"], answer["out"]["text"]) == (3, "fine\n")
    assert (len(ran), len(waited), ran[0]["job"]) == (1, 1, waited[0]["job"])
    assert (tmp_path / "ran").read_text() == "ran\n"
