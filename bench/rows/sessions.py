"""Whether sessions stay as fast with a thousand of them behind as with ten."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.figures import Figure, Pairs, rounds
from bench.place import Place
from bide.client.blocking import Link
from bide.model.job import Job, Spec
from bide.model.phase import End, Ended, Kept, Reason
from bide.model.session import job_id
from bide.model.times import stamp
from bide.store.sessions import SessionRow
from bide.store.store import Store

FEW, MANY = 10, 1000
_JOBS = 50
_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def build(home: Path, count: int) -> None:
    """A home in which so many sessions were, each with its jobs, and ended."""
    (home / "sessions").mkdir(mode=0o700, parents=True)
    store = Store(str(home / "bide.db"))
    lines: list[str] = []
    for number in range(count):
        session, at = f"old{number}", _EPOCH + timedelta(hours=number)
        row = SessionRow(session, "user", at, at, _JOBS, at + timedelta(minutes=50), "ended")
        store.sessions.put(row)
        store.add([_job(session, seq, at + timedelta(minutes=seq)) for seq in range(1, _JOBS + 1)])
        times = {"created_at": stamp(at), "last_active_at": stamp(at), "ended_at": stamp(at)}
        lines.append(json.dumps({"id": session, "owner": "user", "seq": _JOBS, "why": "ended", **times}))
    store.close()
    (home / "sessions" / ".ended").write_text("".join(f"{line}\n" for line in lines))


def _job(session: str, seq: int, at: datetime) -> Job:
    spec = Spec(argv=("/bin/sh", "-c", "make test"), command="make test", cwd="/home/user/project")
    end = End(reason=Reason.EXITED, exit_code=0, duration=timedelta(seconds=1), out=Kept(0, 100))
    phase = Ended(ended_at=at, end=end, started_at=at, pid=1000 + seq)
    return Job(id=job_id(session, seq), spec=spec, created_at=at, session=session, phase=phase)


def _start(link: Link) -> None:
    session = link.call("POST", "/v1/sessions", {"cwd": "/"})["session"]["id"]
    link.call("DELETE", f"/v1/sessions/{session}")


def _run(link: Link) -> None:
    if link.call("POST", "/v1/jobs", {"command": "true", "session": "work"})["job"]["exit_code"] != 0:
        raise RuntimeError("a run failed")


def _list(link: Link) -> None:
    if len(link.call("GET", "/v1/sessions")["sessions"]) != 1:
        raise RuntimeError("there is another session")


def _show(link: Link) -> None:
    if not link.call("GET", "/v1/sessions/work")["jobs"]:
        raise RuntimeError("it has no jobs")


QUESTIONS: dict[str, Callable[[Link], None]] = {"start and end": _start, "run": _run, "list": _list, "show": _show}


async def measure(place: Place) -> list[Figure]:
    """Do the same in both homes, in turn; the worst ratio counts."""
    links: list[Link] = []
    daemons = [place.daemon(name) for name in _built(place)]
    for daemon in daemons:
        links.append(Link(str(daemon.home), starts=False))
        links[-1].call("POST", "/v1/sessions", {"id": "work", "cwd": "/"})
        _run(links[-1])
    place.tell("works in both, in turn")
    measured = {name: Pairs() for name in QUESTIONS}
    for number in rounds(60, seconds=10):
        for name, pairs in measured.items():
            ours, theirs = (_timed(QUESTIONS[name], link) for link in links)
            if number > 0:
                pairs.add(ours, theirs)
    for link, daemon in zip(links, daemons, strict=True):
        link.close()
        daemon.stop()
    ordered = sorted(measured, key=lambda name: -measured[name].ratio_of_medians)
    worst = measured[ordered[0]]
    note = "worst is " + ", then ".join(f"{name} {measured[name].ratio_of_medians:.2f}x" for name in ordered)
    what = f"sessions after {MANY:,} others: start, run, list, show, worst"
    ours, theirs = worst.medians
    against, ratio = f"after {FEW}", worst.ratio_of_medians
    return [Figure("sessions", what, against, "ms", 2, at_most=True, ours=ours, theirs=theirs, ratio=ratio, note=note)]


def _built(place: Place) -> list[str]:
    for name, count in (("sessions-many", MANY), ("sessions-few", FEW)):
        place.tell(f"builds a home with {count:,} sessions of {_JOBS} jobs behind it")
        build(place.root / name, count)
        (place.root / name).chmod(0o700)
    return ["sessions-many", "sessions-few"]


def _timed(ask: Callable[[Link], None], link: Link) -> float:
    began = time.perf_counter()
    ask(link)
    return (time.perf_counter() - began) * 1e3
