"""`bide mcp`, as a client starts it: a real daemon, real kills."""

import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
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

import bide

INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def command(home: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "bide", "--home", str(home), "mcp", "--owner", "tester", *options]


@asynccontextmanager
async def started(home: Path, era: str, *options: str) -> AsyncGenerator[Agent]:
    first, *rest = command(home, *options)
    parameters = StdioServerParameters(command=first, args=rest, env=dict(os.environ))
    async with Client(stdio_client(parameters), mode=era) as client:
        yield Agent(client)


@pytest.fixture
async def served(home: Path) -> AsyncIterator[Path]:
    """A home with its daemon, ended after the test."""
    async with homes.remote(home):
        yield home


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_notices_nothing_when_the_daemon_is_killed(
    served: Path, tmp_path: Path, gate: Gate, era: str
) -> None:
    async with started(served, era) as ai:
        answers: list[dict[str, object]] = []

        async def run() -> None:
            answers.append(await ai.data("run", command=f"echo ran >> {tmp_path}/ran; {gate.wait}; echo done", wait=60))

        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await eventually((tmp_path / "ran").exists)
            await homes.kill_daemon(served)
            await anyio.sleep(0.1)
            gate.open()
        assert (answers[0]["exit_code"], answers[0]["out"]["text"]) == (0, "done\n")  # type: ignore[index]
        assert (tmp_path / "ran").read_text() == "ran\n"
        assert "joined" not in answers[0]  # it is the one that this very call started
        assert (await ai.data("run", command="echo again"))["exit_code"] == 0


def copier_of(home: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command(home), stdin=subprocess.PIPE, stdout=subprocess.PIPE)


async def test_a_client_that_dies_in_an_await_harms_no_job(served: Path, gate: Gate) -> None:
    async with started(served, ERAS[0]) as ai:
        job = (await ai.data("run", command=f"{gate.wait}; echo fine", background=True))["job"]
    with copier_of(served) as copier:
        assert copier.stdin is not None
        assert copier.stdout is not None
        call = {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "await", "arguments": {"jobs": [job]}},
        }
        for message in (INITIALIZE, INITIALIZED, call):
            copier.stdin.write(json.dumps(message).encode() + b"\n")
        copier.stdin.flush()
        copier.stdout.readline()
        copier.kill()
    async with started(served, ERAS[0]) as ai:
        gate.open()
        assert (await ai.data("await", jobs=[job]))["out"]["text"] == "fine\n"


def ask(home: Path, *messages: object, tools: str = "core") -> list[dict[str, Any]]:
    """What the copier answers to a client that says this and leaves."""
    words = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
    done = subprocess.run(command(home, "--tools", tools), input=words, capture_output=True, check=True, timeout=30)
    return [json.loads(line) for line in done.stdout.splitlines()]


async def test_the_opening_is_answered_from_what_is_known_while_no_daemon_is_there(served: Path) -> None:
    tools = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    first = ask(served, INITIALIZE, INITIALIZED, tools)
    await homes.stop_daemon(served)
    with copier_of(served) as copier:
        assert copier.stdin is not None
        assert copier.stdout is not None
        copier.stdin.write(json.dumps({**INITIALIZE, "id": "other"}).encode() + b"\n")
        copier.stdin.flush()
        before = time.monotonic()
        answer = json.loads(copier.stdout.readline())
        took = time.monotonic() - before
        copier.stdin.close()
        copier.wait(timeout=30)
    assert answer == {**first[0], "id": "other"}
    assert took < 5
    assert ask(served, INITIALIZE, INITIALIZED, tools) == first


async def test_162_what_lives_with_a_client_outlives_the_daemon_and_ends_with_the_client(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("[retention]\nowner_grace = '2s'\n")
    async with homes.remote(home):
        async with started(home, ERAS[1], "--tools", "process") as ai:
            process = (await ai.data("process.run", command="sleep 1000", background=True))["process_id"]
            before = (home / "lock").read_text()
            await homes.kill_daemon(home)
            # Nothing is asked, and yet the client is there for the next daemon, for longer than the grace.
            await eventually(lambda: (home / "lock").read_text() not in ("", before))
            await anyio.sleep(2.5)
            assert (await ai.data("process.monitor", process_id=process))["state"] == "running"
        async with bide.connect(home) as jobs:
            (job,) = (await jobs.wait([process], timeout=timedelta(seconds=20))).jobs
        assert isinstance(job.phase, bide.Ended)
        assert (job.phase.end.reason, job.phase.end.by) == ("killed", "owner gone")


async def test_183_what_is_known_from_last_time_is_spelled_for_each_client(served: Path) -> None:
    tools = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}

    def names(client: str) -> list[str]:
        params = {**INITIALIZE["params"], "clientInfo": {"name": client, "version": "1"}}
        answers = ask(served, {**INITIALIZE, "params": params}, INITIALIZED, tools, tools="process")
        (found,) = [answer for answer in answers if answer.get("id") == 2]
        return [tool["name"] for tool in found["result"]["tools"]]

    for _ in range(2):
        assert names("claude-code")[0] == "process__run"
        assert names("gemini-cli-mcp-client")[0] == "process.run"


async def test_what_is_no_message_does_no_harm(served: Path) -> None:
    words: list[object] = [{"jsonrpc": "2.0"}, 7, [], "x", {"id": {}, "method": 3}, INITIALIZE, INITIALIZED]
    answers = ask(served, *words, {"jsonrpc": "2.0", "id": 9, "method": "no/such/method"})
    assert [answer.get("id") for answer in answers if answer.get("id") in (1, 9)] == [1, 9]


async def test_the_settings_of_a_home_hold_for_the_toolsets(home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("[sessions]\nshown_bytes = 10\n[mcp.job]\nasync_enabled = false\n")
    async with homes.remote(home), started(home, ERAS[0], "--tools", "job,sessions") as ai:
        names = {tool.name for tool in (await ai.client.list_tools()).tools}
        assert "bash" in names
        assert "job" not in names
        data = await ai.data("exec", code="print('0123456789')", create=True)
        assert (data["stdout"], data["truncated"]["stdout"]) == ("123456789\n", True)
