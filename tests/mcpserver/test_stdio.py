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
from tests.mcpserver.clients import ERAS, Agent, text_of
from tests.support import homes
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


def copier_of(home: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command(home), stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def ask(home: Path, *messages: object, tools: str = "core") -> list[dict[str, Any]]:
    """What the copier answers to a client that says this, in these bytes or as JSON, and leaves."""
    words = b"".join((one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n" for one in messages)
    done = subprocess.run(command(home, "--tools", tools), input=words, capture_output=True, check=True, timeout=30)
    return [json.loads(line) for line in done.stdout.splitlines()]


async def test_the_opening_is_answered_from_what_is_known_while_no_daemon_is_there(served: Path) -> None:
    first = ask(served, INITIALIZE, INITIALIZED, TOOLS)
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
    assert ask(served, INITIALIZE, INITIALIZED, TOOLS) == first


META = {
    "io.modelcontextprotocol/protocolVersion": ERAS[1],
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}
TOOLS = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
LISTEN = {"jsonrpc": "2.0", "id": 3, "method": "subscriptions/listen"}
OPENINGS: dict[str, list[dict[str, Any]]] = {
    ERAS[0]: [INITIALIZE, INITIALIZED, TOOLS],
    ERAS[1]: [
        {**TOOLS, "params": {"_meta": META}},
        {**LISTEN, "params": {"_meta": META, "notifications": {"toolsListChanged": True, "promptsListChanged": True}}},
    ],
}


@pytest.mark.parametrize("era", ERAS)
async def test_who_was_answered_with_tools_of_last_time_is_told_that_they_are_others(served: Path, era: str) -> None:
    opening = OPENINGS[era]
    ask(served, *[one for one in opening if one["method"] != LISTEN["method"]])
    (kept,) = served.glob("mcp-opening-*.json")
    found = json.loads(kept.read_text())
    (key,) = [key for key in found if key.startswith("tools/list")]
    found[key]["tools"] = []
    kept.write_text(json.dumps(found))
    heard: list[dict[str, Any]] = []
    with copier_of(served) as copier:
        assert copier.stdin is not None
        assert copier.stdout is not None
        copier.stdin.write(b"".join(json.dumps(one).encode() + b"\n" for one in opening))
        copier.stdin.flush()
        while not heard or heard[-1].get("method") != "notifications/tools/list_changed":
            heard.append(json.loads(copier.stdout.readline()))
        copier.stdin.close()
        copier.wait(timeout=30)
    (answer,) = [one for one in heard if one.get("id") == 2]
    assert answer["result"]["tools"] == []
    if era == ERAS[1]:
        acknowledged, told = heard[-2:]
        stamp = {"io.modelcontextprotocol/subscriptionId": 3}
        assert acknowledged["params"] == {"_meta": stamp, "notifications": {"toolsListChanged": True}}
        assert told["params"] == {"_meta": stamp}


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


async def test_183_what_is_known_from_last_time_is_spelled_as_before(served: Path) -> None:
    def names(client: str) -> list[str]:
        params = {**INITIALIZE["params"], "clientInfo": {"name": client, "version": "1"}}
        answers = ask(served, {**INITIALIZE, "params": params}, INITIALIZED, TOOLS, tools="process")
        (found,) = [answer for answer in answers if answer.get("id") == 2]
        return [tool["name"] for tool in found["result"]["tools"]]

    for _ in range(2):
        for client in ("claude-code", "gemini-cli-mcp-client", "unknown"):
            assert names(client)[0] == "process__run"


NOT_MESSAGES: list[object] = [
    {"jsonrpc": "2.0"},
    7,
    [],
    "x",
    {"id": {}, "method": 3},
    {"jsonrpc": "2.0", "id": True, "method": "initialize", "params": []},
    {"jsonrpc": "2.0", "id": "\ud800", "method": "tools/list", "params": {"_meta": 3}},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": None},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": {}}},
    b"[" * 100_000,
    b"\xff\x00",
]


async def test_what_is_no_message_does_no_harm(served: Path) -> None:
    half = {"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": "\udcff"}}
    last = {"jsonrpc": "2.0", "id": 9, "method": "no/such/method"}
    answers = ask(served, *NOT_MESSAGES, INITIALIZE, INITIALIZED, half, last)
    assert [answer.get("id") for answer in answers if answer.get("id") in (1, 8, 9)] == [1, 8, 9]


@pytest.mark.parametrize("given", ["nope", "core,nope", ",", ""])
def test_an_unknown_toolset_is_said_before_anything_is_started(home: Path, given: str) -> None:
    done = subprocess.run([*command(home), "--tools", given], capture_output=True, check=False, timeout=30)
    assert done.returncode == 2
    assert b"no toolset " in done.stderr
    assert b"known are core, " in done.stderr
    assert b"Traceback" not in done.stderr
    assert not home.exists()


async def test_the_settings_of_a_home_hold_for_the_toolsets(home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("[sessions]\nshown_bytes = 10\n[mcp.job]\nasync_enabled = false\n")
    async with homes.remote(home), started(home, ERAS[0], "--tools", "job,sessions") as ai:
        names = {tool.name for tool in (await ai.client.list_tools()).tools}
        assert "bash" in names
        assert "job" not in names
        answer = await ai.ask("exec", code="print('0123456789')", create=True)
        data = json.loads(text_of(answer))
        assert (data["stdout"], data["truncated"]["stdout"]) == ("123456789\n", True)
