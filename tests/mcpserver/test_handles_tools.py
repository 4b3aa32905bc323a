"""The terminal of the toolset `handles`, the tools of the configuration, and bad input."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from tests.mcpserver.clients import Agent, agent, text_of
from tests.mcpserver.handling import SETTINGS, content, settings, spawn, stopped

from bide import BideError
from bide.api import Jobs
from bide.settings import Settings, check


@pytest.fixture
async def ai(jobs_here: Jobs, tmp_path: Path) -> AsyncIterator[Agent]:
    async with agent(jobs_here, tmp_path, tools=("handles",), settings=settings(tools=SETTINGS)) as one:
        yield one


async def test_109_a_terminal_has_24_rows_of_80_columns_and_shows_its_screen(ai: Agent) -> None:
    await spawn(
        ai, "terminal", "tty", command="stty size; tput cols; printf 'a  \\nb\\033[31m!\\033[0m   \\n'; exec cat"
    )
    data = await content(ai, "terminal", "tty", "b!")
    assert data["content"] == "24 80\n80\na\nb!"
    data = await ai.data("terminal", action="apply", id="tty", input="more\n")
    assert data["content"].endswith("b!\nmore\nmore")
    data = await ai.data("terminal", action="abort", id="tty")
    assert (data["state"], data["content"]) == ("stopped", "24 80\n80\na\nb!\nmore\nmore")


async def test_109_a_shell_in_a_terminal_is_typed_to(ai: Agent) -> None:
    await spawn(ai, "terminal", "sh")
    await ai.data("terminal", action="apply", id="sh", input="PS1='ok> '\n")
    await content(ai, "terminal", "sh", "\nok>")
    data = await ai.data("terminal", action="apply", id="sh", input="clear; echo $((6 * 7))\n")
    assert data["content"] == "42\nok>"
    await ai.data("terminal", action="apply", id="sh", input="exit\n")
    assert (await stopped(ai, "sh"))["result"].startswith("42\nok> exit")


async def test_109_what_ignores_the_request_to_end_is_killed_after_two_seconds(ai: Agent) -> None:
    command = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
    await spawn(ai, "terminal", "deaf", command=command)
    await content(ai, "terminal", "deaf", "ready")
    began = anyio.current_time()
    data = await ai.data("terminal", action="abort", id="deaf")
    assert 1.9 < anyio.current_time() - began < 4
    assert (data["state"], data["content"]) == ("stopped", "ready")


async def test_tools_of_the_configuration_take_their_parameters_as_text_and_never_as_code(ai: Agent) -> None:
    assert (await ai.data("greet", who="$(id); world"))["result"] == "hello $(id); world, gladly\n"
    assert (await ai.data("greet", who="ann", mood="twice"))["result"] == "hello ann, twice\n"
    assert await ai.refusal("greet") == ("bad_request", "the call needs 'who'")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "the call needs 'command'"),
        ({"action": "spawn"}, "spawn: the call needs 'id'"),
        ({"action": "spawn", "id": "x"}, "spawn: the call needs 'command'"),
        ({"action": "spawn", "id": "a b", "command": "x"}, "`a b` cannot be a handle ID; use 1 to 64 letters"),
        ({"action": "spawn", "id": "../x", "command": "x"}, "`../x` cannot be a handle ID; use 1 to 64 letters"),
        ({"action": "spawn", "id": "x" * 9999, "command": "x"}, f"`{'x' * 80}…` cannot be a handle ID"),
        ({"action": "spawn", "id": "job-a-1", "command": "x"}, "`job-a-1` cannot be a handle ID"),
        ({"action": "spawn", "id": "x", "command": "x", "cwd": "/no/such"}, "no folder '/no/such' to run in"),
        ({"action": "spawn", "id": "x", "command": "x", "timeout": -1}, "'timeout' must be at least 0.001, not -1"),
        ({"action": "jump", "id": "x"}, "'action' must be one of spawn, fetch, apply, abort, not 'jump'"),
        ({"action": 7}, "'action' must be a string, not 7"),
        ({"action": "fetch"}, "fetch: the call needs 'id'"),
        ({"action": "fetch", "id": ""}, "'id' must be at least 1 characters, not 0"),
        ({"action": "fetch", "id": "a\nb\x1b[0m"}, "Handle `a\\nb\\x1b[0m` not found"),
        (
            {"action": "fetch", "id": "x", "command": "y"},
            "fetch: the call has no field 'command'; known are action, id",
        ),
        ({"action": "apply", "id": "x"}, "apply: the call needs 'input'"),
        ({"action": "apply", "id": "nothing", "input": ""}, "Handle `nothing` not found"),
        ({"action": "abort", "id": "nothing"}, "Handle `nothing` not found"),
        ({"commnd": "x"}, "the call has no field 'commnd'; did you mean 'command'"),
    ],
)
async def test_bad_input_names_the_field_and_the_fix_in_the_shape_of_an_error(
    ai: Agent, given: dict[str, object], sentence: str
) -> None:
    answer = await ai.ask("shell", **given)
    assert answer.is_error
    assert answer.structured_content is not None
    error = answer.structured_content["error"]
    assert set(error) == {"code", "message", "trace", "transient"}
    assert (error["message"], error["trace"], error["transient"]) == (text_of(answer), [], False)
    assert text_of(answer).startswith(sentence)


def test_131_the_sections_of_a_program_in_the_settings_of_a_home_are_checked_and_left_to_it() -> None:
    said = {"conversation": {"tools": {"check": {"spawn": {"stateful": True}}, "make": {"command": "make"}}}}
    assert check(said, "config.toml") == Settings()


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"tools": {"x": {"spawn": {"statful": True}}}}, "did you mean conversation.tools.x.spawn.stateful"),
        (
            {"tools": {"x": {"spawn": {"lifecycle": {"on_turn_end": "go"}}}}},
            "'conversation.tools.x' lifecycle.on_turn_end must",
        ),
        ({"tools": {"x": {"description": "y"}}}, "'conversation.tools.x' needs a command"),
        ({"tools": {"x": 3}}, "'conversation.tools.x' must be a section, written [conversation.tools.x]"),
        ({"tools": 3}, "'conversation.tools' must be a section"),
        (3, "'conversation' must be a section"),
    ],
)
def test_131_a_wrong_section_of_a_program_is_refused_by_its_key(said: object, sentence: str) -> None:
    with pytest.raises(BideError) as refused:
        check({"conversation": said}, "config.toml")
    assert sentence in str(refused.value)
