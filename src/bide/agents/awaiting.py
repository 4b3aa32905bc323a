"""`await`, the tool that is always there where a stateful one is: blocks until handles have stopped.

No deadlock is possible: it never blocks on the assistant that called it. It returns as soon as a handle asks the assistant
something new, and whenever all that have not stopped wait for the assistant's answer.
"""

from __future__ import annotations

import anyio

from bide.agents.asking import Asking
from bide.agents.calls import Answer, Call, of_data, read
from bide.agents.context import Context
from bide.agents.handles import Handle, Handles
from bide.agents.providers import await_schema
from bide.agents.registry import Tools
from bide.agents.rows import pending_row
from bide.model import arguments
from bide.model.errors import BadRequest
from bide.model.handles import NONE_GIVEN, is_met
from bide.model.job import Job
from bide.model.question import Posed
from bide.model.schema import Json

_SCHEMA = await_schema()


def named(call: Call) -> set[str]:
    """Return the ids that a call of `await` names, as far as they can be read."""
    try:
        given = read(call).given
    except BadRequest:
        return set()
    lists = [given[key] for key in ("all", "any") if isinstance(given.get(key), list)]
    return {ref for refs in lists for ref in refs if isinstance(ref, str)}


async def await_(context: Context, given: Json, tools: Tools, *, patient: bool = False) -> Answer:
    """Wait until all of `all` and one of `any` have stopped, time is up, or the turn is over; say how each stands.

    It ends early where it would wait for the assistant itself. With `patient`, an id may be spawned a moment later.
    """
    given = arguments.meant(given, _SCHEMA)
    wrong = arguments.fault(given, _SCHEMA)
    if wrong is not None:
        raise BadRequest(detail=wrong.sentence, field=wrong.field)
    every, either = given.get("all", []), given.get("any", [])
    if not every and not either:
        raise BadRequest(detail=NONE_GIVEN)
    refs = list(dict.fromkeys([*every, *either]))
    if patient:
        await context.handles.spawned(refs)
    found = {ref: await context.handles.find(ref) for ref in refs}
    seconds: int | None = given.get("timeout_secs")
    with anyio.move_on_after(seconds) as waiting:
        await _met(context, tools, [found[ref] for ref in every], [found[ref] for ref in either])
    states = {ref: await context.handles.state(handle) for ref, handle in found.items()}
    over = {ref: state == "stopped" for ref, state in states.items()}
    data: Json = {
        "completed": await _completed(context.handles, [found[ref] for ref in refs if over[ref]]),
        "pending": [await _pending(context.handles, found[ref], tools) for ref in refs if not over[ref]],
    }
    if not is_met([over[ref] for ref in every], [over[ref] for ref in either]):
        if context.cancellation.cancelled:
            data["cancelled"] = True
        elif waiting.cancelled_caught:
            data["timed_out"] = True
    return of_data(data)


async def _met(context: Context, tools: Tools, every: list[Handle], either: list[Handle]) -> None:
    """Return when the condition holds, when nobody wants to know any more, or when the assistant is asked."""
    async with anyio.create_task_group() as group:

        async def cancelled() -> None:
            await context.cancellation.wait()
            group.cancel_scope.cancel()

        async def asked() -> None:
            await _asked(context, tools, {handle.id: handle for handle in [*every, *either]})
            group.cancel_scope.cancel()

        group.start_soon(cancelled)
        group.start_soon(asked)
        await context.handles.stopped(every, either)
        group.cancel_scope.cancel()


async def _asked(context: Context, tools: Tools, watched: dict[str, Handle]) -> None:
    """Return when the assistant is asked: what a job puts if it may answer that, and a prompt that it can type into."""
    handles = context.handles

    def is_for_it(job: Job, posed: Posed) -> bool:
        if posed.question.for_people or tools.applier(job.label) is None:
            return False
        return context.answering.assistant if posed.typed_at is None else job.spec.stdin or job.spec.pty

    asking = Asking(handles.jobs, handles.asked, is_for_it, others=handles.others)
    await asking.asked({ref: handle.begun for ref, handle in watched.items()}, again=True)


async def _completed(handles: Handles, found: list[Handle]) -> list[Json]:
    for handle in found:
        handle.told = True
    return await handles.rows(found)


async def _pending(handles: Handles, handle: Handle, tools: Tools) -> Json:
    """Return a handle that has not stopped; one that asks, with the call that answers it."""
    job = await handles.job(handle)
    if job is None:
        return {"id": handle.id, "state": await handles.state(handle)}
    return pending_row(job, handle.id, tools.applier(handle.tool))
