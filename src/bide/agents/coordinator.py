"""A batch of tool calls: every chosen id is registered before anything runs, then all calls run at once."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio
from msgspec.structs import replace

from bide.agents import acting, awaiting
from bide.agents.calls import Answer, Call, Response, of_data
from bide.agents.context import Cancellation, Context
from bide.agents.delivery import Delivery, News, delivering
from bide.agents.handles import Handles
from bide.agents.questions import Answering
from bide.agents.registry import Tools
from bide.agents.starting import Starting
from bide.agents.tasks import open_tasks
from bide.agents.tool import Tool
from bide.agents.turnend import Ending, Inquire, Policy, TurnEnd
from bide.api import Jobs
from bide.model import arguments
from bide.model.errors import BadRequest, BideError
from bide.model.fitting import EACH, TOGETHER, largest, size_of
from bide.model.handles import AWAIT, check_handle_id, meant, refusal, stray_refusal
from bide.model.schema import Json
from bide.model.spawning import Lifecycle

_RIDING = 64 * 1024
"""Bytes of results that may ride on an answer."""

Permit = Callable[[Call], Awaitable[bool]]
"""Whether a call may start something; asked for at a spawn and at a call without an action, not for what is done to a handle."""


class Coordinator:
    """The tools of one agent, at work."""

    def __init__(
        self,
        jobs: Jobs,
        tools: Tools,
        handles: Handles,
        starting: Starting,
        delivery: Delivery,
        inquire: Inquire | None,
        answering: Answering,
    ) -> None:
        """See `coordinate`."""
        self._delivery = delivery
        self._inquire = inquire
        self._answering = answering
        self.jobs = jobs
        self.tools = tools
        self.handles = handles
        self._starting = starting
        self._cancellation = Cancellation()

    def interrupt(self) -> None:
        """The user interrupted, or the turn is over: calls that only wait answer with how things stand. No job is ended."""
        self._cancellation.cancel()
        self._cancellation = Cancellation()

    async def batch(self, calls: Sequence[Call]) -> list[Response]:
        """Answer every call, in the order given. An id that clashes rejects all of them before anything runs.

        What is due by then rides on the first answer.
        """
        cancellation = self._cancellation
        await self._delivery.arrived()
        try:
            spawned = [(str(call.arguments["id"]), call.tool) for call in calls if self._spawns(call)]
            await self.handles.reserve(spawned)
        except BideError as error:
            said = f"{refusal(error)}. Nothing of this batch was run."
            return [Response(call.id, call.tool, said, is_error=True) for call in calls]
        answers = await self._answers(calls, cancellation)
        riding = (await self._delivery.due(_RIDING)).text if calls else ""
        most = largest([min(size_of(answer.text), EACH) for answer in answers], TOGETHER)
        texts = [answer.within(most) for answer in answers]
        if riding:
            texts[0] = f"{answers[0].within(min(most, EACH - size_of(riding)))}\n\n{riding}"
        return [
            Response(call.id, call.tool, text, is_error=answer.is_error)
            for call, text, answer in zip(calls, texts, answers, strict=True)
        ]

    async def _answers(self, calls: Sequence[Call], cancellation: Cancellation) -> list[Answer]:
        """All calls at once; of what is in their answers the assistant is told by them."""
        answers = [Answer("") for _ in calls]

        async def one(at: int, call: Call) -> None:
            answers[at] = await self._answer(call, cancellation)

        with self.jobs.outbox.answering(self.handles.owner) as told:
            async with anyio.create_task_group() as group:
                for at, call in enumerate(calls):
                    group.start_soon(one, at, call)
            self.jobs.outbox.told(told)
        return answers

    async def news(self) -> News:
        """For the first message of a turn, or one that interrupts it: what happened without the assistant's being told.

        It counts as told when there is a batch, the turn's end, or more news.
        """
        await self._delivery.arrived()
        return await self._delivery.due()

    def urgent(self) -> AbstractAsyncContextManager[News]:
        """Wait for what cannot wait for the next turn (a handle was lost). Told when the block is left, unless it raises."""
        return self._delivery.urgent()

    async def end_turn(self) -> TurnEnd:
        """The assistant has said its last: do with each active handle as its tool says, and end what only waits."""
        self.interrupt()
        await self._delivery.arrived()
        with self.jobs.outbox.answering(self.handles.owner) as told:
            done = await Ending(self.jobs, self.handles).end(self._policy)
            self.jobs.outbox.told(told)
        return done

    def _policy(self, tool: str) -> Policy:
        found = self.tools.get(tool)
        if found is None:
            return Policy(Lifecycle(), self._inquire)
        return Policy(found.spawn.lifecycle, found.inquire or self._inquire)

    def _spawns(self, call: Call) -> bool:
        """Whether a call spawns a handle; one that cannot be is refused on its own, and registers nothing."""
        tool = self.tools.get(call.tool)
        if tool is None or call.arguments.get("action") != "spawn" or "spawn" not in tool.actions:
            return False
        try:
            check_handle_id(str(call.arguments.get("id", "")))
        except BadRequest:
            return False
        return True

    async def _answer(self, call: Call, cancellation: Cancellation) -> Answer:
        try:
            return await self._act(call, dict(call.arguments), cancellation)
        except BideError as error:
            if self._spawns(call):
                self.handles.failed(str(call.arguments["id"]), refusal(error))
            return Answer(refusal(error), is_error=True)

    async def _act(self, call: Call, given: Json, cancellation: Cancellation) -> Answer:
        context = Context(cancellation, self.handles, answering=self._answering)
        if call.tool == AWAIT and self.tools.stateful:
            return await awaiting.await_(context, given)
        tool = self.tools.get(call.tool)
        if tool is None:
            raise BadRequest(detail=f"there is no tool {call.tool!r}; known are {', '.join(self.tools.names)}")
        given = meant(given, tool.forms)
        action, call = _checked(tool, given), replace(call, arguments=given)
        if action == "spawn":
            return await self._starting.spawn(tool, call, replace(context, handle=given["id"]))
        if action:
            return await self._on_handle(action, given)
        return await self._starting.complete(tool, call, context)

    async def _on_handle(self, action: str, given: Json) -> Answer:
        ref: str = given["id"]
        handle = await self.handles.find(ref)
        await handle.settled.wait()
        if handle.job is None:
            return of_data(await self.handles.row(handle))
        job = await self.jobs.get(handle.job)
        if action == "fetch":
            return of_data(await acting.fetch(self.jobs, job, ref))
        if action == "apply":
            posed = None if job.facts is None else job.facts.question
            if posed is not None and posed.typed_at is None and not self._answering.assistant:
                raise BadRequest(detail=f"Handle `{ref}` waits for the answer of a person; await it")
            return of_data(await acting.apply(self.jobs, job, ref, given["input"]))
        return of_data(await acting.abort(self.jobs, job, ref, self.handles.owner))


def _checked(tool: Tool, given: Json) -> str:
    """The action of a call whose arguments are right. Raises BadRequest."""
    action = given.get("action", "") if tool.spawn.stateful else ""
    if action not in tool.forms:
        raise BadRequest(detail=f"{tool.name} cannot {action}; it can {', '.join(tool.actions)}")
    stray = [key for key in ("id", "input") if key in given and tool.spawn.stateful and not action]
    if stray:
        raise stray_refusal(stray[0], tool.actions)
    wrong = arguments.fault(given, tool.forms[action])
    if wrong is not None:
        raise BadRequest(detail=f"{action}: {wrong.sentence}" if action else wrong.sentence)
    if action == "spawn":
        check_handle_id(given["id"])
    return action


@asynccontextmanager
async def coordinate(
    jobs: Jobs,
    tools: Tools,
    *,
    owner: str = "agent",
    permit: Permit | None = None,
    inquire: Inquire | None = None,
    answering: Answering | None = None,
) -> AsyncGenerator[Coordinator]:
    """Have these tools at work for an agent; at the end its coroutines are aborted, and commands go on as jobs do.

    `permit` is asked before a call starts something; `inquire` asks the assistant, or a cheaper one, at the end of a
    turn about handles whose tool has nobody of its own to ask; `answering` says who answers what coroutines ask.
    """
    handles = Handles(jobs, owner)
    async with delivering(jobs, owner) as delivery, open_tasks(jobs) as tasks:
        starting = Starting(jobs, handles, tasks, permit)
        yield Coordinator(jobs, tools, handles, starting, delivery, inquire, answering or Answering())
