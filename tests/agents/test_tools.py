"""Tools from Python and TOML, and their schemas for providers."""

import json
import tomllib
from datetime import timedelta
from typing import Any

import pytest
from tests.agents.desk import STATEFUL, awaiting, said, shell

from bide import BideError
from bide.agents import Call, Context, Spawn, Tool, Tools, ToolSettings, coordinate
from bide.api import Jobs
from bide.model.arguments import fault

_TOML = """
[conversation.tools.cargo_check]
command = 'echo "checking ${package:-all}"'
description = 'Checks.'
parameters = { package = 'only this one' }

[conversation.tools.cargo_check.spawn]
stateful = true

[conversation.tools.cargo_check.spawn.notifications]
on_success = false
on_content = true

[conversation.tools.cargo_check.spawn.lifecycle]
on_turn_end = 'await'
await_timeout = '5s'
"""


def _configured(text: str) -> Tools:
    tools = Tools()
    tools.configured(tomllib.loads(text), "agent.toml")
    return tools


def test_131_a_tool_is_configured_as_in_the_document_and_has_its_defaults() -> None:
    tool = _configured(_TOML).get("cargo_check")
    assert tool is not None
    spawn = tool.spawn
    assert (spawn.stateful, spawn.lifecycle.on_turn_end) == (True, "await")
    assert (spawn.lifecycle.await_timeout, spawn.lifecycle.wait_timeout) == (
        timedelta(seconds=5),
        timedelta(seconds=300),
    )
    said = spawn.notifications
    assert (said.on_success, said.on_failure, said.on_waiting, said.on_content) == (False, True, True, True)


def test_132_138_without_a_word_the_assistant_is_told_and_asked() -> None:
    spawn = Spawn()
    said = spawn.notifications
    assert (said.on_success, said.on_failure, said.on_waiting, said.on_content) == (True, True, True, False)
    assert (spawn.stateful, spawn.lifecycle.on_turn_end) == (False, "inquire")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[conversation.tools.x]\ncommand = 'true'\nspwan = 1", "did you mean conversation.tools.x.spawn"),
        ("[conversation.tools.x]\ndescription = 'y'", "needs a command"),
        ("[conversation.tools.await]\ncommand = 'true'", "not one that is taken"),
        ("[conversation.tools.x]\ncommand = 'true'\nspawn = true", "is a section"),
        (
            "[conversation.tools.x]\ncommand = 'true'\n[conversation.tools.x.spawn.lifecycle]\non_turn_end = 'wait'",
            "must be one of inquire, await, abort",
        ),
    ],
)
def test_a_wrong_configuration_is_refused_by_its_key(text: str, sentence: str) -> None:
    with pytest.raises(BideError) as refused:
        _configured(text)
    assert sentence in str(refused.value)
    assert "agent.toml" in str(refused.value)


async def _search(_: Context, __: dict[str, Any]) -> str:
    return ""


def _tools() -> Tools:
    plain = Tool("search", "Searches.", _search, {"query": {"type": "string"}}, ("query",))
    return Tools(shell(), plain)


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({}, [1, "x", [1, {"a": None}], {"a": 1}, True], []),
        ({"description": "anything"}, ["x"], []),
        ({"enum": [1, "x"]}, [1, "x"], [2]),
        ({"type": ["string", "null"], "minLength": 2}, ["ab", None], ["a", 1]),
        ({"type": "array"}, [[], [1, "x"]], ["x"]),
        ({"type": "object"}, [{}, {"a": {"b": 1}}], ["x"]),
        (
            {"anyOf": [{"type": "object", "properties": {"a": {"type": "integer"}}}, {"type": "object"}]},
            [{"b": 1}],
            [1],
        ),
        ({"oneOf": [{"type": "string"}]}, ["x"], []),
    ],
)
async def test_101_a_property_may_have_any_schema(local: Jobs, schema: Any, good: list[Any], bad: list[Any]) -> None:
    async def echo(_: Context, given: dict[str, Any]) -> str:
        return json.dumps(given["x"])

    tools = Tools(Tool("echo", "Echoes.", echo, {"x": schema}, ("x",)))
    assert all(tools.schemas(provider) for provider in ("plain", "openai", "anthropic", "gemini"))
    async with coordinate(local, tools) as desk:
        for value in good:
            (response,) = await desk.batch([Call("1", "echo", {"x": value})])
            assert (response.text, response.is_error) == (json.dumps(value), False)
        for value in bad:
            (response,) = await desk.batch([Call("1", "echo", {"x": value})])
            assert response.is_error
            assert response.text.startswith("'x' must be ")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"properties": {"x": {"type": "text"}}}, "'x' has the type 'text'; known are string, boolean, "),
        ({"properties": {"x": {"type": "array", "items": {"type": "int"}}}}, "'x[]' has the type 'int'"),
        ({"properties": {"x": {"type": "object", "properties": {"y": 3}}}}, "the schema of 'x.y' must be an object"),
        ({"properties": {"x": "string"}}, "the schema of 'x' must be an object such as {'type': 'string'}"),
        ({"properties": {"x": {"enum": "abc"}}}, "the enum of 'x' must be a list"),
        ({"properties": {"x": {"type": "integer", "minimum": "1"}}}, "the minimum of 'x' must be a number"),
        ({"required": ("x",)}, "'x' is required and not among its properties; known are none"),
        ({"work": 3}, "'work' must be a function of a Context and the arguments, or ToolSettings, not 3"),
    ],
)
def test_101_a_tool_that_no_call_could_reach_is_refused_when_it_is_made(given: dict[str, Any], sentence: str) -> None:
    made: Any = {"name": "t", "description": "", "work": _search, **given}
    with pytest.raises(BideError) as refused:
        Tool(**made)
    assert f"the tool 't': {sentence}" in str(refused.value)


def test_101_the_plain_schema_has_one_form_for_each_action() -> None:
    stateful, plain, awaits = _tools().schemas()
    actions = [form["properties"].get("action", {}).get("const") for form in stateful["parameters"]["oneOf"]]
    assert actions == ["spawn", "fetch", "abort", None]
    assert plain["parameters"]["required"] == ["query"]
    assert awaits["parameters"]["anyOf"] == [{"required": ["any"]}, {"required": ["all"]}]
    for form in stateful["parameters"]["oneOf"]:
        assert form["additionalProperties"] is False


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic", "gemini", "mistral"])
def test_a_provider_that_takes_no_combinators_gets_none_at_the_top(provider: str) -> None:
    for told in _tools().schemas(provider):
        inner = told.get("function", told)
        schema = inner.get("parameters") or inner["input_schema"]
        assert schema["type"] == "object"
        assert not {"oneOf", "anyOf", "allOf"} & set(schema)
        assert inner["name"]
        assert inner["description"]


def test_gemini_gets_only_what_it_takes() -> None:
    said = json.dumps(_tools().schemas("gemini"))
    assert "additionalProperties" not in said
    assert "const" not in said
    assert '"null"' not in said


def test_what_the_flat_schema_describes_is_what_the_forms_take() -> None:
    (stateful, *_) = _tools().schemas("openai")
    flat = stateful["function"]["parameters"]
    given = {"action": "spawn", "id": "x", "command": "true"}
    assert fault(given, flat) is None
    tool = _tools().get("shell")
    assert tool is not None
    assert fault(given, tool.forms["spawn"]) is None


def test_an_unknown_provider_is_refused_by_name() -> None:
    with pytest.raises(BideError, match="there is no provider 'acme'; known are plain"):
        _tools().schemas("acme")


def test_a_name_is_taken_once_and_await_is_nobodys() -> None:
    tools = _tools()
    with pytest.raises(BideError, match="there is a tool 'search' already"):
        tools.add(Tool("search", "", _search))
    with pytest.raises(BideError, match="this name is taken"):
        Tool("await", "", _search)
    with pytest.raises(BideError, match="'id' cannot be an argument of a stateful tool"):
        Tool("find", "", _search, {"id": {"type": "string"}}, spawn=STATEFUL)


async def test_a_decorated_function_is_a_tool_of_its_name() -> None:
    tools = Tools()

    @tools.tool(spawn=STATEFUL)
    async def add(a: int) -> int:
        """Adds."""
        return a + 1

    @tools.tool
    def subtract(a: int) -> int:
        return a - 1

    tools.command("build", "make", "Builds.", spawn=STATEFUL)
    assert tools.names == ["add", "subtract", "build", "await"]
    assert await add(1) == 2
    assert subtract(1) == 0


def test_131_a_file_that_has_only_the_spawn_of_a_tool_says_how_the_one_that_is_there_may_be_spawned() -> None:
    text = "[conversation.tools.search.spawn]\nstateful = true\nnotifications.on_content = true\nlifecycle.on_turn_end = 'abort'"
    tools = _tools()
    tools.configured(tomllib.loads(text), "agent.toml")
    found = tools.get("search")
    assert found is not None
    assert (found.spawn.stateful, found.spawn.lifecycle.on_turn_end) == (True, "abort")
    assert (found.description, found.actions) == ("Searches.", ("spawn", "fetch", "abort"))
    with pytest.raises(BideError, match="needs a command; or add the tool itself before"):
        _configured(text)


async def test_109_a_command_in_a_terminal_has_the_size_that_its_screen_is_drawn_in(local: Jobs) -> None:
    tty = Tool("tty", "A terminal.", ToolSettings("stty size", pty=True), spawn=STATEFUL)
    async with coordinate(local, Tools(tty)) as desk:
        _, awaited = await said(desk, Call("1", "tty", {"action": "spawn", "id": "t"}), awaiting(all=["t"]))
    assert awaited["completed"][0]["result"] == "24 80"
