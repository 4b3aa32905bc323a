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
        input_schema={**tool.schema, **tool.also},
        output_schema=tool.output,
        _meta=tool.meta,
        execution=None
        if tool.task is None
        else types.ToolExecution(task_support="required" if tool.needs_task else "optional"),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.reads_only,
            destructive_hint=tool.destructive and not tool.reads_only,
            idempotent_hint=tool.idempotent or tool.reads_only,
            open_world_hint=False,
        ),
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
