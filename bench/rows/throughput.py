"""How many short jobs a second, 32 at a time."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable
from contextlib import ExitStack

import bide
from bench.figures import Figure, Pairs, rounds
from bench.peers import AT_ONCE, asyncio_true, many, task_spooler
from bench.place import Place
from bench.work import run_true

JOBS = 2000
ROUNDS = 4


async def measure(place: Place) -> list[Figure]:
    """2,000 jobs in rounds; in each round all the peers have their turn."""
    daemon = place.daemon("throughput")
    plain, spooled = Pairs(), Pairs()
    count = JOBS // ROUNDS
    with ExitStack() as stack:
        spooler: Callable[[], Awaitable[None]] | None = None
        if shutil.which("tsp"):
            spooler = stack.enter_context(task_spooler(place.root))
        async with bide.connect(daemon.home) as jobs:
            await many(AT_ONCE, lambda: run_true(jobs))
            for number in rounds(ROUNDS, seconds=16, least=2):
                place.tell(f"{count} jobs, {AT_ONCE} at a time, each way; round {number + 1} of {ROUNDS}")
                ours = count / await many(count, lambda: run_true(jobs))
                plain.add(ours, count / await many(count, asyncio_true))
                if spooler is not None:
                    spooled.add(ours, count / await many(count, spooler))
    daemon.stop()
    what = f"{JOBS:,} short jobs, {AT_ONCE} at a time"
    return [_figure(what, "asyncio subprocess", 0.5, plain), _figure(what, "task-spooler", 1.5, spooled)]


def _figure(what: str, against: str, reach: float, pairs: Pairs) -> Figure:
    if not pairs.ours:
        return Figure("throughput", what, against, "jobs/s", reach, at_most=False, note="task-spooler is not installed")
    ours, theirs = pairs.medians
    ratio = pairs.median_of_ratios
    return Figure("throughput", what, against, "jobs/s", reach, at_most=False, ours=ours, theirs=theirs, ratio=ratio)
