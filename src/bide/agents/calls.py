"""Calls of tools as a model makes them, and what is answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

import anyio
from msgspec import Struct, field
from msgspec.structs import replace

from bide.model.errors import BadRequest
from bide.model.fitting import as_json, cut, fitted_data, size_of
from bide.model.schema import Json

_SHOWN = 80


class Call(Struct, frozen=True):
    """One tool call of a batch."""

    id: str
    """The provider's, which the response carries."""
    tool: str
    arguments: Any = field(default_factory=dict[str, Any])
    """An object, or the JSON text of one, as some providers give it. Whoever is asked for permission is shown an object."""

    @property
    def given(self) -> Json:
        """The arguments of a call that was `read`."""
        return dict(cast("Mapping[str, Any]", self.arguments))


class Response(Struct, frozen=True):
    """What one call comes to."""

    id: str
    tool: str
    text: str
    is_error: bool = False


class Answer(Struct, frozen=True):
    """What a tool answers, before it is that of a call."""

    text: str
    is_error: bool = False
    data: Json | None = None
    """What the text says, where that is JSON."""

    def within(self, most: int) -> str:
        """Return the text in at most so many bytes; JSON stays JSON."""
        if self.data is None or size_of(self.text) <= most:
            return cut(self.text, most)
        return as_json(fitted_data(self.data, most))


class Made:
    """A call and its answer, which more than one may wait for."""

    def __init__(self, call: Call) -> None:
        """The call has not begun."""
        self.call = call
        self.begun = False
        self._answer: Answer | None = None
        self._done = anyio.Event()

    def finish(self, answer: Answer) -> None:
        """Record the answer."""
        self.begun = True
        self._answer = answer
        self._done.set()

    async def answer(self) -> Answer:
        """Return the answer once there is one."""
        await self._done.wait()
        assert self._answer is not None  # noqa: S101 - set before the event
        return self._answer


def of_data(data: Json) -> Answer:
    """Return an answer that is JSON."""
    return Answer(as_json(data), data=data)


def read(call: Call) -> Call:
    """Return the call with its arguments as an object. Raises BadRequest."""
    found: object = call.arguments
    if isinstance(found, str):
        try:
            found = json.loads(found) if found.strip() else {}
        except ValueError as error:
            detail = f"'arguments' must be a JSON object; {_shown(call.arguments)} is no JSON: {error}"
            raise BadRequest(detail=detail) from None
    if found is None:
        found = {}
    if not isinstance(found, Mapping):
        raise BadRequest(detail=f"'arguments' must be a JSON object, not {_shown(found)}")
    return replace(call, arguments=dict(cast("Mapping[str, Any]", found)))


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
