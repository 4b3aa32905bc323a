"""Whether a daemon starts as fast over a million ended jobs as over a thousand: the index is believed by its seal."""

from __future__ import annotations

import time

from bench.figures import Figure, Pairs, rounds
from bench.history import FEW, MANY, build
from bench.place import Daemon, Place


async def measure(place: Place) -> list[Figure]:
    """Start a daemon over both homes, in turn, until it is ready."""
    daemons: list[Daemon] = []
    for name, count in (("start-many", MANY), ("start-few", FEW)):
        place.tell(f"builds a home with {count:,} ended jobs")
        home = place.root / name
        home.mkdir(mode=0o700)
        build(home / "bide.db", count)
        (home / "config.toml").write_text("[retention]\nkeep = '36500d'\nkeep_unseen = '36500d'\n")
        daemons.append(Daemon(home))
    pairs = Pairs()
    place.tell("starts a daemon over each, in turn")
    for daemon in daemons:
        _milliseconds(daemon)
    for _ in rounds(12, seconds=30):
        pairs.add(*map(_milliseconds, daemons))
    rebuilt = [daemon for daemon in daemons if (daemon.home / "index-rebuilt.json").exists()]
    if rebuilt:
        raise RuntimeError("an index was rebuilt: this was no healthy start")
    ours, theirs = pairs.medians
    what, against = f"start with {MANY:,} ended jobs, p50", f"with {FEW:,}"
    ratio = pairs.ratio_of_medians
    return [Figure("start", what, against, "ms", 2, at_most=True, ours=ours, theirs=theirs, ratio=ratio)]


def _milliseconds(daemon: Daemon) -> float:
    began = time.perf_counter()
    daemon.start()
    took = time.perf_counter() - began
    daemon.stop()
    return took * 1e3
