"""How fast an output is looked through for what went wrong, beside reading it."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path
from time import perf_counter as now

import bide
from bench.figures import Figure, Pairs
from bench.place import Place

_LINES = 400_000
_PASSES = 3
_WORDS = ("cache", "order", "shard", "queue", "index", "batch", "lease", "region", "token", "cursor")


async def measure(place: Place) -> list[Figure]:
    """An excerpt of the log of a service, with one fatal line in its middle, and `read` of the same log into memory."""
    daemon = place.daemon("excerpts")
    path = place.root / "service.log"
    size = _write(path)
    speeds = Pairs()
    async with bide.connect(daemon.home) as jobs:
        ran = await jobs.run(["cat", str(path)], deadline=timedelta(seconds=120))
        kept = Path(daemon.home) / "jobs" / ran.job.id / "out"
        for number in range(_PASSES):
            place.tell(f"pass {number + 1} of {_PASSES}")
            began = now()
            found = await jobs.excerpt(ran.job.id)
            ours = now() - began
            began = now()
            kept.read_bytes().count(b"\n")
            speeds.add(size / ours / 1e6, size / (now() - began) / 1e6)
        if found.cause is None:
            raise RuntimeError("the fatal line was not found")
    daemon.stop()
    ours, theirs = speeds.medians
    limit = Figure(
        "excerpts",
        f"excerpt of a log of {size // 10**6} MB",
        "limit",
        "MB/s",
        1.0,
        at_most=False,
        ours=ours,
        theirs=100.0,
        ratio=ours / 100,
    )
    beside = Figure(
        "excerpts",
        "the same",
        "read, and count its lines",
        "MB/s",
        0.05,
        at_most=False,
        ours=ours,
        theirs=theirs,
        ratio=ours / theirs,
    )
    return [limit, beside]


def _write(path: Path) -> int:
    chance = random.Random(1)
    with path.open("w", encoding="utf-8") as file:
        for at in range(_LINES):
            one, other = chance.choice(_WORDS), chance.choice(_WORDS)
            level = "ERROR request failed, will retry:" if at % 50 == 0 else "INFO"
            file.write(
                f"2026-11-19T12:{at // 60 % 60:02}:{at % 60:02}.{at % 1000:03}Z {level} [worker-{at % 16}] {one} {other} id={chance.randrange(2**40):x} took {at % 900}ms path=/api/{one}/{at}\n"
            )
            if at == _LINES // 2:
                file.write("FATAL ledger is inconsistent: total 7 is not 8\n")
    return path.stat().st_size
