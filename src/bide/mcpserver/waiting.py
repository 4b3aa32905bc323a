"""A wait that tells its client that it goes on: some clients give up on a call that says nothing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta

import anyio

from bide.mcpserver.tool import Call
from bide.model.until import Until
from bide.model.waiting import Mode, Waited

REPORT_SECONDS = 10.0


async def wait_reporting(call: Call, ids: Sequence[str], mode: Mode, until: Until, longest: timedelta) -> Waited:
    """Wait, and report progress meanwhile."""
    began = time.monotonic()
    answer: list[Waited] = []

    async def report(scope: anyio.CancelScope) -> None:
        with scope:
            while True:
                await anyio.sleep(REPORT_SECONDS)
                passed = time.monotonic() - began
                await call.progress(passed, f"waiting for {', '.join(ids[:3])}; {passed:.0f} s so far")

    async with anyio.create_task_group() as group:
        scope = anyio.CancelScope()
        group.start_soon(report, scope)
        try:
            known = await call.own.ids(ids)
            answer.append(await call.jobs.wait(known, mode=mode, until=until, timeout=longest))
        finally:
            scope.cancel()
    return answer[0]
