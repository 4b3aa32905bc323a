"""What a thousand running jobs cost while they do nothing."""

from __future__ import annotations

import asyncio
import statistics
import time

from bench.crowd import CROWD, crowd
from bench.figures import Figure
from bench.place import Place
from bench.processes import cpu_seconds, keepers, memory_kb, private_kb

_SETTLE_SECONDS = 1.5
_IDLE_SECONDS = 4.0


async def measure(place: Place) -> list[Figure]:
    """The keepers' private memory, the daemon's memory, and the CPU time of both while all is quiet."""
    gathered = await crowd(place)
    daemon, kept = gathered.daemon.pid, keepers(gathered.daemon.home)
    if len(kept) != CROWD:
        raise RuntimeError(f"{len(kept)} keepers for {CROWD} jobs")
    place.tell("measures memory, and CPU while all is quiet")
    private = [private_kb(pid) for pid in kept]
    daemon_kb = memory_kb(daemon)
    await asyncio.sleep(_SETTLE_SECONDS)
    busy, keepers_busy = _busy(daemon, kept)
    each = statistics.fmean(private)
    return [
        _figure(
            "private memory per running job", each, 150, "kB", f"of {CROWD:,} keepers the largest has {max(private)} kB"
        ),
        _figure(
            f"daemon with {CROWD:,} running jobs",
            daemon_kb["Rss"] / 1000,
            120,
            "MB",
            f"RSS; PSS is {daemon_kb['Pss'] / 1000:.0f} MB",
        ),
        _figure(
            "daemon's CPU while all is idle", busy, 1, "%", f"the {CROWD:,} keepers together: {keepers_busy:.1f} %"
        ),
    ]


def _busy(daemon: int, kept: set[int]) -> tuple[float, float]:
    """Per cent of one CPU: the daemon, and all keepers together."""
    began = time.monotonic()
    before = cpu_seconds(daemon)
    keepers_before = sum(map(cpu_seconds, kept))
    between = time.monotonic()
    time.sleep(_IDLE_SECONDS)
    used = cpu_seconds(daemon) - before
    passed = time.monotonic() - began
    keepers_used = sum(map(cpu_seconds, kept)) - keepers_before
    return 100 * used / passed, 100 * keepers_used / (time.monotonic() - between)


def _figure(what: str, ours: float, limit: float, unit: str, note: str) -> Figure:
    ratio = ours / limit
    return Figure("memory", what, "limit", unit, 1, at_most=True, ours=ours, theirs=limit, ratio=ratio, note=note)
