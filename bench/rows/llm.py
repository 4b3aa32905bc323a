"""LLM command lines: what asking one costs beyond running it by hand, and how fast what it writes is read."""

from __future__ import annotations

import asyncio
import json
import os
import time
import tracemalloc
from pathlib import Path
from typing import Any

import orjson

import bide
from bench.figures import Figure, Pairs, rounds
from bench.place import Place
from bide.kinds.llm import known
from bide.model.llm.answer import Status

_MB = 1_000_000
_OVER_MS = 10
_PIECE = 256 * 1024
_ANSWER: list[dict[str, Any]] = [
    {"type": "system", "subtype": "init", "session_id": "s", "model": "m"},
    {"type": "result", "subtype": "success", "is_error": False, "result": "done", "session_id": "s", "num_turns": 1},
]


async def measure(place: Place) -> list[Figure]:
    """A request beside the same program by hand and as a plain job; reading beside orjson."""
    return [await _overhead(place), *_reading(place)]


async def _overhead(place: Place) -> Figure:
    programs = place.root / "llm-bin"
    programs.mkdir()
    claude = programs / "claude"
    lines = "".join(f"{json.dumps(event, separators=(',', ':'))}\n" for event in _ANSWER)
    claude.write_text(f"#!/bin/sh\ncat <<'END'\n{lines}END\n", encoding="utf-8")
    claude.chmod(0o755)
    os.environ["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
    daemon = place.daemon("llm")
    by_hand: list[float] = []
    pairs = Pairs()
    async with bide.connect(daemon.home) as jobs:
        await jobs.ask("claude", "warm")
        place.tell("asks a CLI that answers at once, in turn with running it by hand and as a job")
        for number in rounds(200, seconds=8):
            began = time.perf_counter()
            asked = await jobs.ask("claude", f"question {number}")
            first = time.perf_counter()
            await jobs.run([str(claude)])
            second = time.perf_counter()
            await _by_hand(claude)
            by_hand.append((time.perf_counter() - second) * 1e3)
            pairs.add((first - began) * 1e3, (second - first) * 1e3)
            assert asked.answer.status is Status.COMPLETED
    daemon.stop()
    ask, run = pairs.medians
    hand = sorted(by_hand)[len(by_hand) // 2]
    what = "a request to an LLM's command line, over running that by hand, p50"
    against = f"the engine's own run of it, over the same, plus {_OVER_MS} ms"
    ours, theirs = ask - hand, run - hand + _OVER_MS
    return Figure("llm", what, against, "ms", 1, at_most=True, ours=ours, theirs=theirs, ratio=ours / theirs)


async def _by_hand(program: Path) -> None:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(program, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe)
    await process.communicate()


def _reading(place: Place) -> list[Figure]:
    place.tell("reads 50 MB of stream-json, in turn with orjson line by line")
    data, pairs = _stream(50), Pairs()
    for _ in rounds(5, seconds=8):
        began = time.perf_counter()
        _read(data)
        between = time.perf_counter()
        for line in data.splitlines():
            orjson.loads(line)
        pairs.add(50 / (between - began), 50 / (time.perf_counter() - between))
    ours, theirs = pairs.medians
    little, much = _peak(_stream(5)), _peak(data)
    what = "50 MB of stream-json read to an answer"
    speed = Figure(
        "llm",
        what,
        "orjson.loads per line",
        "MB/s",
        0.5,
        at_most=False,
        ours=ours,
        theirs=theirs,
        ratio=pairs.median_of_ratios,
    )
    flat = Figure(
        "llm",
        f"{what}: memory at its highest",
        "the same for 5 MB",
        "kB",
        1.2,
        at_most=True,
        ours=much / 1e3,
        theirs=little / 1e3,
        ratio=much / little,
    )
    return [speed, flat]


def _read(data: bytes) -> None:
    reader = known.named("claude").reader("stream-json")
    for at in range(0, len(data), _PIECE):
        reader.feed(data[at : at + _PIECE])
    assert reader.finish().text == "done"


def _peak(data: bytes) -> int:
    tracemalloc.start()
    try:
        _read(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _stream(megabytes: int) -> bytes:
    """What Claude Code writes: mostly parts of messages, now and then a whole one, and what tools said."""
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "word " * 24}}
    content = [
        {"type": "text", "text": "word " * 200},
        {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}},
    ]
    said = {"id": "m", "model": "m", "content": content, "usage": {"input_tokens": 1}}
    heard = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "line\n" * 300}]}
    events = [
        *[{"type": "stream_event", "event": delta, "session_id": "s", "uuid": "u"}] * 30,
        {"type": "assistant", "message": said, "session_id": "s"},
        {"type": "user", "message": heard},
    ]
    block = b"".join(orjson.dumps(event) + b"\n" for event in events)
    first, last = (orjson.dumps(event) + b"\n" for event in _ANSWER)
    return first + block * (megabytes * _MB // len(block)) + last
