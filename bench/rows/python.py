"""How long Python code takes as a job, beside the same code given to the same interpreter."""

from __future__ import annotations

import statistics
import sys
import time

import bide
from bench.figures import Figure, Pairs, rounds
from bench.peers import asyncio_python
from bench.place import Place
from bench.work import end_of, run_true
from bide.api import Jobs

CODE = "print(1)"


async def measure(place: Place) -> list[Figure]:
    """The code as a job, by Python alone, and `true` as a job, in turn."""
    daemon = place.daemon("python")
    pairs = Pairs()
    alone: list[float] = []
    async with bide.connect(daemon.home) as jobs:
        for _ in range(3):
            await _run(jobs)
            await run_true(jobs)
        place.tell("runs Python code, in turn with python3 -c and with `true`")
        for _ in rounds(100, seconds=10):
            began = time.perf_counter()
            await _run(jobs)
            ran = time.perf_counter()
            await asyncio_python(CODE)
            alone.append((time.perf_counter() - ran) * 1e3)
            between = time.perf_counter()
            await run_true(jobs)
            pairs.add((ran - began) * 1e3, alone[-1] + (time.perf_counter() - between) * 1e3)
    daemon.stop()
    ours, theirs = pairs.medians
    ratio = pairs.ratio_of_medians
    what, against = "run Python code and get its end, p50", "python3 -c + run `true`"
    note = f"python3 -c alone takes {statistics.median(alone):.1f} ms"
    return [Figure("python", what, against, "ms", 1.5, at_most=True, ours=ours, theirs=theirs, ratio=ratio, note=note)]


async def _run(jobs: Jobs) -> None:
    end_of((await jobs.run(CODE, language="python", env={"VIRTUAL_ENV": sys.prefix}, deadline=None)).job)
