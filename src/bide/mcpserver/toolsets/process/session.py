"""`agent.session`: who the agent is here, where it may work and what it may use. `PathOutOfScope` sends it here."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime

from bide.api import Filter
from bide.mcpserver.tool import Answer, Call
from bide.mcpserver.toolsets.process.manage import owned
from bide.mcpserver.toolsets.process.words import RUNNING, state_of, told, usage_data, usage_of
from bide.model.phase import Usage
from bide.model.schema import Json
from bide.settings import ProcessSettings


async def session(call: Call, allowed: ProcessSettings, invocations: int) -> Answer:
    """The session as it is now; what it used is the sum over the processes it started."""
    began = call.caller.connected_at
    jobs = await owned(call, Filter(since=began))
    workspace = os.path.realpath(call.caller.cwd)
    data: Json = {
        "session_id": call.caller.connection or call.caller.owner,
        "agent": call.caller.owner,
        "connected_at": began.isoformat(),
        "duration_seconds": max(0, int((datetime.now(UTC) - began).total_seconds())),
        "invocation_count": invocations,
        "resource_usage": usage_data(_sum([usage_of(job) for job in jobs])),
        "workspace_path": workspace,
        "accessible_directories": [workspace],
        "allocation": {
            "cpu_limit": allowed.cpus,
            "memory_limit": allowed.memory_bytes,
            "max_pids": allowed.pids,
        },
        "processes": {"started": len(jobs), "running": sum(state_of(job) == RUNNING for job in jobs)},
        "state_quota": None,
    }
    return Answer(told(data, call.mark), data)


def _sum(usages: list[Usage]) -> Usage:
    """Add up what is known; a figure that is known of no process is unknown."""
    return Usage(
        cpu_ms=_of([one.cpu_ms for one in usages], sum),
        memory_peak_bytes=_of([one.memory_peak_bytes for one in usages], max),
        read_bytes=_of([one.read_bytes for one in usages], sum),
        written_bytes=_of([one.written_bytes for one in usages], sum),
    )


def _of(figures: list[int | None], total: Callable[[list[int]], int]) -> int | None:
    known = [figure for figure in figures if figure is not None]
    return total(known) if known else None if figures else 0
