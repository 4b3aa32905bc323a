"""What jobs ask, as a model reads it, and how it or its client answers. Knows no protocol."""

from __future__ import annotations

import json
import re
from typing import Any, cast

import anyio

from bide.mcpserver.tool import Call, InputNeeded
from bide.model.errors import BadRequest, BideError, QuestionClosed
from bide.model.job import Job
from bide.model.question import ID_PATTERN, Form, Posed, Question, Via, spoken
from bide.model.questionforms import question_to_json
from bide.model.schema import Json
from bide.model.words import asked

FIELD = "answer"
"""What an answer is called in the form that a client shows."""


def of(job: Job) -> Posed | None:
    """What a job asks, or the prompt it shows."""
    return None if job.facts is None else job.facts.question


def is_put(job: Job) -> bool:
    """Whether a job put a question that is open."""
    posed = of(job)
    return posed is not None and posed.typed_at is None


def is_guess(job: Job) -> bool:
    """Whether that it asks is a guess from its output."""
    return job.facts is not None and job.facts.unsure


def waits(job: Job) -> str:
    """What a job that waits for input waits for, as what follows its name, with the call that answers it."""
    posed, prompt = of(job), "" if job.facts is None else job.facts.waiting or ""
    if posed is None or (posed.typed_at is not None and not posed.question.secret):
        how = "may be asking" if is_guess(job) else "waits for input; its prompt"
        return f"{how}: {json.dumps(prompt)}"
    if posed.question.for_people:
        whose = "a secret, which no model gives" if posed.question.secret else "the answer of a person"
        return f"waits for {whose}; a person can answer, at a terminal: bide answer {posed.job}"
    call = f"send {json.dumps(arguments(posed))}"
    return f"asks {json.dumps(asked(question_to_json(posed.question)))}; nobody has answered yet. To answer: {call}"


def data(job: Job) -> Json:
    """The same as data; nothing of what is for people."""
    posed = of(job)
    if posed is None or posed.typed_at is not None:
        prompt = "" if job.facts is None else job.facts.waiting
        return {"prompt": prompt, **({"secret": True} if posed is not None and posed.question.secret else {})}
    if posed.question.for_people:
        return {"question": posed.id, "for": "a person"}
    return {key: value for key, value in {**posed.question.to_json(), "question": posed.id}.items() if key != "id"}


def arguments(posed: Posed) -> Json:
    """What `send` is to be called with."""
    question = posed.question
    choices = ("yes", "no") if question.form is Form.BOOLEAN else question.options or _choices(question.text)
    said = f"<{'|'.join(choices) or 'text'}>"
    return {"job": posed.job, "text": f"{said}\n"} if posed.typed_at is not None else {"job": posed.id, "text": said}


def _choices(prompt: str) -> tuple[str, ...]:
    """What a program's own prompt offers, as `[y/N]`."""
    found = _CHOICE.search(prompt)
    return tuple(found[1].lower().split("/")) if found else ()


_CHOICE = re.compile(r"[\[(]((?:\w+/)+\w+)[\])]")


async def answered(call: Call, given: Json) -> Posed | None:
    """Answer what the job of a `send` asks, if it put a question; `None` if what is sent is input. Raises BideError."""
    ref: str = given["job"]
    if "text" not in given and not given.get("eof"):
        return None
    posed = await named(call, ref) if ID_PATTERN.match(ref) else None
    posed = posed or of(await call.own.job(ref))
    if posed is None:
        return None
    if posed.question.for_people:
        raise BadRequest(
            detail=f"{posed.job} waits for a person, and takes no answer from a model; say so to your user"
        )
    if posed.typed_at is not None:
        return None
    value = spoken(posed.question, given["text"].rstrip("\n")) if "text" in given else None
    return await call.jobs.questions.answer(posed.id, value, by=call.caller.owner, key=call.key)


async def named(call: Call, ref: str) -> Posed | None:
    """The question of this id, if there is one and its job is the caller's to see."""
    try:
        posed = await call.jobs.questions.get(ref)
        await call.own.job(posed.job)
    except BideError:
        return None
    return posed


# A client that asks its user.


def schema(question: Question) -> Json:
    """The form in which a client asks its user."""
    field: Json = {"type": "boolean"} if question.form is Form.BOOLEAN else {"type": "string"}
    if question.options:
        field["enum"] = list(question.options)
    if question.default is not None:
        field["default"] = question.default
    return {"type": "object", "properties": {FIELD: {**field, "title": "Answer"}}, "required": [FIELD]}


async def take(call: Call, posed: Posed, response: object) -> bool:
    """Take what a client's user said: an answer, or that there will be none; whether it was either."""
    found = cast("Json", response) if isinstance(response, dict) else {}
    content: Any = found.get("content")
    if found.get("action") == "accept" and isinstance(content, dict):
        value: Any = cast("Json", content).get(FIELD)
    elif found.get("action") == "decline":
        value = None
    else:
        return False
    try:
        await call.jobs.questions.answer(posed.id, value, via=Via.CLIENT, by=call.caller.owner, key=call.key)
    except QuestionClosed:
        return True
    except BadRequest:
        return False
    return True


async def elicited(call: Call, posed: Posed) -> bool:
    """Have the client ask its user; whether the question is closed now, by that or otherwise. Raises InputNeeded."""
    elicit = call.elicit
    if posed.question.secret or posed.id in call.unanswered:
        return False
    if call.asks_again:
        raise InputNeeded(posed)
    if elicit is None:
        return False
    done: list[bool] = []

    async def ask() -> None:
        done.append(await take(call, posed, await elicit(posed)))
        group.cancel_scope.cancel()

    async def closed() -> None:
        await call.jobs.questions.wait(posed.id)
        done.append(True)
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        group.start_soon(closed)
    return any(done)
