"""How fast a job can write, with its output kept by the default limits."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import bide
from bench.figures import Figure, Pairs, rounds
from bench.place import Place
from bench.work import end_of
from bide.api import Jobs

GIGABYTE = 1_000_000_000
_BLOCK = 128_000
COMMANDS = {
    "1 GB of output in blocks of 128 kB": [
        "dd",
        "if=/dev/zero",
        f"bs={_BLOCK}",
        f"count={GIGABYTE // _BLOCK}",
        "status=none",
    ],
    "1 GB of lines, written 4 kB at a time": ["seq", "100000000", "199999999"],
}


async def measure(place: Place) -> list[Figure]:
    """Each command under bide and straight into a file of the same disk, in turn."""
    daemon = place.daemon("output")
    measured = {what: Pairs() for what in COMMANDS}
    async with bide.connect(daemon.home) as jobs:
        for number in rounds(3, seconds=12, least=2):
            for what, command in COMMANDS.items():
                place.tell(f"{what}; round {number + 1} of 3")
                ours = await _under_bide(jobs, command)
                theirs = await _into_a_file(place.root / "output.bin", command)
                measured[what].add(GIGABYTE / ours / 1e6, GIGABYTE / theirs / 1e6)
    daemon.stop()
    return [_figure(what, pairs) for what, pairs in measured.items()]


async def _under_bide(jobs: Jobs, command: list[str]) -> float:
    began = time.perf_counter()
    job = (await jobs.run(command, deadline=None)).job
    seconds = time.perf_counter() - began
    written = end_of(job).out.size
    if written < GIGABYTE * 0.999:
        raise RuntimeError(f"{job.spec.command!r} wrote {written} bytes")
    await jobs.forget(job.id)
    return seconds


async def _into_a_file(path: Path, command: list[str]) -> float:
    began = time.perf_counter()
    with path.open("wb") as file:
        process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.DEVNULL, stdout=file)
        code = await process.wait()
    seconds = time.perf_counter() - began
    path.unlink()
    if code != 0:
        raise RuntimeError(f"{command[0]} ended with {code}")
    return seconds


def _figure(what: str, pairs: Pairs) -> Figure:
    ours, theirs = pairs.medians
    ratio = pairs.median_of_ratios
    return Figure("output", what, "into a file", "MB/s", 0.8, at_most=False, ours=ours, theirs=theirs, ratio=ratio)
