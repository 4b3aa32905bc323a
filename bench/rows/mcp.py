"""The MCP door: a call, the start of `bide mcp`, and what an agent spends on tools and on waiting."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from bench.figures import Figure, Pairs, rounds
from bench.place import Daemon, Place

_BIDE = [str(Path(sys.executable).with_name("bide")), "mcp", "--owner", "bench"]
_OPENING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}
Json = dict[str, Any]

_ANSWER_SECONDS = 30.0
_SCALE = 100
"""How much shorter than in life the ten-minute job and its client's patience are."""
_JOB, _PATIENCE, _DEADLINE = 600 / _SCALE, 290 / _SCALE, 45 / _SCALE


async def measure(place: Place) -> list[Figure]:
    """Each beside its peer, in the same run."""
    daemon = place.daemon("mcp")
    figures = [*await _round_trips(place, daemon), _warm(place, daemon), _cold(place, daemon)]
    figures += [await _tool_list(daemon), *await _ten_minutes(place, daemon)]
    daemon.stop()
    return figures


def _client(daemon: Daemon, *options: str) -> Client:
    first, *rest = _BIDE
    env = os.environ | {"BIDE_HOME": str(daemon.home)}
    return Client(StdioServerParameters(command=first, args=[*rest, *options], env=env), mode="legacy")


async def _round_trips(place: Place, daemon: Daemon) -> list[Figure]:
    """Compare a call of `run true` with the SDK's echo, and with a minimal server that only runs the command."""
    peer = StdioServerParameters(command=sys.executable, args=["-m", "bench.echo"], env=dict(os.environ))
    echo, bare = Pairs(), Pairs()
    command = {"command": ["true"]}
    async with _client(daemon) as ours, Client(peer, mode="legacy") as theirs:
        for _ in range(5):
            await ours.call_tool("run", command)
            await theirs.call_tool("echo", {"said": "true"})
            await theirs.call_tool("run", command)
        place.tell("calls `run true` over MCP, in turn with the SDK's echo and with a server that only runs it")
        for _ in rounds(200, seconds=6):
            began = time.perf_counter()
            answer = await ours.call_tool("run", command)
            after = time.perf_counter()
            await theirs.call_tool("echo", {"said": "true"})
            echoed = time.perf_counter()
            await theirs.call_tool("run", command)
            took = (after - began) * 1e3
            echo.add(took, (echoed - after) * 1e3)
            bare.add(took, (time.perf_counter() - echoed) * 1e3)
            assert not answer.is_error
    what = "MCP call of `run true`, p50"
    return [
        Figure("mcp", what, against, "ms", most, at_most=True, ours=first, theirs=second, ratio=pairs.ratio_of_medians)
        for against, most, pairs in (
            ("the SDK's own echo tool", 4, echo),
            ("a minimal MCP server that only runs it", 2, bare),
        )
        for first, second in (pairs.medians,)
    ]


def _warm(place: Place, daemon: Daemon) -> Figure:
    place.tell("starts `bide mcp`, in turn with an empty program")
    pairs = Pairs()
    for _ in rounds(30, seconds=6):
        pairs.add(_first_answer(daemon.home), _empty_program())
    first, second = pairs.medians
    what = "`bide mcp` to its first answer, daemon running, p50"
    ratio = pairs.ratio_of_medians
    return Figure("mcp", what, "python3 -c pass", "ms", 3, at_most=True, ours=first, theirs=second, ratio=ratio)


def _cold(place: Place, daemon: Daemon) -> Figure:
    """Without a daemon: the opening comes from the cache that an earlier one left."""
    place.tell("starts `bide mcp` without a daemon")
    pairs = Pairs()
    for _ in rounds(5, seconds=10):
        daemon.stop()
        pairs.add(_first_answer(daemon.home), _empty_program())
        # The one that it started is not ours to hold.
        subprocess.run([_BIDE[0], "--home", str(daemon.home), "daemon", "stop"], check=True, stdout=subprocess.DEVNULL)
        daemon.start()
    first, second = pairs.medians
    what = "`bide mcp` to its first answer, no daemon, p50"
    ratio = pairs.ratio_of_medians
    return Figure("mcp", what, "python3 -c pass", "ms", 5, at_most=True, ours=first, theirs=second, ratio=ratio)


def _first_answer(home: Path) -> float:
    """Milliseconds from the start of the process to the line that answers `initialize`."""
    began = time.perf_counter()
    env = os.environ | {"BIDE_HOME": str(home)}
    with subprocess.Popen(_BIDE, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(_OPENING).encode() + b"\n")
        process.stdin.flush()
        if not select.select([process.stdout], [], [], _ANSWER_SECONDS)[0]:
            raise TimeoutError("`bide mcp` does not answer")
        answer = json.loads(process.stdout.readline())
        took = (time.perf_counter() - began) * 1e3
        assert answer["id"] == 1
        process.stdin.close()
    return took


def _empty_program() -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True, stdin=subprocess.DEVNULL)
    return (time.perf_counter() - began) * 1e3


async def _tool_list(daemon: Daemon) -> Figure:
    async with _client(daemon) as client:
        listed = await client.list_tools()
    rows = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed.tools]
    found = _tokens(rows)
    what, against = "the core toolset's list", "2,000 tokens"
    return Figure("mcp", what, against, "tokens", 1, at_most=True, ours=found, theirs=2000, ratio=found / 2000)


async def _ten_minutes(place: Place, daemon: Daemon) -> list[Figure]:
    """A ten-minute job by a client that survives 290 s, all times divided: it does what each answer says is next."""
    place.tell(f"waits for a ten-minute job, {_SCALE} times faster")
    given: Json = {"command": f"echo begun; sleep {_JOB}; echo done", "wait": _DEADLINE}
    tool = "run"
    calls = tokens = 0
    async with _client(daemon, "--patience", str(_PATIENCE)) as client:
        while tool:
            answer = await client.call_tool(tool, given)
            said: Json = answer.structured_content or {}
            assert not answer.is_error
            calls += 1
            text = "".join(getattr(block, "text", "") for block in answer.content)
            # A client shows the model one of the two forms.
            tokens += _tokens({"name": tool, "arguments": given}) + max(_tokens(text), _tokens(said))
            following: Json = said.get("next", {})
            tool, given = following.get("tool", ""), following.get("arguments", {})
    note = f"{_JOB:g} s with a patience of {_PATIENCE:g} s"
    return [
        Figure("mcp", what, against, unit, 1, at_most=True, ours=ours, theirs=most, ratio=ours / most, note=note)
        for what, against, unit, ours, most in (
            ("calls for a ten-minute job", "3 calls", "calls", calls, 3),
            ("tokens for a ten-minute job", "1,000 tokens", "tokens", tokens, 1000),
        )
    ]


def _tokens(value: object) -> float:
    return len(json.dumps(value, separators=(",", ":"))) / 4
