"""`await`, the tool that is always there where a stateful one is: blocks until handles have stopped."""

from __future__ import annotations

import anyio

from bide.agents.calls import Answer, of_data
from bide.agents.context import Context
from bide.agents.handles import Handle, Handles
from bide.agents.providers import await_schema
from bide.model import arguments
from bide.model.errors import BadRequest
from bide.model.handles import NONE_GIVEN, is_met
from bide.model.schema import Json

_SCHEMA = await_schema()


async def await_(context: Context, given: Json) -> Answer:
    """Wait until all of `all` and one of `any` have stopped, time is up, or the turn is over; say how each stands."""
    given = arguments.meant(given, _SCHEMA)
    wrong = arguments.fault(given, _SCHEMA)
    if wrong is not None:
        raise BadRequest(detail=wrong.sentence)
    every, either = given.get("all", []), given.get("any", [])
    if not every and not either:
        raise BadRequest(detail=NONE_GIVEN)
    found = {ref: await context.handles.find(ref) for ref in dict.fromkeys([*every, *either])}
    seconds: int | None = given.get("timeout_secs")
    with anyio.move_on_after(seconds):
        await _met(context, [found[ref] for ref in every], [found[ref] for ref in either])
    return of_data(await _told(context.handles, found, every, either, cancelled=context.cancellation.cancelled))


async def _met(context: Context, every: list[Handle], either: list[Handle]) -> None:
    """Return when the condition holds, or nobody wants to know any more."""
    async with anyio.create_task_group() as group:

        async def cancelled() -> None:
            await context.cancellation.wait()
            group.cancel_scope.cancel()

        group.start_soon(cancelled)
        await context.handles.stopped(every, either)
        group.cancel_scope.cancel()


async def _told(
    handles: Handles, found: dict[str, Handle], every: list[str], either: list[str], *, cancelled: bool
) -> Json:
    states = {ref: await handles.state(handle) for ref, handle in found.items()}
    over = {ref: state == "stopped" for ref, state in states.items()}
    data: Json = {
        "completed": await handles.rows([found[ref] for ref in found if over[ref]]),
        "pending": [{"id": ref, "state": states[ref]} for ref in found if not over[ref]],
    }
    if not is_met([over[ref] for ref in every], [over[ref] for ref in either]):
        data["cancelled" if cancelled else "timed_out"] = True
    return data
