"""A function as a tool: its name, what its docstring says, and the JSON schema that its type hints make."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, cast, get_args, get_origin

import msgspec
from msgspec import Struct

from bide.agents.context import Context
from bide.agents.docstring import read
from bide.agents.hints import schema_of
from bide.agents.running import called
from bide.model.errors import BadRequest
from bide.model.schema import Json


class Signature(Struct, frozen=True):
    """What a function says of itself."""

    name: str
    description: str
    properties: Json
    required: tuple[str, ...]


class Typed:
    """Does the calls of a tool by calling a function with its arguments as the types that it declares."""

    def __init__(self, function: Callable[..., object]) -> None:
        """Read the function. Raises BadRequest for one whose calls no model could make."""
        self._function = function
        name = getattr(function, "__name__", type(function).__name__)
        written = _written(function)
        hints = _hints(written, name)
        said = read(inspect.getdoc(written) or "")
        self._types: dict[str, Any] = {}
        self._context = ""
        properties: Json = {}
        required: list[str] = []
        for key, one in inspect.signature(function).parameters.items():
            if one.kind not in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY):
                raise _bad(name, key, "must be a parameter that is given by name")
            hint = hints.get(key, Any)
            if hint is Context:
                self._context = key
                continue
            self._types[key] = hint
            properties[key] = _property(name, key, hint, said.parameters.get(key, ""), default=one.default)
            if one.default is one.empty:
                required.append(key)
        self.signature = Signature(name, said.description, properties, tuple(required))

    async def __call__(self, context: Context, given: Json) -> object:
        """Call the function. Raises BadRequest for an argument that is not of its type."""
        values = {key: self._value(key, value) for key, value in given.items()}
        if self._context:
            values[self._context] = context
        return await called(self._function, **values)

    def _value(self, key: str, value: object) -> object:
        try:
            return msgspec.convert(value, self._types[key], strict=False)
        except msgspec.ValidationError as error:
            raise BadRequest(detail=f"{key!r}: {error}", field=key) from None


def _written(function: Callable[..., object]) -> Callable[..., object]:
    """Return the function that has the hints and the docstring: that of a partial, or the method of an object that is called."""
    if isinstance(function, partial):
        return _written(cast("partial[object]", function).func)
    return function if inspect.isroutine(function) else type(function).__call__


def _hints(function: Callable[..., object], name: str) -> Mapping[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        detail = f"the types of {name!r} cannot be read: {error}; import them at the top of the module, not for the checker alone"
        raise BadRequest(detail=detail) from None


def _property(function: str, key: str, hint: Any, said: str, *, default: object) -> Json:
    """Return the schema of a parameter. One that is `None` unless given has no null in it: null is the same as nothing."""
    plain, *notes = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if default is None and get_origin(plain) in (typing.Union, types.UnionType):
        plain = typing.Union[tuple(one for one in get_args(plain) if one is not type(None))]  # noqa: UP007 - of a tuple
    try:
        found = schema_of(Annotated[(plain, *notes)] if notes else plain)
    except TypeError as error:
        raise _bad(function, key, f"has a type that JSON cannot carry: {str(error).splitlines()[0]}") from None
    words = [*(one for one in notes if isinstance(one, str)), said, found.get("description", "")]
    description = "; ".join(filter(None, words))
    return {**found, **({"description": description} if description else {})}


def _bad(function: str, key: str, what: str) -> BadRequest:
    return BadRequest(detail=f"the parameter {key!r} of {function!r} {what}", field=key)
