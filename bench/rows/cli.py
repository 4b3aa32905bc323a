"""How long `bide run -- true` takes in a shell, with a daemon running."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from bench.figures import Figure, Pairs, rounds
from bench.place import Place


async def measure(place: Place) -> list[Figure]:
    """The command and an empty program of the same interpreter, in turn."""
    daemon = place.daemon("cli")
    env = os.environ | {"BIDE_HOME": str(daemon.home)}
    ours = [str(Path(sys.executable).with_name("bide")), "run", "--", "true"]
    theirs = [sys.executable, "-c", "pass"]
    pairs = Pairs()
    for command in (ours, theirs):
        _milliseconds(command, env)
    place.tell("runs `bide run -- true`, in turn with an empty program")
    for _ in rounds(50, seconds=8):
        pairs.add(_milliseconds(ours, env), _milliseconds(theirs, env))
    daemon.stop()
    first, second = pairs.medians
    ratio = pairs.ratio_of_medians
    what = "`bide run -- true`, wall, p50"
    return [Figure("cli", what, "python3 -c pass", "ms", 5, at_most=True, ours=first, theirs=second, ratio=ratio)]


def _milliseconds(command: list[str], env: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, env=env, check=True, stdin=subprocess.DEVNULL)
    return (time.perf_counter() - began) * 1e3
