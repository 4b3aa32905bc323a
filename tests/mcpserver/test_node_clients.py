"""Clients that others wrote, in node: both TypeScript clients and Inspector's command line use every tool.

`make clients` installs them; without them these tests are skipped.
"""

import json
import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from tests.mcpserver import plans
from tests.mcpserver.clients import ERAS

from bide.mcpserver import spelling, toolsets
from bide.model.schema import Json

FOLDER = Path(__file__).parents[2] / ".venv" / "clients"
NODE = FOLDER / "node"
DRIVE = Path(__file__).parent / "node" / "drive.mjs"
INSPECTOR = FOLDER / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
REFUSED = 5
"""Inspector's exit status for a tool's error."""

pytestmark = [
    pytest.mark.node,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not NODE.exists(), reason="no clients for node here; 'make clients' installs them"),
]


def over_stdio(home: Path, toolset: str) -> Json:
    words = [
        "-m",
        "bide",
        "--home",
        str(home),
        "mcp",
        "--owner",
        f"stdio-{toolset}",
        "--tools",
        toolset,
        "--output",
        "data",
    ]
    return {"label": f"{toolset} on stdio", "command": [sys.executable, *words]}


def over_http(home: Path, port: int, toolset: str) -> Json:
    headers = {
        "Authorization": f"Bearer {(home / 'mcp-token').read_text().strip()}",
        "Bide-Output": "data",
        "Bide-Owner": f"http-{toolset}",
        "Bide-Tools": toolset,
    }
    return {"label": f"{toolset} over HTTP", "url": f"http://127.0.0.1:{port}/mcp", "headers": headers}


@pytest.mark.parametrize(("client", "era"), [("v1.mjs", ERAS[0]), ("v2.mjs", ERAS[0]), ("v2.mjs", ERAS[1])])
async def test_a_typescript_client_uses_every_tool(home: Path, port: int, client: str, era: str) -> None:
    servers = [
        {**server, "era": era, "tools": plans.tools(name), "calls": calls}
        for name, calls in plans.CALLS.items()
        for server in (over_stdio(home, name), over_http(home, port, name))
    ]
    done = await anyio.run_process(
        [str(NODE), str(DRIVE), client, str(FOLDER)], input=json.dumps({"servers": servers}).encode(), check=False
    )
    calls = 2 * sum(map(len, plans.CALLS.values()))
    assert done.stdout.decode() == f"{calls} calls\n", done.stderr.decode()
    assert done.returncode == 0


def own_words(tmp_path: Path, command: list[str]) -> str:
    """Return a program that runs a command: Inspector takes options that are its own out of a command, such as `--output`."""
    program = tmp_path / f"server-{abs(hash(tuple(command)))}"
    if not program.exists():
        made = program.with_suffix(f".{threading.get_ident()}")
        made.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
        made.chmod(0o755)
        made.rename(program)
    return str(program)


def inspect(tmp_path: Path, server: Json, era: str, *words: str) -> tuple[int, Json, str]:
    """What Inspector's command line says; its exit status, its answer, and its complaints."""
    target = [own_words(tmp_path, server["command"])] if "command" in server else [server["url"]]
    headers = [f"{name}: {value}" for name, value in server.get("headers", {}).items()]
    flags = ["--protocol-era", "modern" if era == ERAS[1] else "legacy", "--format", "json"]
    done = subprocess.run(
        [NODE, INSPECTOR, "--cli", *target, *flags, *(["--header", *headers] if headers else []), *words],
        capture_output=True,
        env={**os.environ, "HOME": str(tmp_path)},
        check=False,
        timeout=120,
    )
    said: Json = json.loads(done.stdout) if done.stdout else {"result": {}}
    assert "result" in said, (words, said, done.stderr.decode())
    return done.returncode, said["result"], done.stderr.decode()


async def in_parallel(work: Iterable[Callable[[], None]]) -> None:
    """Do all of it, a few at a time: Inspector takes seconds to start."""
    limiter = anyio.CapacityLimiter(3)

    async def do(one: Callable[[], None]) -> None:
        await anyio.to_thread.run_sync(one, limiter=limiter)

    async with anyio.create_task_group() as group:
        for one in work:
            group.start_soon(do, one)


@pytest.mark.parametrize("era", ERAS)
async def test_inspector_finds_no_fault_in_any_schema(home: Path, port: int, tmp_path: Path, era: str) -> None:
    def check(server: Json, toolset: str) -> None:
        status, answer, complaints = inspect(tmp_path, server, era, "--method", "tools/list", "--strict")
        assert (status, complaints) == (0, ""), (server["label"], complaints)
        assert [tool["name"] for tool in answer["tools"]] == plans.tools(toolset)

    served = {name: (over_stdio(home, name), over_http(home, port, name)) for name in toolsets.made()}
    await in_parallel(partial(check, server, name) for name, servers in served.items() for server in servers)


@pytest.mark.parametrize("era", ERAS)
async def test_inspector_uses_every_tool(home: Path, port: int, tmp_path: Path, era: str) -> None:
    def use(server: Json, calls: list[Json]) -> None:
        kept: Json = {}
        for call in calls:
            given = [f"{key}={json.dumps(value)}" for key, value in plans.filled(call["arguments"], kept).items()]
            words = [
                "--method",
                "tools/call",
                "--tool-name",
                spelling.listed(call["tool"]),
                *(["--tool-arg", *given] if given else []),
            ]
            status, answer, complaints = inspect(tmp_path, server, era, *words)
            assert status == (REFUSED if call.get("refused") else 0), (call, answer, complaints)
            plans.check(call, answer["content"][0]["text"], answer.get("structuredContent"), kept)

    # Each transport with the era that its clients mostly speak.
    made = {name: over_stdio(home, name) if era == ERAS[0] else over_http(home, port, name) for name in plans.CALLS}
    await in_parallel(partial(use, made[name], calls) for name, calls in plans.CALLS.items())
