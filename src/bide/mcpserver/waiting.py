"""A wait that tells its client that it goes on: some clients give up on a call that says nothing."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import TypeVar

import anyio

from bide.mcpserver.tool import Call
from bide.model.errors import BideError
from bide.model.until import Until
from bide.model.waiting import Mode, Waited

REPORT_SECONDS = 10.0
OFTEN_SECONDS = 0.5

T = TypeVar("T")


async def wait_reporting(
    call: Call, ids: Sequence[str], mode: Mode, until: Until, longest: timedelta, *, often: bool = False
) -> Waited:
    """Wait, and report progress meanwhile; `often` begins at once and goes on every half second."""
    known = await call.own.ids(ids)
    return await reporting(
        call, ids, lambda: call.jobs.wait(known, mode=mode, until=until, timeout=longest), often=often
    )


async def reporting(call: Call, ids: Sequence[str], wait: Callable[[], Awaitable[T]], *, often: bool = False) -> T:
    """What a wait for these comes to, with progress reported meanwhile."""
    outcome: list[T | BideError] = []
    async with anyio.create_task_group() as group:
        group.start_soon(_report, call, ids, often)
        try:
            outcome.append(await wait())
        except BideError as error:
            outcome.append(error)  # raised below: the group would wrap it
        group.cancel_scope.cancel()
    (answer,) = outcome
    if isinstance(answer, BideError):
        raise answer
    return answer


async def _report(call: Call, ids: Sequence[str], often: bool) -> None:  # noqa: FBT001 - a task has no keywords
    began = time.monotonic()
    while True:
        if not often:
            await anyio.sleep(REPORT_SECONDS)
        passed = time.monotonic() - began
        await call.progress(passed, f"waiting for {', '.join(ids[:3])}; {passed:.0f} s so far")
        if often:
            await anyio.sleep(OFTEN_SECONDS)
