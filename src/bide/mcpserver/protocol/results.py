"""Tools and answers in the protocol's form."""

from __future__ import annotations

import mcp_types as types

from bide.mcpserver.tool import Answer, Tool, sendable
from bide.model.plaintext import uncontrolled


def listed(tool: Tool) -> types.Tool:
    """A tool as clients see it."""
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema={**(tool.schema if tool.shown is None else tool.shown), **tool.also},
        output_schema=tool.output,
        _meta=tool.meta,
        execution=None
        if tool.task is None
        else types.ToolExecution(task_support="required" if tool.needs_task else "optional"),
        annotations=_hints(tool),
    )


def _hints(tool: Tool) -> types.ToolAnnotations | None:
    """Return the hints that differ from the protocol's defaults; each of the others would cost every client tokens."""
    if tool.reads_only:
        return types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    if tool.destructive and not tool.idempotent:
        return None
    return types.ToolAnnotations(
        destructive_hint=None if tool.destructive else False, idempotent_hint=tool.idempotent or None
    )


def result(answer: Answer) -> types.CallToolResult:
    """An answer, as text and as data."""
    answer = sendable(answer)
    parts = [answer.text, answer.aside] if answer.aside else [answer.text]
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=uncontrolled(part)) for part in parts],
        structured_content=None if answer.bare else answer.data,
        is_error=answer.is_error,
    )


def refused(code: str, sentence: str) -> types.CallToolResult:
    """An error, as text and as data."""
    return result(Answer(sentence, {"error": {"code": code, "message": sentence}}, is_error=True))
