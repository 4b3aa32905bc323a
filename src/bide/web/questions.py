"""The routes of questions, each a translation and nothing more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bide.api import Questions
from bide.model import fields
from bide.model.errors import BadRequest
from bide.model.question import Policy, Via, spoken
from bide.model.questionforms import posed_to_json, question_from_json
from bide.model.times import from_ms
from bide.web.http import Reply
from bide.web.query import query_number
from bide.web.request import HttpRequest

_POSE: dict[str, fields.Kind] = {
    "job": fields.is_text,
    "question": fields.is_object,
    "key": fields.is_text,
    "policy": lambda value: value in list(Policy),
    "timeout_ms": fields.is_duration,
    "asker": fields.is_count,
}
_LIST: dict[str, fields.Kind] = dict.fromkeys(("owner", "job", "known", "timeout_ms"), fields.is_text)
_ANSWER: dict[str, fields.Kind] = {
    "value": lambda value: isinstance(value, str | bool),
    "text": fields.is_text,
    "deny": fields.is_flag,
    "via": lambda value: value in list(Via),
    "by": fields.is_text,
    "key": fields.is_text,
}


async def show_all(questions: Questions, request: HttpRequest, reply: Reply, _: str) -> None:
    """`GET /v1/questions`."""
    query = fields.given(request.query, _LIST, "'questions'")
    if "known" in query:
        query["known"] = [id_ for id_ in query["known"].split(",") if id_]
    query["timeout"] = from_ms(query_number(query, "timeout_ms", None))
    query.pop("timeout_ms", None)
    await reply.json({"questions": [posed_to_json(one) for one in await questions.list(**query)]})


async def pose(questions: Questions, request: HttpRequest, reply: Reply, _: str) -> None:
    """`POST /v1/questions`."""
    body = fields.given(request.json(), _POSE, "'pose'")
    if "job" not in body or "question" not in body:
        raise BadRequest(detail="a question needs 'job', whose it is, and 'question' with its 'text'")
    posed = await questions.pose(
        body["job"],
        question_from_json(body["question"], "'question'"),
        key=body.get("key"),
        policy=Policy(body["policy"]) if "policy" in body else None,
        timeout=from_ms(body.get("timeout_ms")),
        asker=body.get("asker"),
    )
    await reply.json(posed_to_json(posed))


async def show(questions: Questions, _: HttpRequest, reply: Reply, question: str) -> None:
    """`GET /v1/questions/{question}`."""
    await reply.json(posed_to_json(await questions.get(question)))


async def wait(questions: Questions, request: HttpRequest, reply: Reply, question: str) -> None:
    """`POST /v1/questions/{question}/wait`."""
    body = fields.given(request.json(), {"timeout_ms": fields.is_duration}, "'wait'")
    await reply.json(posed_to_json(await questions.wait(question, timeout=from_ms(body.get("timeout_ms")))))


async def answer(questions: Questions, request: HttpRequest, reply: Reply, question: str) -> None:
    """`POST /v1/questions/{question}/answer`."""
    body = fields.given(request.json(), _ANSWER, "'answer'")
    if sum((("value" in body), ("text" in body), body.get("deny", False))) != 1:
        raise BadRequest(detail="an answer has one of 'value', 'text' (its words) or 'deny'")
    value = body.get("value")
    if "text" in body:
        asked = await questions.get(question)
        question, value = asked.id, spoken(asked.question, body["text"])
    options = {key: body[key] for key in ("by", "key") if key in body}
    via = Via(body.get("via", Via.ASSISTANT))
    await reply.json(posed_to_json(await questions.answer(question, value, via=via, **options)))


async def withdraw(questions: Questions, _: HttpRequest, reply: Reply, question: str) -> None:
    """`DELETE /v1/questions/{question}`."""
    await reply.json(posed_to_json(await questions.withdraw(question)))


ROUTES: dict[tuple[str, str], Callable[[Questions, HttpRequest, Reply, str], Awaitable[None]]] = {
    ("GET", "v1/questions"): show_all,
    ("POST", "v1/questions"): pose,
    ("GET", "v1/questions/*"): show,
    ("POST", "v1/questions/*/wait"): wait,
    ("POST", "v1/questions/*/answer"): answer,
    ("DELETE", "v1/questions/*"): withdraw,
}
