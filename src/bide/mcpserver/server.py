"""The protocol: our tools on the SDK's low-level server, both eras. The only importer of `mcp`; it takes a second to load."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import ByteReceiveStream, ByteSendStream, TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_dual_era_loop
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from bide.api import Jobs
from bide.mcpserver import arguments, patience, resources, riding, toolsets
from bide.mcpserver.prompts import PROMPTS
from bide.mcpserver.scope import Arrivals, Own
from bide.mcpserver.tool import Answer, Call, Caller, Json, Tool, caller_of
from bide.model.errors import BideError
from bide.model.owners import owner_of
from bide.version import VERSION

log = logging.getLogger(__name__)

INSTRUCTIONS = (
    "bide runs what takes time as durable jobs. Pattern: run; if the answer is a job that still runs, do other work and then "
    "await it (one call, costs nothing while it waits). Never poll in a loop. Jobs outlive you: jobs lists yours."
)
_NOT_FOUND = -32002
_MAX_FRAME = 16 * 1024 * 1024


class Door:
    """Serves MCP clients with the verbs of one Jobs."""

    def __init__(self, jobs: Jobs, group: TaskGroup) -> None:
        """One server object for all connections; who calls is known by the connection. `group` outlives them."""
        self._jobs = jobs
        self._group = group
        self._toolsets = toolsets.made()
        self._arrivals: dict[str, Arrivals] = {}
        self.server: Server[Caller] = Server(
            "bide",
            version=VERSION,
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=_list_templates,
            on_read_resource=self._read_resource,
            on_list_prompts=_list_prompts,
            on_get_prompt=_get_prompt,
            lifespan=_over_http,
        )

    async def serve(self, source: ByteReceiveStream, sink: ByteSendStream, hello: Json) -> None:
        """Speak with one client over lines of JSON until it goes away; `hello` says who it is."""
        caller = caller_of(hello)
        incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as group:
            group.start_soon(_receive, source, incoming)
            group.start_soon(_transmit, sink, outgoing)
            await serve_dual_era_loop(self.server, read, write, lifespan_state=caller)
            group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            # What the last answer carried may never have been read.
            await self._jobs.outbox.release(f"mcp:{caller.connection}")

    def _tools(self, ctx: Any) -> dict[str, Tool]:
        """The tools of the caller's toolsets by name; the first toolset that has a name gives the tool."""
        caller: Caller = ctx.lifespan_context
        found: dict[str, Tool] = {}
        for name in caller.toolsets:
            for tool in self._toolsets[name]:
                found.setdefault(tool.name, tool)
        return found

    async def _list_tools(self, ctx: Any, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_listed(tool) for tool in self._tools(ctx).values()])

    async def _call_tool(self, ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        known = self._tools(ctx)
        tool = known.get(params.name)
        if tool is None:
            return _refused("unknown_tool", f"no tool {params.name!r}; known are {', '.join(known)}")
        given: dict[str, Any] = params.arguments or {}
        wrong = arguments.fault(given, tool.schema)
        if wrong is not None:
            return _refused("bad_request", wrong)
        caller = _known(ctx)
        call = Call(
            jobs=self._jobs,
            own=self._own(caller),
            caller=caller,
            # Only a copier says a request again; ids of other clients need not be unique.
            key=f"mcp:{caller.connection}:{ctx.request_id}" if caller.connection else f"mcp:{secrets.token_hex(16)}",
            progress=lambda done, said: ctx.session.report_progress(done, None, said),
            later=lambda act: self._group.start_soon(_quietly, act),
            longest=patience.longest(caller.client, caller.patience),
        )
        return await _answered(lambda: self._done(tool, call, given))

    async def _done(self, tool: Tool, call: Call, given: dict[str, Any]) -> Answer:
        if tool in self._toolsets["core"]:
            return await riding.ridden(self._jobs.outbox, call, lambda: tool.act(call, given))
        with self._jobs.outbox.answering(call.caller.owner) as told:
            answer = await tool.act(call, given)
            self._jobs.outbox.told(told, carrier=riding.carrier_of(call))
        return answer

    def _own(self, caller: Caller) -> Own:
        return Own(self._jobs, caller.owner, self._arrivals.setdefault(caller.owner, Arrivals()))

    async def _list_resources(self, ctx: Any, _: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        found = await resources.listed(self._jobs, self._own(_known(ctx)))
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=one.uri, name=one.name, description=one.description, mime_type=one.kind)
                for one in found
            ]
        )

    async def _read_resource(self, ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        try:
            kind, text = await resources.read(self._jobs, self._own(_known(ctx)), uri)
        except BideError as error:
            raise MCPError(code=_NOT_FOUND, message=str(error), data={"uri": uri}) from error
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=kind, text=text)])


@contextlib.asynccontextmanager
async def _over_http(_: Server[Caller]) -> AsyncGenerator[Caller]:
    """Who calls over HTTP: a client of this user that says no more of itself than its name."""
    yield Caller(owner="", client="", cwd=os.path.expanduser("~"), env=dict(os.environ), connection="")


async def _list_templates(_: Any, __: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult(
        resource_templates=[
            types.ResourceTemplate(uri_template=uri, name=name, description=description, mime_type=kind)
            for uri, (name, description, kind) in resources.TEMPLATES.items()
        ]
    )


async def _list_prompts(_: Any, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
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
            for prompt in PROMPTS
        ]
    )


async def _get_prompt(_: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    prompt = next((prompt for prompt in PROMPTS if prompt.name == params.name), None)
    if prompt is None:
        known = ", ".join(prompt.name for prompt in PROMPTS)
        raise MCPError(code=types.INVALID_PARAMS, message=f"no prompt {params.name!r}; known are {known}")
    given = params.arguments or {}
    missing = [place for place in prompt.places if not given.get(place)]
    if missing:
        raise MCPError(code=types.INVALID_PARAMS, message=f"the prompt {prompt.name!r} needs {missing[0]!r}")
    content = types.TextContent(type="text", text=prompt.filled(given))
    return types.GetPromptResult(
        description=prompt.description, messages=[types.PromptMessage(role="user", content=content)]
    )


async def _quietly(act: Callable[[], Awaitable[object]]) -> None:
    try:
        await act()
    except BideError as error:
        log.info("what was to be done later came to nothing: %s", error)


async def _answered(act: Callable[[], Awaitable[Answer]]) -> types.CallToolResult:
    try:
        answer = await act()
    except BideError as error:
        return _refused(error.code, str(error))
    except (OSError, ValueError) as error:
        log.exception("a tool call failed")
        return _refused("internal_error", f"bide failed: {error}; its daemon's log has the details")
    return _result(answer)


def _known(ctx: Any) -> Caller:
    """The caller, with the name that its client gives itself."""
    caller: Caller = ctx.lifespan_context
    found = ctx.session.client_params
    client = "mcp" if found is None else found.client_info.name
    said: Mapping[str, str] = {} if ctx.request is None else ctx.request.headers
    cwd = said.get("bide-folder", caller.cwd)
    owner = said.get("bide-owner") or caller.owner or owner_of(client, cwd)
    return replace(caller, client=client, cwd=cwd, owner=owner)


def _listed(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.schema,
        annotations=types.ToolAnnotations(
            read_only_hint=tool.reads_only,
            destructive_hint=tool.destructive and not tool.reads_only,
            idempotent_hint=tool.idempotent or tool.reads_only,
            open_world_hint=False,
        ),
    )


def _result(answer: Answer) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=answer.text)],
        structured_content=answer.data,
        is_error=answer.is_error,
    )


def _refused(code: str, sentence: str) -> types.CallToolResult:
    return _result(Answer(sentence, {"error": {"code": code, "message": sentence}}, is_error=True))


async def _receive(source: ByteReceiveStream, incoming: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
    """Lines into messages. A line that is no message is told to the server, which answers it."""
    rest = b""
    async with incoming:
        async for data in source:
            *lines, rest = (rest + data).split(b"\n")
            if len(rest) > _MAX_FRAME:
                raise ValueError("a frame is longer than 16 MiB")
            for line in lines:
                if line.strip():
                    await incoming.send(_message(line))


def _message(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


async def _transmit(sink: ByteSendStream, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
    async with outgoing:
        async for message in outgoing:
            await sink.send(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
