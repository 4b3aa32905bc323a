"""Forms of tasks on the wire, and what a request says of its client."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, cast

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata

from bide.mcpserver.tasks import POLL_MS, described
from bide.model.job import Job
from bide.model.schema import Json

EXTENSION = "io.modelcontextprotocol/tasks"
RELATED = "io.modelcontextprotocol/related-task"
_NAME_HEADER = "mcp-name"
CAPABILITY = types.ServerTasksCapability(
    list=types.TasksListCapability(),
    cancel=types.TasksCancelCapability(),
    requests=types.ServerTasksRequestsCapability(tools=types.TasksToolsCapability(call=types.TasksCallCapability())),
)


class Era(StrEnum):
    """The revisions that know tasks."""

    FIRST = "2025-11-25"
    EXTENSION = "2026-07-28"


def era(ctx: Any) -> Era | None:
    """Which tasks this client could know."""
    return Era(ctx.protocol_version) if ctx.protocol_version in set(Era) else None


def given(ctx: Any) -> Mapping[str, Any]:
    """What a request says, as it came."""
    return ctx.params or {}


def asked(ctx: Any) -> bool:
    """Whether a call asks for a task, as in 2025-11-25."""
    return era(ctx) is Era.FIRST and given(ctx).get("task") is not None


def declared(ctx: Any) -> bool:
    """Whether this request declares the extension."""
    return ctx.session.check_client_capability(types.ClientCapabilities(extensions={EXTENSION: {}}))


def asks(ctx: Any) -> bool:
    """Whether this client can be asked for input."""
    return ctx.session.check_client_capability(types.ClientCapabilities(elicitation=types.ElicitationCapability()))


def undeclared(what: str) -> MCPError:
    """That a client must declare the extension first."""
    needed: Json = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
    message = f"{what!r} is for clients that declare the extension {EXTENSION}"
    return MCPError(code=types.MISSING_REQUIRED_CLIENT_CAPABILITY, message=message, data=needed)


def check_header(ctx: Any) -> None:
    """Over HTTP the header that names the task must name the same one."""
    said = None if ctx.request is None else ctx.request.headers.get(_NAME_HEADER)
    if said is not None and said != given(ctx).get("taskId"):
        raise MCPError(code=types.HEADER_MISMATCH, message="Mcp-Name does not match 'taskId' of the request")


def of_first(job: Job, *, asks: bool) -> Json:
    """A task of 2025-11-25."""
    return {**described(job, asks=asks), "ttl": None, "pollInterval": POLL_MS}


def of_extension(job: Job, *, asks: bool) -> Json:
    """A task of the extension."""
    return {**described(job, asks=asks), "ttlMs": None, "pollIntervalMs": POLL_MS}


def dumped(result: types.CallToolResult) -> Json:
    """The result of a call, as it is within another."""
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


def request(message: str, schema: Json) -> Json:
    """A question, as something to ask the client."""
    params = {"mode": "form", "message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


async def elicit(ctx: Any, message: str, schema: Json, meta: Json | None = None) -> Json:
    """What the client answers to a question."""
    params = types.ElicitRequestFormParams(message=message, requested_schema=schema, _meta=cast("Any", meta))
    found = await ctx.session.send_request(
        types.ElicitRequest(params=params),
        types.ElicitResult,
        metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
    )
    return found.model_dump(mode="json")
