"""Ports of jobs: what a job listens on, and who holds a port that a service needs."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from bide.keeper import folder, launch, ports
from bide.model.errors import PortInUse
from bide.model.job import Facts, Job
from bide.model.phase import Running
from bide.runtime.core import Core


def may_listen(job: Job) -> bool:
    """Whether any process of it is there."""
    return isinstance(job.phase, Running) or (job.facts is not None and bool(job.facts.alive))


def with_ports(core: Core, job: Job) -> Job:
    """The job with what its processes listen on at this moment."""
    pids = _pids(core, job)
    found = ports.of(pids, pids[0])
    return replace(job, facts=replace(job.facts or Facts(), ports=found))


def _pids(core: Core, job: Job) -> list[int]:
    if not isinstance(job.phase, Running):
        return [] if job.facts is None else [left.pid for left in job.facts.alive]
    path = core.home.job(job.id)
    keeper = launch.holder(path)
    found = ports.tree([job.phase.pid, *([keeper] if keeper else [])])
    if folder.read_live(path).get("taken_over"):
        # What lost its keeper may have been handed to anybody.
        found += [pid for pid in ports.marked(job.id) if pid not in found]
    return found


def check(core: Core, wanted: Iterable[int]) -> None:
    """Refuse ports that somebody listens on. Raises PortInUse, which says who."""
    for port in wanted:
        pid = ports.holder(port)
        if pid is not None:
            raise PortInUse(port=str(port), **_who(core, pid))


def _who(core: Core, pid: int) -> dict[str, str]:
    if not pid:
        return {"holder": "a process of another user", "job": "", "pid": "", "command": "", "cwd": ""}
    command, cwd = ports.described(pid)
    marks = ports.marks(pid)
    live = (
        core.keeping.table.live.get(marks.get(folder.MARKER, "")) if marks.get("BIDE_HOME") == core.home.path else None
    )
    job = marks.get(folder.MARKER, "") if marks.get("BIDE_HOME") == core.home.path else ""
    called = f"job {job}" if job else ""
    if live is not None and live.job.name is not None:
        called += f" ({live.job.name})"
    who = f"{called}, pid {pid}" if called else f"process {pid}"
    return {
        "holder": f"{who}, running {command!r} in {cwd!r}",
        "job": job,
        "pid": str(pid),
        "command": command,
        "cwd": cwd,
    }
