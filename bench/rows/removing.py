"""Whether a job is read as fast as ever while thousands are being forgotten."""

from __future__ import annotations

import os
import threading
import time

from bench.figures import Figure
from bench.history import build, job_id
from bench.place import Place
from bide.client.blocking import Link

_JOBS = 3000
_SECONDS = 4.0
FILES = {"spec": 3000, "started": 60, "live": 4096, "out": 100, "end": 4096}
"""What is in the folder of an ended job, and how large."""


async def measure(place: Place) -> list[Figure]:
    """Ask for jobs while nothing else happens, and then while the others are removed; the slowest of a hundred counts."""
    home = place.root / "removing"
    place.tell(f"builds a home with {_JOBS:,} old jobs")
    (home / "jobs").mkdir(parents=True, mode=0o700)
    build(home / "bide.db", _JOBS)
    for number in range(_JOBS):
        folder = home / "jobs" / job_id(number)
        folder.mkdir()
        for name, size in FILES.items():
            (folder / name).write_bytes(bytes(size))
    # All are old; none goes before it is asked for.
    (home / "config.toml").write_text("[retention]\nkeep = '36500d'\n")
    daemon = place.daemon(home.name)
    place.tell("asks for a job, with and without a gc beside it")
    over = threading.Event()
    threading.Timer(_SECONDS, over.set).start()
    quiet = _ask(str(home), over)
    over = threading.Event()
    link = Link(str(home), starts=False)

    def remove() -> None:
        link.call("POST", "/v1/gc", {"older_than_ms": 0})
        over.set()

    began = time.monotonic()
    removing = threading.Thread(target=remove)
    removing.start()
    busy = _ask(str(home), over)
    removing.join()
    note = f"{_JOBS:,} jobs were forgotten in {time.monotonic() - began:.0f} s; p50 {at(busy, 50):.2f} ms"
    link.close()
    daemon.stop()
    ours, theirs = at(busy, 99), at(quiet, 99)
    what = f"get while {_JOBS:,} jobs are forgotten, p99"
    return [
        Figure("gc", what, "alone", "ms", 4, at_most=True, ours=ours, theirs=theirs, ratio=ours / theirs, note=note)
    ]


def _ask(home: str, over: threading.Event) -> list[float]:
    """Milliseconds of each answer, in order of size."""
    link = Link(home, starts=False)
    passed: list[float] = []
    while not over.is_set() or not passed:
        began = time.perf_counter()
        answer = link.raw("GET", f"/v1/jobs/{job_id(_JOBS - 1)}")
        passed.append((time.perf_counter() - began) * 1e3)
        if answer.status not in (200, 410):
            raise RuntimeError(f"a job was answered with {answer.status}")
        os.sched_yield()
    link.close()
    return sorted(passed)


def at(ordered: list[float], percent: int) -> float:
    """The value that so many of a hundred do not exceed."""
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]
