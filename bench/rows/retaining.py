"""Whether requests stall while the daemon forgets a hundred thousand old jobs by itself, as retention wants it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from bench.figures import Figure
from bench.history import build, job_id
from bench.place import Place
from bench.rows.removing import FILES, at
from bide.client.blocking import Link

_JOBS = 100_000
_SECONDS = 20.0
"""How long requests are made, with and without: forgetting all of them takes minutes, and goes on evenly."""
_LINKED = 1000
"""Of so many jobs the files are the same, by hard links: making them all would take longer than measuring."""
_BEGINS_SECONDS = 60.0


async def measure(place: Place) -> list[Figure]:
    """Get a job and run `true`, in turn; alone, and beside a gc that began by itself after the start."""
    home = place.root / "retaining"
    place.tell(f"builds a home with {_JOBS:,} old jobs")
    _fill(home)
    settings = home / "config.toml"
    settings.write_text("[retention]\nkeep = '36500d'\nkeep_unseen = '36500d'\n")
    daemon = place.daemon(home.name)
    place.tell("asks while nothing else happens")
    alone = _asked(str(home))
    daemon.stop()
    settings.write_text("[retention]\nkeep = '1d'\nkeep_unseen = '1d'\n")
    daemon.start()
    place.tell("asks while old jobs are forgotten")
    before = _begun(home)
    beside = _asked(str(home))
    gone = before - len(os.listdir(home / "jobs"))
    daemon.stop()
    if gone <= 0:
        raise RuntimeError("nothing was forgotten meanwhile")
    return [_figure(what, beside[what], alone[what], f"{gone:,} went in {_SECONDS:.0f} s") for what in alone]


def _figure(what: str, beside: list[float], alone: list[float], gone: str) -> Figure:
    ours, theirs = at(beside, 99), at(alone, 99)
    note = f"{gone}; p50 {at(beside, 50):.1f} ms beside {at(alone, 50):.1f} ms, longest {beside[-1]:.0f} ms beside {alone[-1]:.0f} ms"
    said = f"{what} while {_JOBS:,} jobs are forgotten, p99"
    return Figure(
        "gc-many", said, "alone", "ms", 4, at_most=True, ours=ours, theirs=theirs, ratio=ours / theirs, note=note
    )


def _fill(home: Path) -> None:
    jobs = home / "jobs"
    jobs.mkdir(parents=True, mode=0o700)
    build(home / "bide.db", _JOBS)
    for number in range(_JOBS):
        folder = f"{jobs}/{job_id(number)}"
        os.mkdir(folder)
        for name, size in FILES.items():
            if number % _LINKED == 0:
                Path(folder, name).write_bytes(bytes(size))
            else:
                os.link(f"{jobs}/{job_id(number - number % _LINKED)}/{name}", f"{folder}/{name}")


def _begun(home: Path) -> int:
    """How many jobs there are once the first of them went."""
    until = time.monotonic() + _BEGINS_SECONDS
    while (left := len(os.listdir(home / "jobs"))) == _JOBS:
        if time.monotonic() > until:
            raise TimeoutError(f"no job was forgotten in {_BEGINS_SECONDS:.0f} s")
        time.sleep(0.2)
    return left


def _asked(home: str) -> dict[str, list[float]]:
    """Milliseconds of each answer, in order of size, by what was asked."""
    link = Link(home, starts=False)

    def get() -> None:
        answer = link.raw("GET", f"/v1/jobs/{job_id(_JOBS - 1)}")
        if answer.status not in (200, 410):
            raise RuntimeError(f"a job was answered with {answer.status}")

    def run() -> None:
        if link.call("POST", "/v1/jobs", {"command": "true"})["job"]["exit_code"] != 0:
            raise RuntimeError("a run of 'true' did not succeed")

    acts: dict[str, Callable[[], None]] = {"get": get, "run `true`": run}
    passed: dict[str, list[float]] = {what: [] for what in acts}
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        for what, act in acts.items():
            began = time.perf_counter()
            act()
            passed[what].append((time.perf_counter() - began) * 1e3)
    link.close()
    return {what: sorted(some) for what, some in passed.items()}
