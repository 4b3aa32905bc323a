"""A coroutine of a program that embeds bide, as a job: `inside/standin.py` runs in its place and answers for it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from bide.model.errors import BadRequest
from bide.model.task import NAME, Place

__all__ = ["NAME", "argv", "shown"]

STANDIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inside", "standin.py")


def argv(code: str, cwd: str, env: Mapping[str, str]) -> tuple[str, ...]:  # noqa: ARG001 - every kind is asked alike
    """The stand-in, where its program listens, and for which of the program's coroutines it stands."""
    place = _place(code)
    return (sys.executable, "-I", "-S", STANDIN, place.path, place.token)


def shown(code: str) -> str:
    """What a person sees of it."""
    return _place(code).shown


def _place(code: str) -> Place:
    place = Place.read(code)
    if place is None:
        raise BadRequest(detail="a task is started by the program whose coroutine it is, with bide.agents")
    return place
