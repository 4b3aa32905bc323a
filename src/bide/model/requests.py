"""The wire form of a request for `run`."""

from __future__ import annotations

from operator import attrgetter

from bide.model import fields
from bide.model.errors import BadRequest
from bide.model.lifetime import Lifetime
from bide.model.messages import Json
from bide.model.plans import (
    dedup_from_json,
    dedup_to_json,
    limits_from_json,
    limits_to_json,
    notify_from_json,
    notify_to_json,
    service_from_json,
    service_to_json,
    turn_from_json,
    turn_to_json,
)
from bide.model.request import Request
from bide.model.times import from_ms, ms

_PLAIN: dict[str, fields.Kind] = {
    "cwd": fields.is_text,
    "name": fields.is_text,
    "label": fields.is_text,
    "owner": fields.is_text,
    "key": fields.is_text,
    "new_key": fields.is_flag,
    "stdin": fields.is_flag,
    "pty": fields.is_flag,
    "merge": fields.is_flag,
    "fence": fields.is_flag,
    "background": fields.is_flag,
    "env_defaults": fields.is_flag,
    "umask": fields.is_whole,
    "env": fields.is_texts,
    "base_env": fields.is_texts,
    "language": fields.is_text,
    "session": fields.is_text,
    "parent": fields.is_text,
    "lifetime": lambda value: value in list(Lifetime),
}
FIELDS: dict[str, fields.Kind] = {
    "command": lambda value: fields.is_text(value) or fields.is_words(value),
    "limits": fields.is_object,
    "deadline_ms": fields.is_number,
    "ttl_ms": fields.is_number,
    "turn": fields.is_object,
    "dedup": fields.is_object,
    "service": fields.is_object,
    "notify": fields.is_object,
    **_PLAIN,
}


_DEFAULT = Request("")
_plain_of = attrgetter(*_PLAIN)
_PLAIN_DEFAULTS = _plain_of(_DEFAULT)

_NESTED = {
    "turn": (turn_to_json, turn_from_json),
    "dedup": (dedup_to_json, dedup_from_json),
    "service": (service_to_json, service_from_json),
    "notify": (notify_to_json, notify_from_json),
}

_UMASK = 0o022
"""For callers in other languages that do not say theirs."""


def request_to_json(request: Request) -> Json:
    """A request for `run`; what is as usual is left out."""
    plain = zip(_PLAIN, _plain_of(request), _PLAIN_DEFAULTS, strict=True)
    body: Json = {key: value for key, value, usual in plain if value is not usual and value != usual}
    body["command"] = request.command if isinstance(request.command, str) else list(request.command)
    if request.limits != _DEFAULT.limits:
        body["limits"] = limits_to_json(request.limits)
    if request.deadline != _DEFAULT.deadline:
        body["deadline_ms"] = ms(request.deadline)
    if request.env:
        body["env"] = dict(request.env)
    if request.ttl is not None:
        body["ttl_ms"] = ms(request.ttl)
    for key, form in _NESTED.items():
        if (value := getattr(request, key)) != getattr(_DEFAULT, key):
            body[key] = form[0](value)
    return body


def request_from_json(body: Json) -> Request:
    """A request, which `run` checks; an unknown or mistyped field is refused by name."""
    found: Json = {"umask": _UMASK, **fields.given(body, FIELDS, "'run'")}
    if "command" not in found:
        raise BadRequest(detail="'run' needs a command: a string (for a shell) or a list of words")
    command = found.pop("command")
    if "limits" in found:
        found["limits"] = limits_from_json(found["limits"])
    if "lifetime" in found:
        found["lifetime"] = Lifetime(found["lifetime"])
    if "ttl_ms" in found:
        found["ttl"] = from_ms(found.pop("ttl_ms"))
    for key in _NESTED.keys() & found.keys():
        found[key] = _NESTED[key][1](found[key])
    if "deadline_ms" in body:
        found["deadline"] = from_ms(found.pop("deadline_ms", None))
    return Request(command if isinstance(command, str) else tuple(command), **found)
