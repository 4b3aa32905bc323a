"""How the processes of running requests do at this moment: looked at twice, so that what they use now can be told."""

from __future__ import annotations

import anyio

from bide.keeper import vitals
from bide.keeper.vitals import Vitals
from bide.model.llm.programs import Process
from bide.model.phase import Running
from bide.runtime.core import Core, now
from bide.runtime.live import Live

_BETWEEN = 0.1


async def processes(core: Core, owner: str | None) -> tuple[Process, ...]:
    """Those of the requests that run, of an owner or of all, the oldest first."""
    found = [
        (live, live.job.phase, facts.cli)
        for live in core.keeping.table.live.values()
        if (facts := live.job.spec.ask) and isinstance(live.job.phase, Running) and owner in (None, live.job.owner)
    ]
    if not found:
        return ()
    first = [_look(live, phase.pid) for live, phase, _ in found]
    began = anyio.current_time()
    await anyio.sleep(_BETWEEN)
    passed = anyio.current_time() - began
    told: list[Process] = []
    for (live, phase, cli), before in zip(found, first, strict=True):
        after = _look(live, phase.pid)
        told.append(
            Process(
                job=live.job.id,
                cli=cli,
                pid=phase.pid,
                alive=after is not None and not after.zombie,
                zombie=after is not None and after.zombie,
                cpu_percent=_percent(before, after, passed),
                rss_kb=None if after is None else after.rss_bytes // 1024,
                running=now() - phase.started_at,
            )
        )
    return tuple(told)


def _look(live: Live, pid: int) -> Vitals | None:
    """Its pid names its leader only until it is over."""
    return None if live.ended else vitals.look(pid)


def _percent(before: Vitals | None, after: Vitals | None, passed: float) -> float:
    used = 0.0 if before is None or after is None else max(after.cpu_ms - before.cpu_ms, 0.0)
    return round(used / 10 / passed, 1)
