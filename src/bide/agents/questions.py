"""Who answers what a job asks: each configured answerer in turn, the assistant by `apply`, else the policy."""

from __future__ import annotations

import getpass
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack, suppress
from typing import cast

import anyio
import anyio.to_thread
from msgspec import Struct

from bide.agents.handles import Handles
from bide.agents.running import called
from bide.api import Jobs
from bide.model.errors import BadRequest, BideError, QuestionClosed
from bide.model.job import JobId
from bide.model.phase import Ended
from bide.model.question import Form, Policy, Posed, Question, Value, Via, by_policy, fault
from bide.model.request import Request

DENIED = "nobody may answer {text!r} here, and it is not answered by itself"


class Denied(Exception):
    """A question was not answered; unless it is caught, the job that asked fails with these words."""

    def __init__(self, question: Question) -> None:
        """Of this question."""
        super().__init__(DENIED.format(text=question.text))


Ask = Callable[[Question], "Awaitable[Value | None] | Value | None"]
"""Returns an answer to a question, or `None`."""


class Answerer(Struct, frozen=True):
    """Somebody who can be asked. `None` for an answer means that the next one is asked."""

    answer: Ask
    """A coroutine function, or a plain one, which runs in a thread."""
    person: bool = False
    """It is a person, and may be asked what no model may see."""


class Answering(Struct, frozen=True):
    """Who is asked, in this order, and what holds when none of them answers."""

    answerers: Sequence[Answerer | Ask] = ()
    """A function alone is an answerer that is no person."""
    assistant: bool = False
    """After them the assistant itself may answer, by `apply` on the handle that waits."""
    policy: Policy = Policy.DENY

    def __post_init__(self) -> None:
        """Refuse who cannot be asked. Raises BadRequest."""
        given = cast("object", self.answerers)
        if not isinstance(given, Sequence):
            raise BadRequest(
                detail=f"'answerers' must be a list of those who are asked, not {given!r}", field="answerers"
            )
        for at, one in enumerate(cast("Sequence[object]", given)):
            if not isinstance(one, Answerer) and not callable(one):
                detail = f"'answerers[{at}]' must be an Answerer or a function of a Question, not {one!r}"
                raise BadRequest(detail=detail, field="answerers")

    @property
    def asked(self) -> tuple[Answerer, ...]:
        """Return the answerers in turn."""
        return tuple(one if isinstance(one, Answerer) else Answerer(one) for one in self.answerers)


async def resolve(question: Question, answering: Answering, *, asks_assistant: bool) -> tuple[Value, Via] | None:
    """What the answerers say, each in turn, else the policy; `None` where the assistant is to be waited for. Raises Denied."""
    for one in answering.asked:
        if question.for_people and not one.person:
            continue
        value = cast("Value | None", await called(one.answer, question))
        if value is not None and fault(question, value) is None:
            return value, Via.PERSON if one.person else Via.COMMAND
    if asks_assistant and answering.assistant and not question.for_people:
        return None
    value = by_policy(question, answering.policy)
    if value is None:
        raise Denied(question)
    return value, Via.POLICY


async def ask(handles: Handles, job: JobId, question: Question, answering: Answering) -> Value:
    """Have a job ask: whoever is first answers, of those who are configured here and of everybody at bide's doors. Raises Denied."""
    with ExitStack() as others:
        others.enter_context(handles.others.asking(job))
        posed = await handles.jobs.questions.pose(job, question, policy=answering.policy)
        return await _answer(handles.jobs, posed, answering, others.close)


async def _answer(jobs: Jobs, posed: Posed, answering: Answering, turned: Callable[[], None]) -> Value:
    """Wait for the first answer; `turned` is called when no answerer has one, and the assistant is waited for."""
    question = posed.question
    found: list[Value | Exception | None] = []

    async def closed() -> None:
        found.append((await jobs.questions.wait(posed.id)).value)
        group.cancel_scope.cancel()

    async def resolved() -> None:
        try:
            answer = await resolve(question, answering, asks_assistant=True)
            if answer is None:
                turned()
            else:
                with suppress(QuestionClosed):  # somebody else was first, and `closed` has what they said
                    await jobs.questions.answer(posed.id, answer[0], via=answer[1])
        except Exception as error:  # noqa: BLE001 - raised below: the group would wrap it
            found.append(error)
            group.cancel_scope.cancel()

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(closed)
            group.start_soon(resolved)
    finally:
        with anyio.CancelScope(shield=True), suppress(BideError):
            await jobs.questions.withdraw(posed.id)
    answer = found[0]
    if isinstance(answer, Exception):
        raise answer
    if answer is None:
        raise Denied(question)
    return answer


def by_command(jobs: Jobs, command: str | tuple[str, ...], owner: str = "agent") -> Answerer:
    """A program answers, such as one that asks a cheaper model: the question is JSON on its stdin, its stdout the answer as JSON."""

    async def answer(question: Question) -> Value | None:
        asked = json.dumps(question.to_json()).encode()
        request = Request(command, owner=owner, label="question", stdin=True, input=asked, deadline=None)
        ran = await jobs.run(request)
        done = isinstance(ran.job.phase, Ended) and ran.job.phase.end.success
        try:
            value: object = json.loads(ran.out.data) if done and ran.out is not None else None
        except ValueError:
            return None
        return value if isinstance(value, str | bool) else None

    return Answerer(answer)


def at_terminal() -> Answerer:
    """The person at this program's terminal; nobody, if it has none."""

    async def answer(question: Question) -> Value | None:
        if not sys.stdin.isatty():
            return None
        return await anyio.to_thread.run_sync(_typed, question, abandon_on_cancel=True)

    return Answerer(answer, person=True)


def _typed(question: Question) -> Value | None:
    choices = {Form.BOOLEAN: " [y/n]", Form.SELECT: f" [{', '.join(question.options)}]"}.get(question.form, "")
    prompt = f"{question.text}{choices} "
    try:
        typed = getpass.getpass(prompt) if question.secret else input(prompt)
    except EOFError:
        return None
    if not typed and question.default is not None:
        return question.default
    if question.form is Form.BOOLEAN:
        return {"y": True, "yes": True, "n": False, "no": False}.get(typed.strip().lower())
    return typed
