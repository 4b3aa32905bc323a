"""`await` where handles are: seed 002's `any`, `all` and `timeout_secs`, and the core's fields, in one tool."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import timedelta

from bide.agents.rows import rows
from bide.mcpserver.tool import Answer, Call, Tool
from bide.mcpserver.toolsets import core, runs
from bide.mcpserver.toolsets.handlestate import answer, refuse
from bide.mcpserver.waiting import reporting
from bide.model import handles
from bide.model.errors import BadRequest
from bide.model.handles import state_of
from bide.model.job import Job
from bide.model.phase import Ended
from bide.model.schema import Json, fields, words
from bide.model.waiting import Mode

_OURS = ("any", "all", "timeout_secs")
_CORE = core.AWAIT.schema["properties"]


def tool(*, combinators: bool) -> Tool:
    """`await` as clients see it."""
    return Tool(
        "await",
        f"{handles.AWAIT_DESCRIPTION} Or name `jobs`, to wait for their ends or `until` something holds.",
        fields(
            (),
            **handles.await_fields(),
            **{**_CORE, "jobs": words("ids or names", maxItems=handles.MOST)},
        ),
        await_,
        reads_only=True,
        refuse=refuse,
        wider=True,
        also=handles.one_of(("any", "all", "jobs")) if combinators else {},
    )


async def await_(call: Call, given: Json) -> Answer:
    """Block until the condition holds or time is up, in the words that the call was made in."""
    if not any(given.get(key) for key in ("any", "all", "jobs")):
        raise BadRequest(detail=handles.NONE_GIVEN)
    stray = [key for key in given if key not in (_CORE if "jobs" in given else _OURS)]
    if stray:
        detail = f"{stray[0]!r} does not go with the other fields; give 'any', 'all' and 'timeout_secs', or 'jobs'"
        raise BadRequest(detail=f"{detail} with 'mode', 'until', 'timeout' and 'budget'")
    if "jobs" in given:
        return await runs.await_(call, given)
    return await _await_handles(call, given)


async def _await_handles(call: Call, given: Json) -> Answer:
    every, either = given.get("all", []), given.get("any", [])
    refs = list(dict.fromkeys([*every, *either]))
    ids = dict(zip(refs, await call.own.ids(refs), strict=True))
    asked: float = given.get("timeout_secs", float("inf"))
    deadline = time.monotonic() + min(asked, call.longest)
    groups = (([ids[ref] for ref in every], Mode.ALL), ([ids[ref] for ref in either], Mode.ANY))
    await reporting(call, refs, lambda: _wait(call, groups, deadline))
    found = {id_: await call.jobs.get(id_) for id_ in ids.values()}
    data = await _told(call, {id_: ref for ref, id_ in reversed(ids.items())}, found)
    over = {ref: isinstance(found[id_].phase, Ended) for ref, id_ in ids.items()}
    if not handles.is_met([over[ref] for ref in every], [over[ref] for ref in either]):
        data["timed_out"] = True
        if asked > call.longest:
            data["note"] = "no call may take longer; they go on, and waiting costs nothing: await them again"
    return answer(data)


async def _wait(call: Call, groups: Iterable[tuple[list[str], Mode]], deadline: float) -> None:
    """Both conditions one after the other: what has stopped stays so."""
    for ids, mode in groups:
        if ids:
            left = timedelta(seconds=max(deadline - time.monotonic(), 0))
            await call.jobs.wait(ids, mode=mode, timeout=left)


async def _told(call: Call, names: dict[str, str], found: dict[str, Job]) -> Json:
    """Each handle once, by state."""
    over = [job for job in found.values() if isinstance(job.phase, Ended)]
    left = [job for job in found.values() if not isinstance(job.phase, Ended)]
    return {
        "completed": await rows(call.jobs, [(names[job.id], job) for job in over]),
        "pending": [{"id": names[job.id], "state": state_of(job)} for job in left],
    }
