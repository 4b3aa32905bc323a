"""Arguments of a tool call against the tool's schema: each of the kind it should be, or refused by its name.

Models write null for what they leave out, and numbers and flags as text: what is plain is taken as it is meant.

Our own, because the schemas use a handful of keywords only and an agent needs the field, what is wrong and what would
be right, in one sentence; a general validator says what failed in the words of the schema language.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

Schema = Mapping[str, Any]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**53


def _is_whole(value: object) -> bool:
    return _is_number(value) and float(cast("float", value)).is_integer()


_TYPES: dict[str, tuple[str, Callable[[object], bool]]] = {
    "string": ("a string", lambda value: isinstance(value, str)),
    "boolean": ("true or false", lambda value: isinstance(value, bool)),
    "integer": ("a whole number", _is_whole),
    "number": ("a number", _is_number),
    "array": ("a list", lambda value: isinstance(value, list)),
    "null": ("null", lambda value: value is None),
    "object": ("an object", lambda value: isinstance(value, dict)),
}
_ANY_KIND: tuple[str, Callable[[object], bool]] = ("anything", lambda _: True)
_ANYTHING: Schema = {}
KINDS = tuple(_TYPES)
"""The types that a schema can name. One that names none takes every value."""
_SHOWN = 60


class Fault(Struct, frozen=True):
    """What is wrong with the arguments."""

    field: str
    """Where it is: `timeout`, `env.A`, `jobs[1]`; empty for the arguments as a whole."""
    sentence: str


def fault(arguments: object, schema: Schema) -> Fault | None:
    """The first thing that is wrong with the arguments; `None` if nothing is."""
    return _fault(arguments, schema, "")


def meant(value: object, schema: Schema) -> Any:
    """Return arguments as they are meant, for `fault` to judge.

    A field that is null is left out, unless null says something there. Numbers and flags that came as text become such,
    where text is not what is wanted; and 5.0 is a whole number, since JSON may write 5 so.
    """
    choices = _choices(schema)
    if choices is not None:
        return _meant_choice(value, choices)
    read = _READERS.get(schema.get("type", ""))
    return value if read is None else read(value, schema)


def _meant_list(value: object, schema: Schema) -> object:
    items = schema.get("items", _ANYTHING)
    return [meant(one, items) for one in cast("list[object]", value)] if isinstance(value, list) else value


def _meant_flag(value: object, _: Schema) -> object:
    return _FLAGS.get(value.lower(), value) if isinstance(value, str) else value


def _meant_number(value: object, schema: Schema) -> object:
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value) if "." in value else int(value)
    return int(cast("float", value)) if schema["type"] == "integer" and _is_whole(value) else value


_FLAGS = {"true": True, "false": False}
_NUMBER = re.compile(r"-?[0-9]{1,16}(\.[0-9]{1,16})?")


def _meant_choice(value: object, choices: Sequence[Schema]) -> object:
    """A value that may be of several types: as it is if one of them fits, else as the first that it can be read as."""
    fitting = [one for one in choices if _fault(value, one, "") is None]
    read = (meant(value, one) for one in fitting or choices)
    return next((one for one in read if any(_fault(one, choice, "") is None for choice in choices)), value)


def _meant_object(value: object, schema: Schema) -> object:
    if not isinstance(value, dict):
        return value
    given = cast("dict[str, object]", value)
    known: dict[str, Schema] = schema.get("properties", {})
    rest = schema.get("additionalProperties")
    free: Schema | None = cast("Schema", rest) if isinstance(rest, Mapping) else None
    inner = {key: known.get(key, free) for key in given}
    return {
        key: one if (of := inner[key]) is None else meant(one, of)
        for key, one in given.items()
        if one is not None or key not in known or says_null(known[key])
    }


_READERS: dict[str, Callable[[object, Schema], object]] = {
    "object": _meant_object,
    "array": _meant_list,
    "boolean": _meant_flag,
    "integer": _meant_number,
    "number": _meant_number,
}


def says_null(schema: Schema) -> bool:
    """Whether null is a value of this field, and not the same as leaving it out."""
    return any(_fault(None, one, "") is None for one in _choices(schema) or (schema,))


def _choices(schema: Schema) -> Sequence[Schema] | None:
    """Return the schemas of which one must fit; `None` where there is one alone."""
    if "anyOf" in schema:
        return cast("Sequence[Schema]", schema["anyOf"])
    kinds: object = schema.get("type")
    return [{**schema, "type": kind} for kind in cast("list[str]", kinds)] if isinstance(kinds, list) else None


def _fault(value: object, schema: Schema, path: str) -> Fault | None:
    choices = _choices(schema)
    if choices is not None:
        return _choice_fault(value, choices, path)
    kind, fits = _TYPES[schema["type"]] if "type" in schema else _ANY_KIND
    if not fits(value):
        return _must(path, f"be {kind}, not {_shown(value)}")
    if "enum" in schema and value not in schema["enum"]:
        return _must(path, f"be one of {', '.join(map(str, schema['enum']))}, not {_shown(value)}")
    return _content_fault(value, schema, path) if "type" in schema else None


def _choice_fault(value: object, choices: Sequence[Schema], path: str) -> Fault | None:
    """What is wrong with a value that may be of several types: if one of them fits, what else it must be."""
    faults = [_fault(value, one, path) for one in choices]
    if None in faults:
        return None
    near = [found for one, found in zip(choices, faults, strict=True) if _is_of_kind(value, one)]
    if len(near) == 1 and not any("enum" in one for one in choices):
        return near[0]
    return _must(path, f"be {_wanted(choices)}, not {_shown(value)}")


def _is_of_kind(value: object, schema: Schema) -> bool:
    kind = schema.get("type")
    return _TYPES[kind][1](value) if isinstance(kind, str) else True


def _content_fault(value: object, schema: Schema, path: str) -> Fault | None:
    if isinstance(value, dict):
        return _object_fault(cast("dict[str, object]", value), schema, path)
    if isinstance(value, list):
        return _list_fault(cast("list[object]", value), schema, path)
    return _range_fault(value, schema, path)


def _range_fault(value: object, schema: Schema, path: str) -> Fault | None:
    if not isinstance(value, str) and not _is_number(value):
        return None
    number = len(value) if isinstance(value, str) else cast("float", value)
    low, high = ("minLength", "maxLength") if isinstance(value, str) else ("minimum", "maximum")
    unit = " characters" if isinstance(value, str) else ""
    if low in schema and number < schema[low]:
        return _must(path, f"be at least {schema[low]}{unit}, not {number}")
    if high in schema and number > schema[high]:
        return _must(path, f"be at most {schema[high]}{unit}, not {number}")
    return None


def _list_fault(value: list[object], schema: Schema, path: str) -> Fault | None:
    if len(value) < schema.get("minItems", 0):
        least = schema["minItems"]
        return _must(path, "have at least one entry" if least == 1 else f"have at least {least} entries")
    if len(value) > schema.get("maxItems", 10_000):
        return _must(path, f"have at most {schema.get('maxItems', 10_000)} entries")
    items = schema.get("items", _ANYTHING)
    found = (_fault(one, items, f"{path}[{at}]") for at, one in enumerate(value))
    return next((one for one in found if one), None)


def _object_fault(value: dict[str, object], schema: Schema, path: str) -> Fault | None:
    known: dict[str, Schema] = schema.get("properties", {})
    rest = schema.get("additionalProperties", "properties" not in schema)
    for key, one in value.items():
        within = _within(path, key)
        if key in known:
            found = _fault(one, known[key], within)
        elif isinstance(rest, Mapping):
            found = _fault(one, cast("Schema", rest), within)
        elif rest:
            found = None
        else:
            found = _unknown(key, path, known)
        if found:
            return found
    missing = [key for key in schema.get("required", ()) if key not in value]
    return Fault(_within(path, missing[0]), f"{_named(path, 'the call')} needs {missing[0]!r}") if missing else None


def _unknown(key: str, path: str, known: Mapping[str, Schema]) -> Fault:
    near = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {near[0]!r}" if near else f"known are {', '.join(known) or 'none'}"
    return Fault(_within(path, key), f"{_named(path, 'the call')} has no field {_shown(key)}; {hint}")


def _must(path: str, what: str) -> Fault:
    return Fault(path, f"{_named(path)} must {what}")


def _within(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _wanted(choices: Sequence[Schema]) -> str:
    return " or ".join(
        ", ".join(map(repr, one["enum"]))
        if "enum" in one
        else _wanted(inner)
        if (inner := _choices(one)) is not None
        else _TYPES[one["type"]][0]
        for one in choices
    )


def _named(path: str, whole: str = "the arguments") -> str:
    return repr(path) if path else whole


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
