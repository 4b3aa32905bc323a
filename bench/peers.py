"""What bide is measured against: the same work done without it, by asyncio and by task-spooler."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from pathlib import Path

AT_ONCE = 32


async def asyncio_true() -> None:
    """Run `true` with pipes and collect what it says."""
    await _collected("true")


async def asyncio_python(code: str) -> None:
    """Give code to this interpreter, with pipes, and collect what it says."""
    await _collected(sys.executable, "-c", code)


async def _collected(*words: str) -> None:
    process = await asyncio.create_subprocess_exec(*words, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    await process.communicate()
    assert process.returncode == 0


async def many(count: int, act: Callable[[], Awaitable[object]]) -> float:
    """Do it so many times, AT_ONCE at a time; how many seconds that took."""
    turns = iter(range(count))

    async def worker() -> None:
        for _ in turns:
            await act()

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(worker())
    return time.perf_counter() - began


@contextmanager
def task_spooler(root: Path) -> Generator[Callable[[], Awaitable[None]], None, None]:
    """A task-spooler server of our own with AT_ONCE slots; gives how to run `true` in it and wait for its end."""
    # A relative path, because that of a socket cannot be long.
    env = os.environ | {"TS_SOCKET": "tsp.sock", "TMPDIR": str(root)}
    subprocess.run(["tsp", "-S", str(AT_ONCE)], cwd=root, env=env, check=True, stdout=subprocess.DEVNULL)

    async def run() -> None:
        process = await asyncio.create_subprocess_exec(
            "tsp", "-f", "true", stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, cwd=root, env=env
        )
        assert await process.wait() == 0

    try:
        yield run
    finally:
        subprocess.run(["tsp", "-K"], cwd=root, env=env, check=False)
