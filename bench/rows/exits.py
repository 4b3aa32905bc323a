"""How long after a process is gone its waiter knows."""

from __future__ import annotations

import asyncio
import mmap
import shutil
import subprocess
import time
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path

import bide
from bench.figures import Figure, Pairs, rounds
from bench.place import Place
from bench.work import end_of
from bide.api import Jobs

SOURCE = Path(__file__).with_name("stamp.c")
_WHAT = "exit of the process to return of its waiter, p50"
_AGAINST = "asyncio wait"


class Stamp:
    """A program that notes the time and exits, and the place where it notes it."""

    def __init__(self, root: Path) -> None:
        """Compile it."""
        self.program = root / "stamp"
        self.file = root / "stamp.bin"
        subprocess.run([_compiler() or "cc", "-O2", "-o", self.program, SOURCE], check=True)
        self.file.write_bytes(bytes(8))
        with self.file.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), 8)

    @property
    def command(self) -> list[str]:
        """To run it."""
        return [str(self.program), str(self.file)]

    def since(self) -> float:
        """Microseconds since it exited."""
        now = time.monotonic_ns()
        return (now - int.from_bytes(self._shared[:8], "little")) / 1e3


async def measure(place: Place) -> list[Figure]:
    """Wait for a job over the socket and for a child with asyncio, in turn."""
    if _compiler() is None:
        note = "not measured: it needs a C compiler (cc) for a program that notes the time of its exit"
        return [Figure("exit", _WHAT, _AGAINST, "us", 4, at_most=True, note=note)]
    stamp = Stamp(place.root)
    daemon = place.daemon("exit")
    pairs = Pairs()
    async with bide.connect(daemon.home) as jobs:
        await _job(jobs, stamp)
        place.tell("waits for jobs, in turn with asyncio")
        for _ in rounds(120, seconds=8):
            pairs.add(await _job(jobs, stamp), await _child(stamp))
    daemon.stop()
    ours, theirs = pairs.medians
    ratio = pairs.ratio_of_medians
    return [Figure("exit", _WHAT, _AGAINST, "us", 4, at_most=True, ours=ours, theirs=theirs, ratio=ratio)]


async def _job(jobs: Jobs, stamp: Stamp) -> float:
    started = (await jobs.run(stamp.command, background=True)).job
    waited = await jobs.wait([started.id])
    passed = stamp.since()
    end_of(waited.jobs[0])
    return passed


async def _child(stamp: Stamp) -> float:
    process = await asyncio.create_subprocess_exec(*stamp.command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    await process.wait()
    return stamp.since()


def _compiler() -> str | None:
    return shutil.which("cc")
