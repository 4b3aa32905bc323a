"""What a Python caller gave: each value of its kind, or refused by its name. Annotations alone refuse nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import TypeVar, cast

from msgspec import Struct

from bide.model.dedup import Dedup
from bide.model.errors import BadRequest
from bide.model.limits import Limits
from bide.model.turn import Turn

_Choice = TypeVar("_Choice", bound=StrEnum)
_OPTIONS: dict[str, tuple[type, ...]] = {  # the last is the one that is named
    "env": (dict, Mapping),
    "base_env": (dict, Mapping),
    "name": (str,),
    "label": (str,),
    "owner": (str,),
    "limits": (Limits,),
    "deadline": (timedelta,),
    "key": (str,),
    "umask": (int,),
    "language": (str,),
    "session": (str,),
    "parent": (str,),
    "turn": (Turn,),
    "dedup": (Dedup,),
    "ttl": (timedelta,),
}
_LIMITS: dict[str, tuple[type, ...]] = {
    "timeout": (timedelta,),
    "idle": (timedelta,),
    "output_bytes": (int,),
    "memory_bytes": (int,),
    "cpus": (float, int),
    "pids": (int,),
    "grace": (timedelta,),
}
_MAY_BE_NONE = {"base_env", "name", "owner", "deadline", "key", "umask", "language", "session", "parent", "ttl"}
_USUAL = Limits()
_NO_LIMIT = {"timeout", "idle", "memory_bytes", "cpus", "pids"}


def check_options(request: Struct, limits: object) -> None:
    """Refuse options of `run` that are not of their kind."""
    _check(request, _OPTIONS, _MAY_BE_NONE)
    if isinstance(limits, Limits) and limits != _USUAL:
        _check(limits, _LIMITS, _NO_LIMIT)


def words_of(command: object) -> str | tuple[str, ...]:
    """A command as it was given: text for a shell, or the texts of a list. Raises BadRequest for anything else."""
    if isinstance(command, str):
        return command
    words = tuple(cast("Iterable[object]", command)) if isinstance(command, Iterable) else (command,)
    for word in words:
        if not isinstance(word, str):
            raise BadRequest(detail=f"a command is text, or a list of texts, and {word!r} is none; write str(...)")
    return cast("tuple[str, ...]", words)


def check_duration(what: str, given: object) -> None:
    """Refuse a duration that is given as a number, of which nobody knows the unit."""
    if given is not None and not isinstance(given, timedelta):
        raise BadRequest(detail=f"{what!r} is a timedelta, not {given!r}; write timedelta(seconds=...)")


def choice(kind: type[_Choice], what: str, given: object) -> _Choice:
    """The member that is meant, also if it is given by its value."""
    if given not in list(kind):
        raise BadRequest(detail=f"there is no {what} {given!r}; use {' or '.join(repr(str(one)) for one in kind)}")
    return kind(cast("str", given))


def _check(values: Struct, kinds: Mapping[str, tuple[type, ...]], optional: set[str]) -> None:
    for name, kind in kinds.items():
        value: object = getattr(values, name)
        if type(value) in kind or isinstance(value, kind) or (value is None and name in optional):
            continue
        if kind == (timedelta,):
            check_duration(name, value)
        raise BadRequest(detail=f"{name!r} is a {kind[-1].__name__}, not {value!r}")
