"""How soon after a crash a new daemon has a thousand running jobs in hand."""

from __future__ import annotations

import time

from bench.crowd import CROWD, crowd
from bench.figures import Figure, Pairs, rounds
from bench.peers import asyncio_true, many
from bench.place import Place
from bench.processes import keepers


async def measure(place: Place) -> list[Figure]:
    """Kill the daemon, start another, and wait until it answers that all run; in turn with the peer."""
    daemon = (await crowd(place)).daemon
    kept = keepers(daemon.home)
    pairs = Pairs()
    for number in rounds(5, seconds=10, least=2):
        place.tell(f"kills the daemon and starts another; round {number + 1} of 5")
        began = time.perf_counter()
        daemon.kill()
        daemon.start()
        daemon.wait_for(lambda said: said.get("running") == CROWD, pause=0.001)
        ours = time.perf_counter() - began
        if keepers(daemon.home) != kept:
            raise RuntimeError("the new daemon replaced keepers that were alive")
        pairs.add(ours * 1e3, await many(CROWD, asyncio_true) * 1e3)
    ours, theirs = pairs.medians
    what = f"restart with {CROWD:,} running jobs, all adopted"
    ratio = pairs.median_of_ratios
    against = f"asyncio starts {CROWD:,}"
    return [Figure("restart", what, against, "ms", 0.5, at_most=True, ours=ours, theirs=theirs, ratio=ratio)]
