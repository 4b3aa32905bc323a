"""The protocol: our tools on the SDK's low-level server, both eras.

It and `protocol/` are the only importers of `mcp`, which takes a second to load.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import ByteReceiveStream, ByteSendStream, TaskGroup
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_dual_era_loop
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from bide.api import Jobs
from bide.mcpserver import channel, llmresources, patience, refusal, resources, riding, spelling, toolsets
from bide.mcpserver.instructions import instructions
from bide.mcpserver.protocol import callers, eliciting, fixed, frames, results
from bide.mcpserver.protocol.abilities import Served
from bide.mcpserver.protocol.callers import known, over_http
from bide.mcpserver.protocol.channels import Channel
from bide.mcpserver.protocol.subscriptions import Subscriptions, not_found
from bide.mcpserver.protocol.tasks import TaskMethods
from bide.mcpserver.scope import Arrivals, Own
from bide.mcpserver.shown import Memories, Showing
from bide.mcpserver.tasks import Tasks
from bide.mcpserver.tool import Answer, Call, Caller, InputNeeded, Tool, caller_of, fitted, renamed, stateful_actions
from bide.model import arguments
from bide.model.errors import BadRequest, BideError, InternalError
from bide.model.schema import Json
from bide.settings import Settings
from bide.stalls import held
from bide.version import VERSION

log = logging.getLogger(__name__)


class Door:
    """Serves MCP clients with the verbs of one Jobs."""

    tasks: Callable[[Jobs], Tasks] = Tasks
    """What tasks are."""

    def __init__(self, jobs: Jobs, group: TaskGroup, settings: Settings | None = None) -> None:
        """One server object for all connections; who calls is known by the connection. `group` outlives them."""
        self._jobs = jobs
        self._group = group
        self._settings = settings
        self._toolsets = toolsets.made(settings)
        self._arrivals: dict[str, Arrivals] = {}
        self._riding = riding.Riding(jobs.outbox)
        self._memories = Memories()
        self._tasks = TaskMethods(jobs, type(self).tasks(jobs), self._asked)
        self._subscriptions = Subscriptions(jobs, group, lambda ctx: self._own(known(ctx)), self._tasks.note)
        self.server: Server[Caller] = Served(
            "bide",
            version=VERSION,
            on_list_tools=lambda ctx, params: held("MCP tools/list", self._list_tools(ctx, params)),
            on_call_tool=self._call_tool,
            on_list_resources=lambda ctx, params: held("MCP resources/list", self._list_resources(ctx, params)),
            on_list_resource_templates=fixed.list_templates,
            on_read_resource=lambda ctx, params: held("MCP resources/read", self._read_resource(ctx, params)),
            on_subscribe_resource=self._subscriptions.subscribe,
            on_unsubscribe_resource=self._subscriptions.unsubscribe,
            on_subscriptions_listen=self._subscriptions.listen,
            on_list_prompts=fixed.list_prompts,
            on_get_prompt=fixed.get_prompt,
            lifespan=over_http,
        )
        self.server.middleware.append(self._instruct)
        self._tasks.serve(self.server, self._subscriptions)

    def within(self, jobs: Jobs) -> Door:
        """The same for a client that has other verbs: those of the job in which it runs."""
        return type(self)(jobs, self._group, self._settings)

    async def serve(self, source: ByteReceiveStream, sink: ByteSendStream, hello: Json) -> None:
        """Speak with one client over lines of JSON until it goes away; `hello` says who it is."""
        caller = caller_of(hello)
        incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        options, instead = None, frames.passed
        there = self._riding.connected(caller.connection, again=bool(hello.get("again")))
        async with there, anyio.create_task_group() as group:
            if caller.channel and caller.owner:
                found = Channel(self._jobs.outbox, caller.owner, write)
                options = self.server.create_initialization_options(None, {channel.CAPABILITY: {}})
                instead = found.answered
                group.start_soon(found.serve)
            group.start_soon(lambda: held("MCP reading", frames.receive(source, incoming, write.clone(), instead)))
            group.start_soon(lambda: held("MCP writing", frames.transmit(sink, outgoing)))
            # Whoever comes again may have lost what it was answered.
            self._memories.drop(caller.connection)
            await serve_dual_era_loop(self.server, read, write, lifespan_state=caller, init_options=options)
            self._memories.drop(caller.connection)
            group.cancel_scope.cancel()

    async def _instruct(self, ctx: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        """Tell a client that connects how its own tools are used."""
        answer = await call_next(ctx)
        if ctx.method not in ("initialize", "server/discover"):
            return answer
        background = any(tool.name == "job" and tool.listed for tool in self._toolsets["job"])
        names = known(ctx).toolsets
        return {**answer, "instructions": instructions(names, background=background, stateful=self._stateful(names))}

    def _stateful(self, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the tools of `handles` with their actions, but for those whose names belong to a toolset before it."""
        before = names[: names.index("handles")] if "handles" in names else ()
        taken = {tool.name for name in before for tool in self._toolsets.get(name, ())}
        found = {tool.name: stateful_actions(tool) for tool in self._toolsets["handles"] if tool.name not in taken}
        return {name: actions for name, actions in found.items() if actions}

    def _tools(self, ctx: Any) -> dict[str, Tool]:
        """Return the tools of the caller's toolsets by name; the first toolset that has a name gives the tool, or one with a wider one."""
        names = known(ctx).toolsets
        unknown = [name for name in names if name not in self._toolsets]
        if unknown:
            raise MCPError(code=types.INVALID_PARAMS, message=refusal.no_toolset(unknown[0], self._toolsets))
        found: dict[str, Tool] = {}
        for name in names:
            for tool in self._toolsets[name]:
                other = found.setdefault(tool.name, tool)
                if other is not tool:
                    found[tool.name] = other.wider or tool.wider or other
        return found

    async def _list_tools(self, ctx: Any, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        tools = self._tools(ctx).values()
        return types.ListToolsResult(tools=[results.listed(tool) for tool in tools if tool.listed])

    async def _call_tool(self, ctx: Any, params: types.CallToolRequestParams) -> Any:
        tools = self._tools(ctx)
        caller = known(ctx)
        tool = tools.get(params.name) or tools.get(spelling.listed(params.name))
        if tool is None:
            sentence = (
                f"no tool {params.name[:100]!r}; known are {', '.join(name for name in tools if tools[name].listed)}"
            )
            if "process" in caller.toolsets:
                # The vocabulary of this toolset names the code.
                raise MCPError(code=types.METHOD_NOT_FOUND, message=sentence)
            return results.refused("unknown_tool", sentence)
        given: dict[str, Any] = arguments.meant(renamed(tool, params.arguments or {}), tool.schema)
        wrong = arguments.fault(given, tool.schema)
        if wrong is not None:
            refused = tool.refuse(BadRequest(detail=wrong.sentence, field=wrong.field))
            return results.result(fitted(refused, caller.display, ours=tool in self._toolsets["core"]))
        call = await eliciting.resumed(ctx, self._asked(ctx))
        answer = await held(f"MCP tools/call {tool.name}", self._told_answer(ctx, tool, call, given))
        if not tool.reads_only:
            call.own.arrivals.ring()
        return answer

    def _asked(self, ctx: Any) -> Call:
        """A call as its tool knows it."""
        caller = known(ctx)
        return Call(
            jobs=self._jobs,
            own=self._own(caller),
            caller=caller,
            # Only a copier says a request again; ids of other clients need not be unique.
            key=f"mcp:{caller.connection}:{ctx.request_id}" if caller.connection else f"mcp:{secrets.token_hex(16)}",
            progress=lambda done, said: ctx.session.report_progress(done, None, said),
            later=lambda act: self._group.start_soon(_quietly, act),
            longest=patience.longest(caller.client, caller.patience),
            elicit=eliciting.elicit(ctx),
            asks_again=eliciting.asks_again(ctx),
            shown=Showing(self._memories.of(caller.connection or callers.session_of(ctx))),
        )

    async def _told_answer(self, ctx: Any, tool: Tool, call: Call, given: dict[str, Any]) -> Any:
        ours = tool in self._toolsets["core"]

        def shown(answer: Answer) -> Any:
            return results.result(fitted(answer, call.caller.display, ours=ours))

        async def made() -> Answer:
            return fitted(await tool.act(call, given), call.caller.display, ours=ours)

        try:
            taken = await self._tasks.taken(ctx, tool, call, given)
            if taken is not None:
                return taken
            answer = await self._riding.ridden(call, tool, made, ours=ours)
            call.shown.commit()
            return results.result(answer)
        except MCPError:
            raise
        except BideError as error:
            return shown(tool.refuse(error))
        except InputNeeded as needed:
            return eliciting.input_required(call, needed.posed)
        except Exception as error:
            log.exception("a tool call failed")
            return shown(tool.refuse(InternalError(detail=str(error))))

    def _own(self, caller: Caller) -> Own:
        return Own(self._jobs, caller.owner, self._arrivals.setdefault(caller.owner, Arrivals()), caller.reach)

    async def _list_resources(self, ctx: Any, _: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        await self._subscriptions.listed(ctx)
        found = await resources.listed(self._jobs, self._own(known(ctx)))
        if "llm" in known(ctx).toolsets:
            found += llmresources.LISTED
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=one.uri, name=one.name, description=one.description, mime_type=one.kind)
                for one in found
            ]
        )

    async def _read_resource(self, ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        try:
            if uri.partition("://")[0] in llmresources.SCHEMES:
                kind, text = await llmresources.read(self._jobs, known(ctx), uri)
            else:
                kind, text = await self._read(self._own(known(ctx)), uri)
        except BideError as error:
            raise not_found(ctx, uri, error) from error
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=kind, text=text)])

    async def _read(self, own: Own, uri: str) -> tuple[str, str]:
        with self._jobs.outbox.answering(own.owner) as told:
            found = await resources.read(self._jobs, own, uri)
            self._jobs.outbox.told(told)
        return found


async def _quietly(act: Callable[[], Awaitable[object]]) -> None:
    try:
        await act()
    except BideError as error:
        log.info("what was to be done later came to nothing: %s", error)
