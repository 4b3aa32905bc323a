"""Tasks on the wire: those of 2025-11-25, which a call asks for, and the extension of 2026-07-28, where we decide."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from bide.api import Jobs
from bide.mcpserver import changes, tasks
from bide.mcpserver.protocol import forms, results
from bide.mcpserver.protocol.forms import EXTENSION, RELATED, Era
from bide.mcpserver.protocol.subscriptions import Subscriptions
from bide.mcpserver.tasks import Tasks, status_of
from bide.mcpserver.tool import Call, Tool, fitted
from bide.model.errors import BideError
from bide.model.job import Job
from bide.model.phase import Ended
from bide.model.schema import Json
from bide.model.until import Until


class TaskMethods:
    """Answers what clients ask of tasks."""

    def __init__(
        self,
        jobs: Jobs,
        tasks: Tasks,
        call: Callable[[Any], Call],
    ) -> None:
        """`call` makes a call of what a client asks."""
        self._jobs = jobs
        self._tasks = tasks
        self._call = call

    def serve(self, server: Server[Any], subscriptions: Subscriptions) -> None:
        """Have the server answer them."""
        self._subscriptions = subscriptions
        server.extensions[EXTENSION] = {}
        server.middleware.append(self._created)
        both = (Era.FIRST, Era.EXTENSION)
        self._add(server, "tasks/get", both, self._get)
        self._add(server, "tasks/cancel", both, self._cancel)
        self._add(server, "tasks/update", (Era.EXTENSION,), self._update)
        self._add(server, "tasks/result", (Era.FIRST,), self._result)
        self._add(server, "tasks/list", (Era.FIRST,), self._list)

    def _add(
        self,
        server: Server[Any],
        method: str,
        eras: tuple[Era, ...],
        act: Callable[[Any, Era, Mapping[str, Any]], Awaitable[Json]],
    ) -> None:
        async def answer(ctx: Any, _: types.RequestParams) -> Json:
            era = forms.era(ctx)
            if era is None or era not in eras:
                raise MCPError(code=types.METHOD_NOT_FOUND, message="Method not found", data=method)
            if era is Era.EXTENSION and not forms.declared(ctx):
                raise forms.undeclared(method)
            given = forms.given(ctx)
            forms.check_header(ctx)
            try:
                return await self._telling(self._call(ctx), lambda: act(ctx, era, given))
            except BideError as error:
                raise MCPError(code=types.INVALID_PARAMS, message=str(error)) from error

        server.add_request_handler(method, types.RequestParams, answer)

    async def _telling(self, call: Call, act: Callable[[], Awaitable[Json]]) -> Json:
        """What is answered here tells the caller of its own jobs, and nobody of another's."""
        with self._jobs.outbox.answering(call.caller.owner) as told:
            answer = await act()
            self._jobs.outbox.told(told)
        return answer

    # A call that may become a task

    async def taken(self, ctx: Any, tool: Tool, call: Call, given: Json) -> Any:
        """The task that a call becomes, or its result if that is there at once; `None` if the call is to be answered.

        Raises BideError as the tool does.
        """
        era = forms.era(ctx)
        asked = forms.asked(ctx)
        if asked and tool.task is None:
            raise MCPError(
                code=types.METHOD_NOT_FOUND, message=f"{tool.name!r} is answered at once; call it without 'task'"
            )
        ours = era is Era.EXTENSION and forms.declared(ctx) and not tool.timed(given)
        if tool.task is None or not (asked or ours):
            if tool.needs_task and era is Era.EXTENSION:
                raise forms.undeclared(tool.name)
            return None
        job = await tool.task(call, given)
        if job is not None and not asked:
            job = await self._tasks.settled(job)
            if isinstance(job.phase, Ended):
                return await self._result_of(call, job)
        if job is None and asked:
            raise MCPError(
                code=types.INVALID_PARAMS,
                message="this call is answered at once; call it without 'task', or in the foreground",
            )
        return None if job is None else self._task(ctx, era, job)

    def _task(self, ctx: Any, era: Era | None, job: Job) -> Any:
        if era is Era.EXTENSION:
            return {"resultType": "task", **forms.of_extension(job, asks=forms.asks(ctx))}
        return types.CallToolResult(content=[], _meta={RELATED: {"taskId": job.id}})

    async def _created(self, ctx: Any, call_next: Any) -> Any:
        """What a call that asked for a task is answered in 2025-11-25: not a result of the tool, so not the handler's to say."""
        result = await call_next(ctx)
        if ctx.method != "tools/call" or not forms.asked(ctx):
            return result
        meta: Json = result.get("_meta") or {}
        related: Json | None = meta.get(RELATED)
        if related is None:
            words = "; ".join(str(block.get("text")) for block in result.get("content", ()))
            raise MCPError(code=types.INVALID_PARAMS, message=words)
        call = self._call(ctx)
        job = await call.own.job(related["taskId"])
        await self._announce(ctx, job)
        return {"task": forms.of_first(job, asks=forms.asks(ctx))}

    async def _announce(self, ctx: Any, job: Job) -> None:
        """Tell the connection that made a task whenever its status is another."""
        call, asks = self._call(ctx), forms.asks(ctx)

        async def tell() -> None:
            now = forms.of_first(await call.own.job(job.id), asks=asks)
            await ctx.session.send_notification(
                types.TaskStatusNotification.model_validate({"params": now}, by_name=False)
            )

        self._subscriptions.hold(ctx, f"task {job.id}", await changes.job_watch(self._jobs, job), tell)

    # What can be asked of a task

    async def _get(self, ctx: Any, era: Era, given: Mapping[str, Any]) -> Json:
        call = self._call(ctx)
        job = await tasks.known(call.own, given.get("taskId"))
        if era is Era.FIRST:
            return forms.of_first(job, asks=forms.asks(ctx))
        return await self.detailed(ctx, call, job)

    async def detailed(self, ctx: Any, call: Call, job: Job) -> Json:
        """A task of the extension, with its result, its error, or what it asks."""
        asks = forms.asks(ctx)
        body = forms.of_extension(job, asks=asks)
        match status_of(job, asks=asks):
            case tasks.Status.INPUT_REQUIRED:
                body["inputRequests"] = {
                    one.key: forms.request(one.prompt, one.schema) for one in self._tasks.questions(job)
                }
            case tasks.Status.WORKING | tasks.Status.CANCELLED:
                pass
            case _:
                try:
                    result = await self._result_of(call, job)
                    body |= {"status": "completed", "result": forms.dumped(result)}
                except BideError as error:
                    body |= {"status": "failed", "error": {"code": types.INTERNAL_ERROR, "message": str(error)}}
        return body

    async def _update(self, ctx: Any, _: Era, given: Mapping[str, Any]) -> Json:
        call = self._call(ctx)
        job = await tasks.known(call.own, given.get("taskId"))
        responses: object = given.get("inputResponses")
        if not isinstance(responses, dict):
            raise MCPError(code=types.INVALID_PARAMS, message="'inputResponses' must be an object")
        await self._tasks.answer(call, job, cast("Json", responses))
        return {}

    async def _cancel(self, ctx: Any, era: Era, given: Mapping[str, Any]) -> Json:
        own = self._call(ctx).own
        job = await tasks.known(own, given.get("taskId"))
        if era is Era.FIRST and isinstance(job.phase, Ended):
            status = status_of(job, asks=False)
            raise MCPError(code=types.INVALID_PARAMS, message=f"task {job.id} is {status} already; nothing to cancel")
        ended = await self._tasks.cancel(own, job)
        return forms.of_first(ended, asks=False) if era is Era.FIRST else {}

    async def _result(self, ctx: Any, _: Era, given: Mapping[str, Any]) -> Json:
        """Waits for the end, asks the client what the job asks, and answers what the call would have been answered."""
        call = self._call(ctx)
        job = await tasks.known(call.own, given.get("taskId"))
        while not isinstance(job.phase, Ended):
            until = Until(input=True) if forms.asks(ctx) else Until()
            job = (await self._jobs.wait([job.id], until=until)).jobs[0]
            for question in self._tasks.questions(job):
                related: Json = {RELATED: {"taskId": job.id}}
                said = await forms.elicit(ctx, question.prompt, question.schema, related)
                await self._tasks.answer(call, job, {question.key: said})
                job = (await self._jobs.wait([job.id], until=Until(input=False))).jobs[0]
        try:
            result = await self._result_of(call, job)
        except BideError as error:
            raise MCPError(code=types.INTERNAL_ERROR, message=str(error)) from error
        return {**forms.dumped(result), "_meta": {RELATED: {"taskId": job.id}}}

    async def _result_of(self, call: Call, job: Job) -> types.CallToolResult:
        answer = await self._tasks.result(call, job)
        return results.result(fitted(answer, call.caller.display, ours=True))

    async def _list(self, ctx: Any, _: Era, given: Mapping[str, Any]) -> Json:
        found, following = await self._tasks.page(self._call(ctx).own, given.get("cursor"))
        return {
            "tasks": [forms.of_first(job, asks=forms.asks(ctx)) for job in found],
            **({"nextCursor": following} if following else {}),
        }

    # For those who listen

    async def note(self, ctx: Any, task: str) -> Any:
        """A watch of a task and what is told of it; `None` if this client takes none, or has no such task."""
        if not forms.declared(ctx):
            return None
        call = self._call(ctx)
        try:
            job = await tasks.known(call.own, task)
        except BideError:
            return None

        async def now() -> Json:
            return await self.detailed(ctx, call, await call.own.job(job.id))

        async def told() -> tuple[str, Json]:
            return "notifications/tasks", await self._telling(call, now)

        watched = await changes.job_watch(self._jobs, job)

        async def watch(tell: changes.Tell) -> None:
            # How it is by now: who listens again may have missed what happened meanwhile.
            await tell()
            await watched(tell)

        return watch, told
