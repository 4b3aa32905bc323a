"""What is the same for every client of a toolset: the templates of resources, and the prompts."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from bide.mcpserver import llmresources, resources
from bide.mcpserver.prompts import PROMPTS, Prompt
from bide.mcpserver.protocol.callers import known


async def list_templates(ctx: Any, __: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
    """Where resources are that are not listed one by one."""
    more = llmresources.TEMPLATES if "llm" in known(ctx).toolsets else {}
    return types.ListResourceTemplatesResult(
        resource_templates=[
            types.ResourceTemplate(uri_template=uri, name=name, description=description, mime_type=kind)
            for uri, (name, description, kind) in {**resources.TEMPLATES, **more}.items()
        ]
    )


def _prompts(ctx: Any) -> list[Prompt]:
    """Return those that speak of this client's tools."""
    return [prompt for prompt in PROMPTS if prompt.toolset in known(ctx).toolsets]


async def list_prompts(ctx: Any, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    """The prompts and what they need."""
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=prompt.name,
                description=prompt.description,
                arguments=[
                    types.PromptArgument(name=name, description=what, required=True)
                    for name, what in prompt.places.items()
                ],
            )
            for prompt in _prompts(ctx)
        ]
    )


async def get_prompt(ctx: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    """A prompt, filled."""
    prompts = _prompts(ctx)
    prompt = next((prompt for prompt in prompts if prompt.name == params.name), None)
    if prompt is None:
        names = ", ".join(prompt.name for prompt in prompts) or "none"
        raise MCPError(code=types.INVALID_PARAMS, message=f"no prompt {params.name!r}; known are {names}")
    given = params.arguments or {}
    missing = [place for place in prompt.places if not given.get(place)]
    if missing:
        raise MCPError(code=types.INVALID_PARAMS, message=f"the prompt {prompt.name!r} needs {missing[0]!r}")
    content = types.TextContent(type="text", text=prompt.filled(given))
    return types.GetPromptResult(
        description=prompt.description, messages=[types.PromptMessage(role="user", content=content)]
    )
