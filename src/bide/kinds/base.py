"""Kinds of job: how what was asked for becomes what is executed. A new kind is a new file, and a line in the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from bide.kinds import python, shell, task
from bide.model.errors import BadRequest
from bide.model.request import Request


class Kind(Protocol):
    """How code in one language is run."""

    def __call__(self, code: str, cwd: str, env: Mapping[str, str]) -> tuple[str, ...]:
        """What is executed, for a job in this folder with this environment. Raises BadRequest before anything is done."""
        ...


def _shell(code: str, cwd: str, env: Mapping[str, str]) -> tuple[str, ...]:  # noqa: ARG001 - every kind is asked alike
    return shell.argv(code)


KINDS: dict[str, Kind] = {shell.NAME: _shell, python.NAME: python.argv, task.NAME: task.argv}
"""By the language that a request names."""


class Plan(Struct, frozen=True):
    """What a request comes to."""

    kind: str
    argv: tuple[str, ...]
    command: str
    """As a person would type it."""


def plan(request: Request, cwd: str, env: Mapping[str, str]) -> Plan:
    """What to execute. Without a language a string is given to a shell, and words are executed as they are."""
    command = request.command
    if not isinstance(command, str):
        if request.ask is not None:
            return Plan(request.ask.cli, command, request.ask.shown)
        return Plan(shell.NAME, command, shell.shown(command))
    name = request.language or shell.NAME
    kind = KINDS.get(name)
    if kind is None:
        raise BadRequest(detail=f"there is no language {name!r}; known are {shell.NAME}, {python.NAME}")
    argv = kind(command, cwd, env)
    return Plan(name, argv, task.shown(command) if name == task.NAME else command)
