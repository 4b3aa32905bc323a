"""The suite's tools, resources and prompts, put before those of a door."""

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, cast

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from tests.conformance import answers, rounds
from tests.conformance.answers import Json, text
from tests.conformance.tasks import TOOLS, FixtureTasks, greeted

from bide.mcpserver.protocol.forms import of_extension
from bide.mcpserver.server import Door
from bide.mcpserver.tool import Tool

Handler = Callable[[Any, Any], Awaitable[Any]]
_NAMES = (
    *answers.CALLS,
    *rounds.ROUNDS,
    "test_tool_with_logging",
    "test_logging_tool",
    "test_tool_with_progress",
    "test_sampling",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_reconnection",
    "test_missing_capability",
    "test_input_required_result_capabilities",
    "test_tool_with_task",
)
_ELICITS = {
    "test_elicitation": ("User response", answers.USER),
    "test_elicitation_sep1034_defaults": ("Elicitation completed", answers.DEFAULTS),
    "test_elicitation_sep1330_enums": ("Elicitation completed", answers.ENUMS),
}


class FixtureDoor(Door):
    """A door with the suite's tools beside its own."""

    tasks = FixtureTasks
    answered: ClassVar[dict[str, int]] = {"fixtures": 0, "door": 0}
    """How many requests the fixtures answered alone, and how many the door had a part in."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        server = self.server
        self._before(server, "tools/list", self._tools_too)
        self._before(server, "tools/call", self._called)
        self._before(server, "resources/list", _resources_too)
        self._before(server, "resources/templates/list", _templates_too)
        self._before(server, "resources/read", _read)
        self._before(server, "resources/subscribe", _subscribed)
        self._before(server, "resources/unsubscribe", _subscribed)
        self._before(server, "prompts/list", _prompts_too)
        self._before(server, "prompts/get", _prompted)
        server.add_request_handler("completion/complete", types.CompleteRequestParams, _completed)
        server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, _level)

    def _tools(self, ctx: Any) -> dict[str, Tool]:
        return {**super()._tools(ctx), **{tool.name: tool for tool in TOOLS}}

    def _before(self, server: Server[Any], method: str, act: Callable[[Any, Any, Handler], Awaitable[Any]]) -> None:
        """Have this done where the door would do it."""
        entry = server.get_request_handler(method)
        assert entry is not None
        own = cast("Handler", entry.handler)

        async def handle(ctx: Any, params: Any) -> Any:
            by = "fixtures"

            async def asked(ctx: Any, params: Any) -> Any:
                nonlocal by
                by = "door"
                return await own(ctx, params)

            try:
                return await act(ctx, params, asked)
            finally:
                self.answered[by] += 1

        server.add_request_handler(method, entry.params_type, handle)

    async def _tools_too(self, ctx: Any, params: Any, own: Handler) -> Any:
        found = await own(ctx, params)
        plain: Json = {"type": "object", "properties": {}}
        more = [
            types.Tool(name=name, description="of the conformance suite", input_schema=answers.SCHEMAS.get(name, plain))
            for name in _NAMES
        ]
        return found.model_copy(update={"tools": [*found.tools, *more]})

    async def _called(self, ctx: Any, params: types.CallToolRequestParams, own: Handler) -> Any:
        if params.name not in _NAMES:
            return await own(ctx, params)
        found = await self._answered(ctx, params.name, params.arguments or {}, cast("Json", dict(ctx.params)))
        return found if "resultType" in found else types.CallToolResult.model_validate(found)

    async def _answered(self, ctx: Any, name: str, given: Json, whole: Json) -> Json:
        if name in answers.CALLS:
            return answers.CALLS[name]
        if name in rounds.ROUNDS:
            steps, seals = rounds.ROUNDS[name]
            return rounds.asked(steps, whole, seals=seals) or {"content": [text(_end(name, whole))]}
        if name == "test_tool_with_task":
            return rounds.asked([rounds.NAME], whole, seals=False) or await self._task(ctx, rounds.name_in(whole))
        if name in _ELICITS:
            words, schema = _ELICITS[name]
            found = await _elicited(ctx, given.get("message", "Please fill this in"), schema)
            return {"content": [text(f"{words}: action={found.action}, content={found.content}")]}
        return await _special(ctx, name, given)

    async def _task(self, ctx: Any, name: str) -> Json:
        return {"resultType": "task", **of_extension(await greeted(self._asked(ctx), name), asks=False)}


def _end(name: str, given: Json) -> str:
    if name in ("test_input_required_result_elicitation", "test_streaming_elicitation"):
        return f"Hello, {rounds.name_in(given)}!"
    return f"state-ok {given.get('inputResponses')}"


async def _special(ctx: Any, name: str, given: Json) -> Json:
    """Tools that say something before they answer."""
    match name:
        case "test_sampling":
            return await _sampled(ctx, given["prompt"])
        case "test_missing_capability":
            needed: Json = {"requiredCapabilities": {"sampling": {}}}
            code = types.MISSING_REQUIRED_CLIENT_CAPABILITY
            raise MCPError(code=code, message="this needs sampling", data=needed)
        case "test_input_required_result_capabilities":
            return {"resultType": "input_required", "inputRequests": rounds.allowed(ctx)}
        case "test_reconnection":
            await anyio.sleep(0.1)
        case "test_tool_with_progress":
            for done in (0, 50, 100):
                await ctx.session.report_progress(done, 100)
                await anyio.sleep(0.05)
        case _:
            for what in ("Tool execution started", "Tool processing data", "Tool execution completed"):
                await ctx.session.send_log_message("info", what, related_request_id=ctx.request_id)
                await anyio.sleep(0.05)
    return {"content": [text("done")]}


async def _elicited(ctx: Any, message: str, schema: Json) -> types.ElicitResult:
    request = types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))
    related = ServerMessageMetadata(related_request_id=ctx.request_id)
    return await ctx.session.send_request(request, types.ElicitResult, metadata=related)


async def _sampled(ctx: Any, prompt: str) -> Json:
    said = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=prompt))
    request = types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[said], max_tokens=100))
    related = ServerMessageMetadata(related_request_id=ctx.request_id)
    found = await ctx.session.send_request(request, types.CreateMessageResult, metadata=related)
    return {"content": [text(f"LLM response: {found.content.text}")]}


async def _resources_too(ctx: Any, params: Any, own: Handler) -> Any:
    found = await own(ctx, params)
    more = [
        types.Resource(uri=uri, name=uri.removeprefix("test://"), mime_type=one["mimeType"])
        for uri, one in answers.RESOURCES.items()
    ]
    return found.model_copy(update={"resources": [*found.resources, *more]})


async def _templates_too(ctx: Any, params: Any, own: Handler) -> Any:
    found = await own(ctx, params)
    more = types.ResourceTemplate(uri_template=answers.TEMPLATE, name="template", mime_type="application/json")
    return found.model_copy(update={"resource_templates": [*found.resource_templates, more]})


async def _read(ctx: Any, params: types.ReadResourceRequestParams, own: Handler) -> Any:
    uri = str(params.uri)
    if uri in answers.RESOURCES:
        return types.ReadResourceResult.model_validate({"contents": [{"uri": uri, **answers.RESOURCES[uri]}]})
    before, after = answers.TEMPLATE.split("{id}")
    if uri.startswith(before) and uri.endswith(after):
        id_ = uri.removeprefix(before).removesuffix(after)
        words = f'{{"id":"{id_}","templateTest":true,"data":"Data for ID: {id_}"}}'
        content = types.TextResourceContents(uri=uri, mime_type="application/json", text=words)
        return types.ReadResourceResult(contents=[content])
    return await own(ctx, params)


async def _subscribed(ctx: Any, params: types.SubscribeRequestParams, own: Handler) -> Any:
    return types.EmptyResult() if str(params.uri) in answers.RESOURCES else await own(ctx, params)


async def _prompts_too(ctx: Any, params: Any, own: Handler) -> Any:
    found = await own(ctx, params)
    more = [
        types.Prompt(
            name=name,
            description="of the conformance suite",
            arguments=[types.PromptArgument(name=place, required=True) for place in places],
        )
        for name, places in answers.PROMPTS.items()
    ]
    return found.model_copy(update={"prompts": [*found.prompts, *more]})


async def _prompted(ctx: Any, params: types.GetPromptRequestParams, own: Handler) -> Any:
    if params.name not in answers.PROMPTS:
        return await own(ctx, params)
    if params.name == "test_input_required_result_prompt":
        missing = rounds.asked([rounds.CONTEXT], cast("Json", dict(ctx.params)), seals=False)
        if missing is not None:
            return missing
    contents = answers.prompt(params.name, cast("Json", params.arguments or {}))
    messages = [{"role": "user", "content": content} for content in contents]
    return types.GetPromptResult.model_validate({"messages": messages})


async def _completed(_: Any, __: types.CompleteRequestParams) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=["paris", "park", "party"], total=3, has_more=False))


async def _level(_: Any, __: types.SetLevelRequestParams) -> types.EmptyResult:
    return types.EmptyResult()
