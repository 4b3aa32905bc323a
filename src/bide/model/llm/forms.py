"""The wire form of requests to LLM command lines and their answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import asdict

from bide.model import fields
from bide.model.errors import BadRequest
from bide.model.llm.answer import Answer, Asked, Fault, Note, Reading, Status, Tokens
from bide.model.llm.approval import Decision
from bide.model.llm.ask import Ask, Policy, Strategy, Worktree, check
from bide.model.llm.prompt import Parts
from bide.model.messages import job_from_json, job_to_json
from bide.model.times import from_ms, ms

Json = dict[str, Any]

_TIMES = ("idle", "timeout", "deadline")
_ASK: dict[str, fields.Kind] = {
    "cli": fields.is_text,
    "prompt": fields.is_text,
    "parts": fields.is_object,
    "model": fields.is_text,
    "conversation": fields.is_text,
    "resume_latest": fields.is_flag,
    "strategy": lambda value: value in list(Strategy),
    "policy": lambda value: value in list(Policy),
    "full_auto": fields.is_flag,
    "format": fields.is_text,
    "options": fields.is_object,
    "mcp_servers": fields.is_words,
    "mcp_optional": fields.is_flag,
    "optimize": fields.is_flag,
    "correlation_id": fields.is_text,
    "fresh": fields.is_flag,
    **{f"{name}_ms": fields.is_number for name in _TIMES},
    "background": fields.is_flag,
    "cwd": fields.is_text,
    "worktree": fields.is_object,
    "env": fields.is_texts,
    "base_env": fields.is_texts,
    "owner": fields.is_text,
    "name": fields.is_text,
}
_PARTS: dict[str, fields.Kind] = {
    **dict.fromkeys(("task", "system", "tools", "context"), fields.is_text),
    "cached": fields.is_words,
}
_WORKTREE: dict[str, fields.Kind] = dict.fromkeys(("name", "ref"), fields.is_text)
_DEFAULT = Ask("")


def ask_to_json(ask: Ask) -> Json:
    """A request; what is as usual is left out."""
    body: Json = {}
    for name in Ask.__struct_fields__:
        value = getattr(ask, name)
        if value == getattr(_DEFAULT, name):
            continue
        if name in _TIMES:
            body[f"{name}_ms"] = ms(value)
        elif isinstance(value, Parts):
            body[name] = {**asdict(value), "cached": list(value.cached)}
        elif isinstance(value, Worktree):
            body[name] = {key: word for key, word in asdict(value).items() if word is not None}
        else:
            body[name] = list(ask.mcp_servers) if name == "mcp_servers" else value
    return body


def ask_from_json(body: Json) -> Ask:
    """A checked request; an unknown or mistyped field is refused by name."""
    found = fields.given(body, _ASK, "'ask'")
    if "cli" not in found:
        raise BadRequest(detail="'ask' needs a cli, such as claude or codex")
    for name in _TIMES:
        if f"{name}_ms" in found:
            found[name] = from_ms(found.pop(f"{name}_ms"))
    ask = Ask(**{name: _READ[name](value) if name in _READ else value for name, value in found.items()})
    check(ask)
    return ask


def parts_from_json(body: Json) -> Parts:
    """A prompt in parts. Raises BadRequest."""
    given = fields.given(body, _PARTS, "'parts'")
    if "task" not in given:
        raise BadRequest(detail="promptParts needs a task: what is wanted this time")
    given["cached"] = tuple(given.get("cached", ()))
    return Parts(**given)


def _worktree_from_json(body: Json) -> Worktree:
    return Worktree(**fields.given(body, _WORKTREE, "'worktree'"))


_READ: dict[str, Callable[[Any], Any]] = {
    "parts": parts_from_json,
    "worktree": _worktree_from_json,
    "strategy": Strategy,
    "policy": Policy,
    "mcp_servers": tuple,
}


def answer_to_json(answer: Answer) -> Json:
    """An answer, flat but for its job."""
    return {
        "job": job_to_json(answer.job),
        "cli": answer.cli,
        "correlation_id": answer.correlation_id,
        "status": str(answer.status),
        "exit_code": answer.exit_code,
        "fault": str(answer.fault),
        "error": answer.error,
        "notes": [{**asdict(note), "figures": dict(note.figures)} for note in answer.notes],
        "reading": {
            **asdict(answer.reading),
            "tokens": asdict(answer.reading.tokens),
            "tools": dict(answer.reading.tools),
        },
    }


def answer_from_json(body: Json) -> Answer:
    """An answer."""
    reading: Json = dict(body["reading"])
    reading["tokens"] = Tokens(**reading["tokens"])
    return Answer(
        job=job_from_json(body["job"]),
        cli=body["cli"],
        correlation_id=body["correlation_id"],
        status=Status(body["status"]),
        exit_code=body["exit_code"],
        fault=Fault(body["fault"]),
        error=body["error"],
        notes=tuple(Note(**note) for note in body["notes"]),
        reading=Reading(**reading),
    )


def asked_to_json(asked: Asked) -> Json:
    """What `ask` answers."""
    approval = asked.approval
    return {
        "answer": answer_to_json(asked.answer),
        "joined": asked.joined,
        "deferred": asked.deferred,
        "deadline_ms": ms(asked.deadline),
        "approval": None if approval is None else {**asdict(approval), "reasons": list(approval.reasons)},
    }


def asked_from_json(body: Json) -> Asked:
    """What `ask` answered."""
    approval = None
    if body["approval"] is not None:
        given: Json = dict(body["approval"])
        given["policy"], given["reasons"] = Policy(given["policy"]), tuple(given["reasons"])
        approval = Decision(**given)
    answer = answer_from_json(body["answer"])
    deadline = from_ms(body["deadline_ms"])
    return Asked(answer, joined=body["joined"], deferred=body["deferred"], deadline=deadline, approval=approval)
