"""How long a short job takes, from the call to its durable end."""

from __future__ import annotations

import time

import bide
from bench.figures import Figure, Pairs, rounds
from bench.peers import asyncio_true
from bench.place import Place
from bench.work import run_true


async def measure(place: Place) -> list[Figure]:
    """Run `true` over the socket and without bide, in turn."""
    daemon = place.daemon("latency")
    pairs = Pairs()
    async with bide.connect(daemon.home) as jobs:
        for _ in range(5):
            await run_true(jobs)
        place.tell("runs `true`, in turn with asyncio")
        for _ in rounds(300, seconds=6):
            began = time.perf_counter()
            await run_true(jobs)
            between = time.perf_counter()
            await asyncio_true()
            pairs.add((between - began) * 1e3, (time.perf_counter() - between) * 1e3)
    daemon.stop()
    ours, theirs = pairs.medians
    what = "run `true` and get its end, p50"
    ratio = pairs.ratio_of_medians
    return [Figure("latency", what, "asyncio subprocess", "ms", 3, at_most=True, ours=ours, theirs=theirs, ratio=ratio)]
