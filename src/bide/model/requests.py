"""The wire form of a request for `run`."""

from __future__ import annotations

from typing import cast

from bide.model.errors import BadRequest
from bide.model.messages import Json, from_ms, limits_from_json, limits_to_json, ms
from bide.model.request import Request, check

_REQUEST_TYPES: dict[str, tuple[type, ...]] = {
    "cwd": (str,),
    "name": (str,),
    "label": (str,),
    "owner": (str,),
    "key": (str,),
    "stdin": (bool,),
    "pty": (bool,),
    "merge": (bool,),
    "fence": (bool,),
    "background": (bool,),
    "env_defaults": (bool,),
    "umask": (int,),
    "env": (dict,),
    "base_env": (dict,),
}


def request_to_json(request: Request) -> Json:
    """A request for `run`."""
    body: Json = {key: getattr(request, key) for key in _REQUEST_TYPES}
    body["command"] = request.command if isinstance(request.command, str) else list(request.command)
    body["limits"] = limits_to_json(request.limits)
    body["deadline_ms"] = ms(request.deadline)
    body["env"] = dict(request.env)
    body["base_env"] = None if request.base_env is None else dict(request.base_env)
    return body


def _command(given: object) -> str | tuple[str, ...]:
    if isinstance(given, str):
        return given
    if isinstance(given, list):
        return tuple(str(word) for word in cast("list[object]", given))
    raise BadRequest(detail="'command' must be a string (for a shell) or a list of words")


def request_from_json(body: Json) -> Request:
    """A checked request; an unknown or mistyped field is refused by name."""
    rest = dict(body)
    command = _command(rest.pop("command", None))
    options: Json = {}
    if "deadline_ms" in rest:
        options["deadline"] = from_ms(rest.pop("deadline_ms"))
    try:
        options["limits"] = limits_from_json(rest.pop("limits", None) or {})
    except (TypeError, ValueError) as error:
        raise BadRequest(detail=f"the limits cannot be read: {error}") from error
    for key, value in rest.items():
        if key not in _REQUEST_TYPES:
            raise BadRequest(
                detail=f"'run' has no field {key!r}; known are command, limits, deadline_ms, {', '.join(_REQUEST_TYPES)}"
            )
        if value is None:
            continue
        if not isinstance(value, _REQUEST_TYPES[key]):
            raise BadRequest(detail=f"field {key!r} cannot be {value!r}")
        options[key] = value
    request = Request(command, **options)
    check(request)
    return request
