"""The wire form of questions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

from bide.model import fields
from bide.model.question import Form, Policy, Posed, Question, State, Via
from bide.model.times import from_stamp, stamp

Json = dict[str, Any]

_QUESTION: dict[str, fields.Kind] = {
    "text": fields.is_text,
    "type": lambda value: value in list(Form),
    "options": fields.is_words,
    "default": lambda value: isinstance(value, str | bool),
    "exclusive": fields.is_flag,
    "secret": fields.is_flag,
}


def question_to_json(question: Question) -> Json:
    """What is asked."""
    return {
        "text": question.text,
        "type": str(question.form),
        "options": list(question.options),
        "default": question.default,
        "exclusive": question.exclusive,
        "secret": question.secret,
    }


def question_from_json(body: Mapping[str, object], what: str = "a question") -> Question:
    """What is asked. Raises BadRequest."""
    found = fields.given(body, _QUESTION, what)
    return Question(
        found.get("text", ""),
        Form(found.get("type", Form.TEXT)),
        tuple(found.get("options", ())),
        found.get("default"),
        exclusive=found.get("exclusive", False),
        secret=found.get("secret", False),
    )


def posed_to_json(posed: Posed) -> Json:
    """A question of a job, flat."""
    return {
        "id": posed.id,
        "job": posed.job,
        **question_to_json(posed.question),
        "posed_at": stamp(posed.posed_at),
        "policy": str(posed.policy),
        "until": stamp(posed.until),
        "typed_at": posed.typed_at,
        "state": str(posed.state),
        "value": posed.value,
        "via": None if posed.via is None else str(posed.via),
        "by": posed.by,
        "why": posed.why,
        "closed_at": stamp(posed.closed_at),
    }


def posed_from_json(body: Json) -> Posed:
    """A question of a job."""
    return Posed(
        body["id"],
        body["job"],
        question_from_json({key: body[key] for key in _QUESTION}),
        cast("datetime", from_stamp(body["posed_at"])),
        Policy(body["policy"]),
        from_stamp(body["until"]),
        body["typed_at"],
        State(body["state"]),
        body["value"],
        None if body["via"] is None else Via(body["via"]),
        body["by"],
        body["why"],
        from_stamp(body["closed_at"]),
    )
