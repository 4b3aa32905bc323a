"""A batch of tool calls: every chosen id is registered before anything runs, then all calls run at once."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio
from msgspec.structs import replace

from bide.agents import acting, awaiting
from bide.agents.calls import Answer, Call, Made, Response, of_data, read
from bide.agents.context import Cancellation, Context
from bide.agents.delivery import Delivery, News, delivering
from bide.agents.following import Following
from bide.agents.handles import Handle, Handles
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
from bide.model.phase import Ended
from bide.model.schema import Json
from bide.model.spawning import Lifecycle

log = logging.getLogger(__name__)

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
        self._early: dict[str, Made] = {}
        """Calls that were registered and not answered yet, by their ids."""

    def interrupt(self) -> None:
        """The user interrupted: calls that only wait answer with how things stand. No job is ended.

        What waits for permission never starts.
        """
        self._cancel("it was interrupted")
        self.handles.withdraw("it was interrupted before it was permitted, so it was not started")

    def _cancel(self, why: str) -> None:
        """End the calls that only wait, and forget those that were registered and not made."""
        self._cancellation.cancel()
        self._cancellation = Cancellation()
        for made in [one for one in self._early.values() if not one.begun]:
            spawned = self._handle_of(made.call)
            if spawned is not None:
                self.handles.reserved(spawned.id).failed(f"{why} before its call was made, so it was not started")
            made.finish(Answer(f"{made.call.tool}: {why} before this call was made", is_error=True))

    async def batch(self, calls: Sequence[Call]) -> list[Response]:
        """Answer every call, in the order given. An id that clashes rejects all of them before anything runs.

        What is due by then rides on the first answer.
        """
        cancellation = self._cancellation
        await self._delivery.arrived()
        made = await self._registered(calls)
        return await self._responses(calls, lambda at: self._made(made[at], cancellation))

    async def register(self, calls: Sequence[Call]) -> None:
        """Register the ids that the calls of one reply spawn, for a framework that then makes each with `call`.

        An id that clashes rejects all of them: nothing of the reply runs, and each call is answered with the reason.
        """
        made = {one.call.id: one for one in await self._registered(calls)}
        self._early = {id_: one for id_, one in self._early.items() if not one.begun} | made

    async def call(self, call: Call) -> Response:
        """Answer one call of a reply, for frameworks that make calls one at a time, in any order or at once.

        An `await` starts what it names of the registered calls. Where nothing was registered, it gives an id that it does
        not know a second to be spawned.
        """
        cancellation = self._cancellation
        await self._delivery.arrived()
        early = self._early.pop(call.id, None)
        made = early or Made(call)
        if early is None and (spawned := self._handle_of(call)) is not None:
            try:
                await self.handles.reserve([spawned])
            except BideError as error:
                made.finish(Answer(refusal(error), is_error=True))
        (response,) = await self._responses([call], lambda _: self._made(made, cancellation, patient=True))
        return response

    def follow(self, ref: str) -> Following:
        """Iterate over what a handle writes and how its state changes, until it has stopped, for the program's own use."""
        return Following(self.handles, ref)

    async def _registered(self, calls: Sequence[Call]) -> list[Made]:
        """Reserve the ids that calls spawn; where one clashes, answer all of them with that."""
        made = [Made(call) for call in calls]
        try:
            await self.handles.reserve([one for call in calls if (one := self._handle_of(call)) is not None])
        except BideError as error:
            for one in made:
                one.finish(Answer(f"{refusal(error)}. Nothing of this batch was run.", is_error=True))
        return made

    async def _responses(self, calls: Sequence[Call], answer: Callable[[int], Awaitable[Answer]]) -> list[Response]:
        """Answer all calls at once, within what a batch may have; the assistant is told by this of what is in the answers."""
        answers = [Answer("") for _ in calls]

        async def one(at: int) -> None:
            answers[at] = await answer(at)

        with self.jobs.outbox.answering(self.handles.owner) as told:
            async with anyio.create_task_group() as group:
                for at in range(len(calls)):
                    group.start_soon(one, at)
            self.jobs.outbox.told(told)
        riding = (await self._delivery.due(_RIDING)).text if calls else ""
        most = largest([min(size_of(answer.text), EACH) for answer in answers], TOGETHER)
        texts = [answer.within(most) for answer in answers]
        if riding:
            texts[0] = f"{answers[0].within(min(most, EACH - size_of(riding)))}\n\n{riding}"
        return [
            Response(call.id, call.tool, text, is_error=answer.is_error)
            for call, text, answer in zip(calls, texts, answers, strict=True)
        ]

    async def _made(self, made: Made, cancellation: Cancellation, *, patient: bool = False) -> Answer:
        """Make a call, unless an `await` made it before; return its answer."""
        if not made.begun:
            made.begun = True
            if patient and made.call.tool == AWAIT and self.tools.stateful:
                await self._spawn_awaited(made.call, cancellation)
            made.finish(await self._answer(made.call, cancellation, patient=patient))
        return await made.answer()

    async def _spawn_awaited(self, call: Call, cancellation: Cancellation) -> None:
        """Start what an `await` names of the registered calls: the framework may make those only when it was answered."""
        named = awaiting.named(call)
        async with anyio.create_task_group() as group:
            for one in self._early.values():
                if not one.begun and (handle := self._handle_of(one.call)) is not None and handle.id in named:
                    group.start_soon(self._made, one, cancellation)

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
        self._cancel("the turn ended")
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

    def _handle_of(self, call: Call) -> Handle | None:
        """Return the placeholder of a call that spawns; a call that cannot be made is refused on its own, and has none."""
        tool = self.tools.get(call.tool)
        try:
            given = read(call).given
            if tool is None or given.get("action") != "spawn" or "spawn" not in tool.actions:
                return None
            return Handle(check_handle_id(str(given.get("id", ""))), call.tool, call.id)
        except BadRequest:
            return None

    async def _answer(self, call: Call, cancellation: Cancellation, *, patient: bool) -> Answer:
        try:
            return await self._act(read(call), cancellation, patient=patient)
        except BideError as error:
            sentence = refusal(error)
        except Exception as error:  # one call that fails is an answer, and leaves the others of its batch alone
            log.exception("a call of %s failed", call.tool)
            sentence = f"{call.tool} failed: {error or type(error).__name__}"
        spawned = self._handle_of(call)
        if spawned is not None:
            self.handles.reserved(spawned.id).failed(sentence)
        return Answer(sentence, is_error=True)

    async def _act(self, call: Call, cancellation: Cancellation, *, patient: bool) -> Answer:
        given = call.given
        context = Context(cancellation, self.handles, answering=self._answering)
        if call.tool == AWAIT and self.tools.stateful:
            return await awaiting.await_(context, given, self.tools, patient=patient)
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
        await handle.known.wait()
        if handle.held and action == "abort":
            handle.failed("it was aborted before it was permitted, so it was not started")
        if not handle.held:
            await handle.settled.wait()
        if handle.job is None:
            return await self._without_job(action, handle)
        job = await self.jobs.get(handle.job)
        if action == "fetch":
            handle.told = isinstance(job.phase, Ended)
            return of_data(await acting.fetch(self.jobs, job, ref))
        if action == "apply":
            posed = None if job.facts is None else job.facts.question
            if posed is not None and posed.typed_at is None and not self._answering.assistant:
                raise BadRequest(detail=f"Handle `{ref}` waits for the answer of a person; await it")
            return of_data(await acting.apply(self.jobs, job, ref, given["input"]))
        return of_data(await acting.abort(self.jobs, job, ref, self.handles.owner))

    async def _without_job(self, action: str, handle: Handle) -> Answer:
        if action == "apply":
            how = "waits for permission to start" if handle.held else "is stopped"
            raise BadRequest(detail=f"Handle `{handle.id}` {how}, so nothing can be applied to it")
        return of_data(await self.handles.row(handle))


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
    async with delivering(jobs, owner) as delivery, open_tasks(jobs, most=None) as tasks:
        starting = Starting(jobs, handles, tasks, permit)
        try:
            yield Coordinator(jobs, tools, handles, starting, delivery, inquire, answering or Answering())
        finally:
            handles.withdraw("its program ended before it was permitted, so it was not started")
