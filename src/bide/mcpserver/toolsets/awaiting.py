"""`await` where handles are: seed 002's `any`, `all` and `timeout_secs`; beside the core, in one tool with the core's fields."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

import anyio
from msgspec.structs import replace

from bide.agents.asking import Asking, Begun
from bide.agents.rows import pending_row, rows
from bide.mcpserver import questions
from bide.mcpserver.tool import Answer, Call, InputNeeded, Tool
from bide.mcpserver.toolsets import core, runs
from bide.mcpserver.toolsets.handlestate import answer, refuse, room_of
from bide.mcpserver.waiting import reporting
from bide.model import handles
from bide.model.errors import BadRequest, BideError
from bide.model.job import Job, JobId
from bide.model.phase import Ended
from bide.model.question import Posed
from bide.model.schema import Json, budget, fields, words
from bide.model.waiting import Mode

_OURS = ("any", "all", "timeout_secs", "budget")
_CORE = core.AWAIT.schema["properties"]
_AGAIN_SECONDS = 0.25

Groups = Iterable[tuple[list[JobId], Mode]]
"""The jobs of a condition: all of each group, or one of it."""


class Await:
    """The tool that waits for handles."""

    def __init__(self, appliers: Mapping[str, bool]) -> None:
        """Beside these tools; each with whether it can apply."""
        self._appliers = appliers

    def tool(self, *, combinators: bool) -> Tool:
        """`await` as clients see it."""
        alone = Tool(
            "await",
            handles.AWAIT_DESCRIPTION,
            fields((), **handles.await_fields(), budget=budget()),
            self._await_handles,
            reads_only=True,
            refuse=refuse,
            also=handles.one_of(("any", "all")) if combinators else {},
        )
        wider = Tool(
            "await",
            f"{handles.AWAIT_DESCRIPTION} Or name `jobs`, to wait for their ends or `until` something holds.",
            fields((), **handles.await_fields(), **{**_CORE, "jobs": words("ids or names")}),
            self._await_either,
            reads_only=True,
            refuse=refuse,
            also=handles.one_of(("any", "all", "jobs")) if combinators else {},
        )
        return replace(alone, wider=wider)

    async def _await_either(self, call: Call, given: Json) -> Answer:
        """Block until the condition holds or time is up, in the words that the call was made in."""
        stray = [key for key in given if key not in (_CORE if "jobs" in given else _OURS)]
        if stray:
            detail = f"{stray[0]!r} does not go with the other fields; give 'any', 'all' and 'timeout_secs', or 'jobs'"
            raise BadRequest(detail=f"{detail} with 'mode', 'until', 'timeout' and 'budget'")
        if "jobs" in given:
            if not given["jobs"]:
                raise BadRequest(detail=handles.NONE_GIVEN)
            return await runs.await_(call, given)
        return await self._await_handles(call, given)

    async def _await_handles(self, call: Call, given: Json) -> Answer:
        """Block until all of `all` and one of `any` have stopped, one asks something new, or time is up."""
        every, either = given.get("all", []), given.get("any", [])
        refs = list(dict.fromkeys([*every, *either]))
        if not refs:
            raise BadRequest(detail=handles.NONE_GIVEN)
        ids = dict(zip(refs, await _ids(call, refs), strict=True))
        asked: float = given.get("timeout_secs", float("inf"))
        seconds = min(asked, call.longest)
        groups = (([ids[ref] for ref in every], Mode.ALL), ([ids[ref] for ref in either], Mode.ANY))
        began = time.monotonic()
        await reporting(call, refs, lambda: until_met(call, groups, seconds))
        found = {id_: await call.jobs.get(id_) for id_ in ids.values()}
        data = await self._told(
            call, {id_: ref for ref, id_ in reversed(ids.items())}, found, room_of(call, given, len(ids))
        )
        over = {ref: isinstance(found[id_].phase, Ended) for ref, id_ in ids.items()}
        if not handles.is_met([over[ref] for ref in every], [over[ref] for ref in either]):
            if time.monotonic() - began >= seconds:
                data["timed_out"] = True
            if asked > call.longest and not any("next" in row for row in data["pending"]):
                data["note"] = "no call may take longer; they go on, and waiting costs nothing: await them again"
        return answer(data)

    async def _told(self, call: Call, names: Mapping[JobId, str], found: Mapping[JobId, Job], room: int) -> Json:
        """Return each handle once, by state."""
        over = [job for job in found.values() if isinstance(job.phase, Ended)]
        left = [job for job in found.values() if not isinstance(job.phase, Ended)]
        call.own.arrivals.told.update(job.id for job in over)
        return {
            "completed": await rows(call.jobs, [(names[job.id], job) for job in over], room),
            "pending": [pending_row(job, names[job.id], applier(self._appliers, job)) for job in left],
        }


def applier(appliers: Mapping[str, bool], job: Job) -> str | None:
    """Return the tool by which the client applies input to a job: the one that spawned it, or another that can."""
    if appliers.get(job.label or ""):
        return job.label
    return next((name for name, applies in appliers.items() if applies), None)


async def _ids(call: Call, refs: list[str]) -> list[JobId]:
    """Return the jobs of these handles. An id whose result was told may be spawned again by a call that is on its way."""
    arrivals = call.own.arrivals
    ids = await call.own.ids(refs)
    with anyio.move_on_after(_AGAIN_SECONDS):
        while any(id_ in arrivals.told for id_ in ids):
            await arrivals.next().wait()
            ids = await call.own.ids(refs)
    return [JobId(id_) for id_ in ids]


async def until_met(call: Call, groups: Groups, seconds: float) -> None:
    """Wait until the condition holds, time is up, or a job asks what the client's user does not answer.

    The user of a client that can be asked is asked first; what that does not close is for the model, once.
    """
    watched: dict[str, Begun] = {id_: _begun(id_) for ids, _ in groups for id_ in ids}
    asking = Asking(call.jobs, call.own.arrivals.asked, _is_for_client)
    failed: list[BideError | InputNeeded] = []
    with anyio.move_on_after(seconds):
        async with anyio.create_task_group() as group:

            async def asked() -> None:
                try:
                    closed = True
                    while closed:
                        await asking.asked(watched, again=False)
                        for posed in asking.new:
                            closed = posed.typed_at is None and await questions.elicited(call, posed) and closed
                except (BideError, InputNeeded) as error:
                    failed.append(error)  # raised below: the group would wrap it
                group.cancel_scope.cancel()

            group.start_soon(asked)
            try:
                await _stopped(call, groups)
            except BideError as error:
                failed.append(error)
            group.cancel_scope.cancel()
    if failed:
        raise failed[0]


async def _stopped(call: Call, groups: Groups) -> None:
    """Wait for both conditions one after the other: what has stopped stays so."""
    for ids, mode in groups:
        if ids:
            await call.jobs.wait(ids, mode=mode)


def _begun(id_: JobId) -> Begun:
    async def begun() -> JobId:
        return id_

    return begun


def _is_for_client(job: Job, posed: Posed) -> bool:
    """Anything a job asks is to be told once: to the client's user, or to the model, which may tell its user."""
    return posed.typed_at is None or job.spec.stdin or job.spec.pty
