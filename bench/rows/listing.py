"""Whether lists stay fast when there are a million jobs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from bench.figures import Figure, Pairs, rounds
from bench.history import COMMON, FEW, MANY, RARE, build, instant, job_id
from bench.place import Place
from bide.client.blocking import Link

_COLUMNS = ("reason", "session", "owner", "label", "kind", "name")
Question = tuple[str, dict[str, Any]]


def questions(count: int) -> dict[str, Question]:
    """What is asked of a home with so many jobs: path and query, by name."""
    asked: dict[str, Question] = {
        "get by id": (f"/v1/jobs/{job_id(count // 2)}", {}),
        "get by name": (f"/v1/jobs/{COMMON['name']}", {}),
        "newest page": ("/v1/jobs", {}),
        "phase, all": ("/v1/jobs", {"phase": "ended"}),
        "phase, none": ("/v1/jobs", {"phase": "running"}),
        "since, all": ("/v1/jobs", {"since": instant(0).isoformat()}),
        "since, the last": ("/v1/jobs", {"since": instant(count - 25).isoformat()}),
    }
    for column in _COLUMNS:
        asked[f"{column}, frequent"] = ("/v1/jobs", {column: COMMON[column]})
        asked[f"{column}, rare and old"] = ("/v1/jobs", {column: RARE[column]})
    return asked


async def measure(place: Place) -> list[Figure]:
    """Ask both homes the same, in turn; the worst ratio counts."""
    many, few = place.root / "many", place.root / "few"
    for home, count in ((few, FEW), (many, MANY)):
        place.tell(f"builds a home with {count:,} ended jobs")
        home.mkdir(mode=0o700)
        build(home / "bide.db", count)
        # They are old, and none of them is to go meanwhile.
        (home / "config.toml").write_text("[retention]\nkeep = '36500d'\n")
    place.tell("asks both homes, in turn")
    measured = _ask_both(place, many, few)
    worst = max(measured, key=lambda name: measured[name].ratio_of_medians)
    ours, theirs = measured[worst].medians
    ordered = sorted(measured, key=lambda name: -measured[name].ratio_of_medians)
    note = "worst is " + ", then ".join(f"{name} {measured[name].ratio_of_medians:.2f}x" for name in ordered[:3])
    what = f"list, get and filters with {MANY:,} jobs, worst"
    ratio = measured[worst].ratio_of_medians
    against = f"with {FEW:,}"
    return [Figure("list", what, against, "ms", 2, at_most=True, ours=ours, theirs=theirs, ratio=ratio, note=note)]


def _ask_both(place: Place, many: Path, few: Path) -> dict[str, Pairs]:
    daemons = [place.daemon(home.name) for home in (many, few)]
    links = [Link(str(home), starts=False) for home in (many, few)]
    asked_many, asked_few = questions(MANY), questions(FEW)
    measured = {name: Pairs() for name in asked_many}
    for number in rounds(40, seconds=8):
        for name, pairs in measured.items():
            ours, theirs = _ask(links[0], asked_many[name]), _ask(links[1], asked_few[name])
            if ours[1] != theirs[1]:
                raise RuntimeError(f"{name}: {ours[1]} jobs of many, {theirs[1]} of few")
            if number > 0:
                pairs.add(ours[0], theirs[0])
    for link, daemon in zip(links, daemons, strict=True):
        link.close()
        daemon.stop()
    return measured


def _ask(link: Link, question: Question) -> tuple[float, int]:
    """Milliseconds, and how many jobs came."""
    path, query = question
    began = time.perf_counter()
    answer = link.call("GET", path, query=query)
    passed = (time.perf_counter() - began) * 1e3
    return passed, len(answer["jobs"]) if "jobs" in answer else 1
