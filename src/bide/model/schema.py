"""Schemas of tools' arguments: the few words of JSON Schema that bide's tools use."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def fields(required: tuple[str, ...] = (), /, **properties: Json) -> Json:
    """The schema of a tool's arguments; what is not named is refused."""
    return {
        "type": "object",
        "properties": properties,
        **({"required": list(required)} if required else {}),
        "additionalProperties": False,
    }


def text(description: str = "", **more: object) -> Json:
    """A field that is a string."""
    return {"type": "string", **({"description": description} if description else {}), **more}


def number(description: str = "", **more: object) -> Json:
    """A field that is a number."""
    return {"type": "number", **({"description": description} if description else {}), **more}


def whole(description: str = "", **more: object) -> Json:
    """A field that is a whole number."""
    return {"type": "integer", **({"description": description} if description else {}), **more}


def flag(description: str = "") -> Json:
    """A field that is true or false."""
    return {"type": "boolean", **({"description": description} if description else {})}


def words(description: str = "", **more: object) -> Json:
    """A field that is a list of strings."""
    return {
        "type": "array",
        "items": {"type": "string"},
        **({"description": description} if description else {}),
        **more,
    }


def budget(default: str = "", minimum: int = 0) -> Json:
    """The field by which a caller says how much output an answer shows: the same on every tool that returns output."""
    return whole(f"tokens of output{f' (default: {default})' if default else ''}", minimum=minimum, maximum=250_000)
