"""Who answers what a job asks: each configured answerer in turn, the assistant by `apply`, else the policy."""

from __future__ import annotations

import getpass
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import anyio
import anyio.to_thread

from bide.api import Jobs
from bide.model.errors import BadRequest
from bide.model.phase import Ended
from bide.model.question import Form, Policy, Question, by_policy, fault
from bide.model.request import Request

DENIED = "nobody may answer {text!r} here, and it is not answered by itself"


class Denied(Exception):
    """A question was not answered; unless it is caught, the job that asked fails with these words."""

    def __init__(self, question: Question) -> None:
        """Of this question."""
        super().__init__(DENIED.format(text=question.text))


@dataclass(frozen=True, slots=True)
class Answerer:
    """Somebody who can be asked. `None` for an answer means that the next one is asked."""

    answer: Callable[[Question], Awaitable[str | bool | None]]
    person: bool = False
    """It is a person, and may be asked what no model may see."""


@dataclass(frozen=True, slots=True)
class Answering:
    """Who is asked, in this order, and what holds when none of them answers."""

    answerers: Sequence[Answerer] = ()
    assistant: bool = False
    """After them the assistant itself may answer, by `apply` on the handle that waits."""
    policy: Policy = Policy.DENY


class Open:
    """A question that waits for its answer."""

    def __init__(self, question: Question) -> None:
        """Just asked."""
        self.question = question
        self._event = anyio.Event()
        self._value: str | bool | None = None

    def answer(self, value: object) -> None:
        """Answer it. Raises BadRequest for what is no answer."""
        wrong = fault(self.question, value)
        if wrong is not None:
            raise BadRequest(detail=f"this is no answer to {self.question.text!r}: {wrong}")
        self._value = value if isinstance(value, str | bool) else None
        self._event.set()

    async def answered(self) -> str | bool | None:
        """The answer, once there is one."""
        await self._event.wait()
        return self._value


async def resolve(answering: Answering, opened: Open) -> str | bool:
    """The answer to a question. Raises Denied."""
    question = opened.question
    for one in answering.answerers:
        if question.for_people and not one.person:
            continue
        value = await one.answer(question)
        if value is not None and fault(question, value) is None:
            return value
    value = await opened.answered() if answering.assistant and not question.for_people else None
    value = by_policy(question, answering.policy) if value is None else value
    if value is None:
        raise Denied(question)
    return value


def by_command(jobs: Jobs, command: str | tuple[str, ...], owner: str = "agent") -> Answerer:
    """A program answers, such as one that asks a cheaper model: the question is JSON on its stdin, its stdout the answer as JSON."""

    async def answer(question: Question) -> str | bool | None:
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

    async def answer(question: Question) -> str | bool | None:
        if not sys.stdin.isatty():
            return None
        return await anyio.to_thread.run_sync(_typed, question, abandon_on_cancel=True)

    return Answerer(answer, person=True)


def _typed(question: Question) -> str | bool | None:
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
