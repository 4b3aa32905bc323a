"""What a tool that an operator names may be."""

from typing import Any

import pytest
from msgspec.structs import replace

from bide.model.handletools import ACTIONS, ToolSettings, actions_of, check_tool

BAD: dict[str, tuple[str, dict[str, Any], str]] = {
    "a name with a dot": ("a.b", {}, "must have a name of letters, digits, '_' and '-', not one that is taken"),
    "a name that is taken": ("await", {}, "must have a name of letters"),
    "a name of ours": ("shell", {}, "must have a name of letters"),
    "no command": ("x", {"command": ""}, "needs a command"),
    "no words": ("x", {"command": ()}, "needs a command"),
    "a parameter like a variable of the system": (
        "x",
        {"parameters": {"PATH": ""}},
        "has a parameter whose name is not",
    ),
    "a parameter that is a field": ("x", {"parameters": {"id": ""}}, "has a parameter whose name is not"),
    "an unknown parameter": ("x", {"required": ("p",)}, "requires what is no parameter of it"),
    "an unknown action": (
        "x",
        {"actions": ("spawn", "jump")},
        "has actions that are not among spawn, fetch, apply, abort",
    ),
    "no spawn": ("x", {"actions": ("fetch",)}, "cannot do without the action spawn"),
    "input that nobody reads": ("x", {"actions": ("spawn", "apply")}, "can apply nothing without stdin or pty"),
    "two inputs": ("x", {"stdin": True, "pty": True}, "has a terminal for its input; leave stdin or pty out"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_a_tool(what: str) -> None:
    name, given, said = BAD[what]
    wrong = check_tool(name, replace(ToolSettings("true"), **given))
    assert wrong is not None
    assert wrong.startswith(said)


def test_what_can_be_one() -> None:
    tool = ToolSettings("make", parameters={"target": "what"}, required=("target",), actions=("abort", "spawn"))
    assert check_tool("build_it-2", tool) is None
    assert actions_of(tool) == ("spawn", "abort")


def test_what_it_can_do_follows_from_its_input() -> None:
    assert actions_of(ToolSettings("cat")) == ("spawn", "fetch", "abort")
    assert actions_of(ToolSettings("cat", stdin=True)) == ACTIONS
    assert actions_of(ToolSettings("top", pty=True)) == ACTIONS
