"""How a call of a tool is begun: as a handle that goes on by itself, or to its end within the call."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from bide.agents.calls import Answer, Call, of_data
from bide.agents.context import Context
from bide.agents.handles import Handle, Handles
from bide.agents.races import unless
from bide.agents.rows import row
from bide.agents.running import called
from bide.agents.tasks import Channel, Tasks, as_text
from bide.agents.tool import Run, Tool, request_of
from bide.api import Jobs
from bide.model.errors import BadRequest
from bide.model.handletools import ToolSettings
from bide.model.job import Job
from bide.model.notify import Notify
from bide.model.phase import Ended, Queued, Reason
from bide.model.schema import Json
from bide.model.spawning import Notifications

log = logging.getLogger(__name__)


class Starting:
    """Begins calls for one agent."""

    def __init__(
        self, jobs: Jobs, handles: Handles, tasks: Tasks, permit: Callable[[Call], Awaitable[bool]] | None
    ) -> None:
        """Where nobody is asked for permission, everything is permitted."""
        self._jobs = jobs
        self._handles = handles
        self._tasks = tasks
        self._permit = permit

    async def spawn(self, tool: Tool, call: Call, context: Context) -> Answer:
        """Begin it, and answer at once. Whatever goes wrong, the placeholder learns of it: no `await` waits for ever."""
        given = call.given
        ref: str = given.pop("id")
        del given["action"]
        handle = self._handles.reserved(ref)
        message = "it was not started"
        try:
            await self._permit_spawn(call, handle)
            job = await self._begin(tool, given, ref, context)
            handle.started(job.id)
        except Exception as error:
            message = str(error)
            raise
        finally:
            handle.failed(message)
        if isinstance(job.phase, Ended) and job.phase.end.reason is Reason.SPAWN_FAILED:
            return of_data(await row(self._jobs, job, ref))
        return of_data({"id": ref, "state": "pending" if isinstance(job.phase, Queued) else "running"})

    async def _permit_spawn(self, call: Call, handle: Handle) -> None:
        """Ask for permission. Raises BadRequest where there is none, or the handle was withdrawn meanwhile."""
        if self._permit is None:
            return
        handle.hold()
        permitted = await unless(handle.settled.wait, lambda: self._permitted(call))
        if handle.settled.is_set():
            raise BadRequest(detail=handle.error)
        handle.held = False
        _check(call, permitted=permitted)

    async def _permit_call(self, call: Call, context: Context) -> None:
        if self._permit is None:
            return
        permitted = await unless(context.cancellation.wait, lambda: self._permitted(call))
        if context.cancellation.cancelled:
            raise BadRequest(detail="this call was interrupted before it was permitted, so nothing was started")
        _check(call, permitted=permitted)

    async def _permitted(self, call: Call) -> bool:
        assert self._permit is not None  # noqa: S101 - asked only where somebody is
        try:
            return await self._permit(call)
        except Exception as error:
            log.exception("permission for a call of %s could not be asked", call.tool)
            detail = f"{call.tool} was not started: its permission could not be asked ({error or type(error).__name__})"
            raise BadRequest(detail=detail) from error

    async def _begin(self, tool: Tool, given: Json, ref: str | None, context: Context) -> Job:
        request = replace(
            request_of(tool, given),
            name=ref,
            label=tool.name,
            owner=self._handles.owner,
            notify=_notify(tool.spawn.notifications),
            background=True,
        )
        work = tool.work
        if isinstance(work, ToolSettings):
            return (await self._jobs.run(request)).job
        done = _with_channel(work, context, given)
        return (await self._tasks.run(done, replace(request, stdin=tool.reads_input))).job

    async def complete(self, tool: Tool, call: Call, context: Context) -> Answer:
        """Run it to its end and leave no handle; if the turn is over first, a command goes on as a job."""
        await self._permit_call(call, context)
        given = call.given
        if not isinstance(tool.work, ToolSettings):
            return await _called(tool.work, context, given)
        job = await self._begin(tool, given, None, context)
        await unless(context.cancellation.wait, lambda: self._jobs.wait([job.id]))
        job = await self._jobs.get(job.id)
        data = await row(self._jobs, job, job.id)
        if not isinstance(job.phase, Ended):
            following = json.dumps({"all": [job.id]})
            return of_data({**data, "note": f"this call was interrupted; the command goes on: await {following}"})
        error: Json | None = data.get("error")
        parts = [data["result"], data.get("content", ""), *(error["trace"] if error else [data.get("stderr", "")])]
        said = "\n".join(part.rstrip("\n") for part in parts if part) or "(no output)"
        return Answer(said, is_error=error is not None)


def _check(call: Call, *, permitted: bool | None) -> None:
    if not permitted:
        raise BadRequest(detail=f"{call.tool} was not permitted to start; go on without it")


def _notify(said: Notifications) -> Notify:
    """What its owner is told of it, in bide's own words."""
    return Notify(
        on_success=said.on_success,
        on_failure=said.on_failure,
        on_waiting=said.on_waiting,
        on_content=said.on_content,
    )


def _with_channel(run: Run, context: Context, given: Json) -> Callable[[Channel], Awaitable[object]]:
    async def work(channel: Channel) -> object:
        return await called(run, replace(context, channel=channel), given)

    return work


async def _called(run: Run, context: Context, given: Json) -> Answer:
    """A coroutine within the call; what it raises is its error."""
    said: list[object] = []

    async def call() -> None:
        said.append(await called(run, context, given))

    try:
        await unless(context.cancellation.wait, call)
    except BadRequest:
        raise
    except Exception as error:  # noqa: BLE001 - a tool that fails is an answer, not an end of the agent
        return Answer(str(error) or type(error).__name__, is_error=True)
    return Answer(as_text(said[0])) if said else Answer("this call was interrupted", is_error=True)
