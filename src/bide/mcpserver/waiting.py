"""A wait that tells its client that it goes on: some clients give up on a call that says nothing."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import TypeVar

import anyio
from msgspec.structs import replace

from bide.mcpserver import questions
from bide.mcpserver.tool import Call, InputNeeded
from bide.model.errors import BideError
from bide.model.until import Until
from bide.model.waiting import Mode, Waited

REPORT_SECONDS = 10.0
OFTEN_SECONDS = 0.5

T = TypeVar("T")


async def wait_reporting(
    call: Call,
    ids: Sequence[str],
    mode: Mode,
    until: Until,
    longest: timedelta,
    *,
    often: bool = False,
    asks: bool = False,
    called: Sequence[str] = (),
) -> Waited:
    """Wait, and report progress meanwhile; `often` begins at once and goes on every half second.

    `called` is what the client knows the jobs by, if not by these ids.
    With `asks`, what a job asks is put to the client's user, and where that brings no answer it ends the wait, once; so does
    each prompt that a program shows.
    """
    known = await call.own.ids(ids)

    async def wait() -> Waited:
        if asks:
            return await _asking(call, known, mode, until, longest)
        return await call.jobs.wait(known, mode=mode, until=until, timeout=longest)

    return await reporting(call, called or ids, wait, often=often)


async def _asking(call: Call, ids: Sequence[str], mode: Mode, until: Until, longest: timedelta) -> Waited:
    deadline = time.monotonic() + longest.total_seconds()
    told = call.own.arrivals.asked
    while True:
        left = timedelta(seconds=max(deadline - time.monotonic(), 0))
        wanted = replace(until, question=tuple(told), prompt=call.shown.prompts)
        waited = await call.jobs.wait(ids, mode=mode, until=wanted, timeout=left)
        if waited.met == "prompt":
            call.shown.show_prompts(posed.id for posed in map(questions.of, waited.jobs) if posed is not None)
            return replace(waited, met="input")
        if waited.met != "question":
            return waited
        closed = True
        for posed in [one for id_ in ids for one in await call.jobs.questions.list(job=id_)]:
            if posed.id not in told and posed.typed_at is None:
                told.add(posed.id)
                with anyio.move_on_after(max(deadline - time.monotonic(), 0)):
                    closed = await questions.elicited(call, posed) and closed
        if not closed:
            return waited


async def reporting(call: Call, ids: Sequence[str], wait: Callable[[], Awaitable[T]], *, often: bool = False) -> T:
    """What a wait for these comes to, with progress reported meanwhile."""
    outcome: list[T | BideError | InputNeeded] = []
    async with anyio.create_task_group() as group:
        group.start_soon(_report, call, ids, often)
        try:
            outcome.append(await wait())
        except (BideError, InputNeeded) as error:
            outcome.append(error)  # raised below: the group would wrap it
        group.cancel_scope.cancel()
    (answer,) = outcome
    if isinstance(answer, BideError | InputNeeded):
        raise answer
    return answer


async def _report(call: Call, ids: Sequence[str], often: bool) -> None:  # noqa: FBT001 - a task has no keywords
    began = time.monotonic()
    while True:
        if not often:
            await anyio.sleep(REPORT_SECONDS)
        passed = time.monotonic() - began
        await call.progress(round(passed, 1), f"waiting for {', '.join(ids[:3])}; {passed:.0f} s so far")
        if often:
            await anyio.sleep(OFTEN_SECONDS)
