"""Type hints as JSON schemas, in the few words that bide checks arguments by."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import inspect

from bide.model.schema import Json, fields

_ANY: Json = {
    "anyOf": [
        *({"type": kind} for kind in ("string", "number", "boolean", "null")),
        {"type": "array", "items": {"anyOf": [{"type": kind} for kind in ("string", "number", "boolean", "null")]}},
        {"type": "object", "additionalProperties": True},
    ]
}
_KINDS: dict[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}

Within = tuple[type, ...]
"""The classes around a type: one that contains itself is any object at its second time."""


def schema_of(hint: Any) -> Json:
    """Return the schema of a type hint. Raises TypeError for one that JSON cannot carry."""
    return _schema(inspect.type_info(hint), ())


def _schema(kind: object, within: Within) -> Json:
    made = _FORMS.get(type(kind))
    if made is None:
        shown: Any = getattr(kind, "cls", kind)
        raise TypeError(f"{shown} cannot be read from JSON")
    return made(kind, within)


def _metadata(kind: Any, within: Within) -> Json:
    return {**_schema(kind.type, within), **(kind.extra_json_schema or {})}


def _mapping(kind: Any, within: Within) -> Json:
    free = isinstance(kind.value_type, inspect.AnyType)
    return {"type": "object", "additionalProperties": True if free else _schema(kind.value_type, within)}


def _sequence(kind: Any, within: Within) -> Json:
    return {"type": "array", "items": _schema(kind.item_type, within), **_lengths(kind, "Items")}


def _tuple(kind: Any, within: Within) -> Json:
    items = [_schema(one, within) for one in kind.item_types]
    return {"type": "array", "items": {"anyOf": items}, "minItems": len(items), "maxItems": len(items)}


def _object(kind: Any, within: Within) -> Json:
    if kind.cls in within:
        return {"type": "object", "additionalProperties": True}
    inner = {one.encode_name: _schema(one.type, (*within, kind.cls)) for one in kind.fields}
    return fields(tuple(one.encode_name for one in kind.fields if one.required), **inner)


def _number(name: str) -> Callable[[Any, Within], Json]:
    def made(kind: Any, _: Within) -> Json:
        ends = {"minimum": kind.ge, "maximum": kind.le}
        return {"type": name, **{key: end for key, end in ends.items() if end is not None}}

    return made


def _said(description: str) -> Callable[[Any, Within], Json]:
    return lambda _, __: {"type": "string", "description": description}


def _lengths(kind: Any, unit: str) -> Json:
    ends = {f"min{unit}": kind.min_length, f"max{unit}": kind.max_length}
    return {key: end for key, end in ends.items() if end is not None}


def _choices(values: Iterable[object]) -> Json:
    """Return the schema of one of some values."""
    grouped: dict[str, list[object]] = {}
    for value in values:
        grouped.setdefault(_KINDS.get(type(value), "null"), []).append(value)
    each: list[Json] = [{"type": kind, "enum": found} for kind, found in grouped.items()]
    return each[0] if len(each) == 1 else {"anyOf": each}


_FORMS: dict[type, Callable[[Any, Within], Json]] = {
    inspect.AnyType: lambda _, __: dict(_ANY),
    inspect.NoneType: lambda _, __: {"type": "null"},
    inspect.BoolType: lambda _, __: {"type": "boolean"},
    inspect.IntType: _number("integer"),
    inspect.FloatType: _number("number"),
    inspect.StrType: lambda kind, _: {"type": "string", **_lengths(kind, "Length")},
    inspect.BytesType: _said("base64"),
    inspect.DateTimeType: _said("a date and time, as RFC 3339 has it"),
    inspect.DateType: _said("a date, as 2026-12-31"),
    inspect.TimeType: _said("a time, as 23:59:59"),
    inspect.TimeDeltaType: _said("a duration, as PT90S"),
    inspect.UUIDType: _said("a UUID"),
    inspect.DecimalType: _said("a decimal number"),
    inspect.Metadata: _metadata,
    inspect.UnionType: lambda kind, within: {"anyOf": [_schema(one, within) for one in kind.types]},
    inspect.LiteralType: lambda kind, _: _choices(kind.values),
    inspect.EnumType: lambda kind, _: _choices(one.value for one in kind.cls),
    inspect.DictType: _mapping,
    inspect.ListType: _sequence,
    inspect.SetType: _sequence,
    inspect.FrozenSetType: _sequence,
    inspect.VarTupleType: _sequence,
    inspect.TupleType: _tuple,
    inspect.TypedDictType: _object,
    inspect.DataclassType: _object,
    inspect.StructType: _object,
}
