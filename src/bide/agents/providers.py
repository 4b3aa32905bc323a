"""Tools as the services of models want them described. Those that refuse `oneOf` at the top get one flat object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from bide.agents.tool import Tool
from bide.model.errors import BadRequest
from bide.model.handles import AWAIT, AWAIT_DESCRIPTION, await_fields, described, flattened, one_of
from bide.model.schema import Json, fields

_GEMINI = {
    *("type", "description", "enum", "items", "properties", "required", "anyOf", "nullable", "format"),
    *("minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength"),
}


def _openai(name: str, description: str, schema: Json) -> Json:
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


def _responses(name: str, description: str, schema: Json) -> Json:
    return {"type": "function", "name": name, "description": description, "parameters": schema, "strict": False}


def _anthropic(name: str, description: str, schema: Json) -> Json:
    return {"name": name, "description": description, "input_schema": schema}


def _gemini(name: str, description: str, schema: Json) -> Json:
    return {"name": name, "description": description, "parameters": gemini_schema(schema)}


def _plain(name: str, description: str, schema: Json) -> Json:
    return {"name": name, "description": description, "parameters": schema}


PROVIDERS: dict[str, tuple[Callable[[str, str, Json], Json], bool]] = {
    "plain": (_plain, True),
    "openai": (_openai, False),
    "openai-responses": (_responses, False),
    "anthropic": (_anthropic, False),
    "gemini": (_gemini, False),
    "mistral": (_openai, False),
}
"""How each wants a tool, and whether it takes `oneOf` and `anyOf` at the top of a schema."""


def schemas(tools: Iterable[Tool], provider: str = "plain", *, combinators: bool | None = None) -> list[Json]:
    """The tools for a provider; `await` is among them only if one of them is stateful."""
    if provider not in PROVIDERS:
        raise BadRequest(detail=f"there is no provider {provider!r}; known are {', '.join(PROVIDERS)}")
    form, takes = PROVIDERS[provider]
    shown = takes if combinators is None else combinators
    found = list(tools)
    told = [form(tool.name, _description(tool), _schema(tool, combinators=shown)) for tool in found]
    if any(tool.spawn.stateful for tool in found):
        told.append(form(AWAIT, AWAIT_DESCRIPTION, await_schema(combinators=shown)))
    return told


def await_schema(*, combinators: bool = False) -> Json:
    """The schema of `await`; at least one of `any` and `all` is checked in any case."""
    return {**fields((), **await_fields()), **(one_of(("any", "all")) if combinators else {})}


def _schema(tool: Tool, *, combinators: bool) -> Json:
    if not tool.spawn.stateful:
        return tool.forms[""]
    return {"type": "object", "oneOf": list(tool.forms.values())} if combinators else flattened(tool.forms)


def _description(tool: Tool) -> str:
    return described(tool.description, tool.actions) if tool.spawn.stateful else tool.description


def gemini_schema(schema: Mapping[str, Any]) -> Json:
    """A schema in the subset that this service takes: no `const`, no `additionalProperties`, and null by `nullable`."""
    if isinstance(schema.get("type"), list):
        return gemini_schema({"anyOf": [{**schema, "type": kind} for kind in schema["type"]]})
    found: Json = {key: value for key, value in schema.items() if key in _GEMINI}
    if "const" in schema:
        found["enum"] = [schema["const"]]
    if "properties" in found:
        properties = cast("dict[str, Json]", found["properties"])
        found["properties"] = {key: gemini_schema(one) for key, one in properties.items()}
    if "items" in found:
        found["items"] = gemini_schema(found["items"])
    if "anyOf" in found:
        options = cast("list[Json]", found["anyOf"])
        found["anyOf"] = [gemini_schema(one) for one in options if one.get("type") != "null"]
        if len(found["anyOf"]) < len(options):
            found["nullable"] = True
    return found
