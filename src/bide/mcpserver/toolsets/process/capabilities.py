"""`capabilities.list` and `capabilities.describe`: the tools of this toolset as data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bide.mcpserver import spelling
from bide.mcpserver.tool import Answer, Tool
from bide.mcpserver.toolsets.process.catalog import CATALOG, Capability
from bide.mcpserver.toolsets.process.errors import KINDS, Failure, shown
from bide.model.schema import Json


def meta(capability: Capability) -> Json:
    """What a listing of tools says beside the tool."""
    return {
        "bide/permission": capability.permission,
        "bide/version": capability.version,
        "bide/tags": list(capability.tags),
    }


def _summary(name: str, capability: Capability) -> Json:
    return {
        "name": name,
        "tool": spelling.listed(name),
        "permission": capability.permission,
        "version": capability.version,
        "purpose": capability.purpose,
        "tags": list(capability.tags),
    }


def list_(given: Json) -> Answer:
    """All capabilities, or those of a category."""
    wanted: str = given.get("category", "")
    rows = [
        _summary(name, one)
        for name, one in CATALOG.items()
        if not wanted or wanted == name.partition(".")[0] or wanted in one.tags
    ]
    lines = [f"{row['tool']} ({row['permission']}, {row['version']}): {row['purpose']}" for row in rows]
    return Answer("\n".join([f"total: {len(rows)}", *lines]), {"capabilities": rows, "total": len(rows)})


def describe(given: Json, tools: Mapping[str, Tool]) -> Answer:
    """One capability. Raises CapabilityNotFound."""
    name = next((one for one in CATALOG if spelling.listed(one) == spelling.listed(given["name"])), None)
    if name is None:
        raise Failure("CapabilityNotFound", f"There is no {shown(given['name'])}.", name=given["name"])
    one, tool = CATALOG[name], tools[spelling.listed(name)]
    data: Json = {
        **_summary(name, one),
        "when_to_use": one.when_to_use,
        "inputs": _fields(tool.schema, required=True),
        "outputs": _fields(tool.output or {}),
        "side_effects": [{"description": what, "reversible": back} for what, back in one.side_effects],
        "common_patterns": [{"title": title, "steps": list(steps)} for title, steps in one.common_patterns],
        "errors": [_error(kind) for kind in one.errors],
    }
    return Answer("\n".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in data.items()), data)


def _fields(schema: Json, *, required: bool = False) -> list[Json]:
    found: list[Json] = []
    properties: dict[str, Json] = schema.get("properties", {})
    for name, field in properties.items():
        if name in ("notices", "error"):  # of any answer, and no result of the capability
            continue
        row: dict[str, Any] = {"name": name, "type": _type(field)}
        if required:
            row["required"] = name in schema.get("required", ())
        row |= {key: field[key] for key in ("default", "enum", "description") if key in field}
        found.append(row)
    return found


def _type(field: Json) -> object:
    return [one["type"] for one in field["anyOf"]] if "anyOf" in field else field["type"]


def _error(name: str) -> Json:
    kind = KINDS[name]
    recovery = [{"action": action, "description": what} for action, what in kind.recovery]
    return {"type": name, "description": kind.sentence, "recovery": recovery, "retryable": kind.retryable}
