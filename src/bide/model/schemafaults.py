"""What is wrong with a JSON schema that somebody else wrote, as far as arguments are checked by it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from bide.model.arguments import KINDS

_NUMBERS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")


def fault_of(schema: object, path: str) -> str | None:
    """Return what is wrong with the schema of a field; `None` if nothing is. Keywords that are not checked may say anything."""
    return next(_faults(schema, path), None)


def _faults(schema: object, path: str) -> Iterator[str]:
    if not isinstance(schema, Mapping):
        yield f"the schema of {path!r} must be an object such as {{'type': 'string'}}, not {schema!r}"
        return
    said = cast("Mapping[str, object]", schema)
    yield from _wrong_types(said, path)
    for key in ("enum", "anyOf"):
        if key in said and not (isinstance(said[key], list | tuple) and said[key]):
            yield f"the {key} of {path!r} must be a list with at least one entry, not {said[key]!r}"
    for key in _NUMBERS:
        if key in said and (not isinstance(said[key], int | float) or isinstance(said[key], bool)):
            yield f"the {key} of {path!r} must be a number, not {said[key]!r}"
    for inner, where in _inner(said, path):
        yield from _faults(inner, where)


def _wrong_types(said: Mapping[str, object], path: str) -> Iterator[str]:
    if "type" not in said:
        return
    kinds = said["type"]
    for kind in cast("list[object]", kinds) if isinstance(kinds, list) else [kinds]:
        if kind not in KINDS:
            yield f"{path!r} has the type {kind!r}; known are {', '.join(KINDS)}"


def _inner(said: Mapping[str, object], path: str) -> Iterator[tuple[object, str]]:
    """Yield the schemas within a schema, each with where it is."""
    properties = said.get("properties", {})
    if isinstance(properties, Mapping):
        for key, one in cast("Mapping[str, object]", properties).items():
            yield one, f"{path}.{key}"
    else:
        yield properties, f"{path}.properties"
    if "items" in said:
        yield said["items"], f"{path}[]"
    if isinstance(said.get("additionalProperties"), Mapping):
        yield said["additionalProperties"], f"{path}.*"
    choices = said.get("anyOf", ())
    if isinstance(choices, list | tuple):
        for one in cast("list[object]", choices):
            yield one, path
