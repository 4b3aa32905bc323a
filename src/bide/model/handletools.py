"""The stateful tools that an operator names in a home's settings, and what such a tool may be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta

from msgspec import Struct, field

ACTIONS = ("spawn", "fetch", "apply", "abort")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}", re.ASCII)
_PARAMETER = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)
_TAKEN = ("action", "id", "input")


class ToolSettings(Struct, frozen=True):
    """A tool of the toolset `handles` that the operator names: a command that agents spawn by that name."""

    command: str | tuple[str, ...] = ()
    """For the shell, or words."""
    description: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    """What an agent may say at the spawn, each with its description; the command finds it in its environment."""
    required: tuple[str, ...] = ()
    """The parameters that must be given."""
    actions: tuple[str, ...] = ()
    """What it can do; if not given, all but `apply`, and that as well where there is input."""
    cwd: str = ""
    """Where it runs, seen from the caller's folder."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    stdin: bool = False
    pty: bool = False
    timeout: timedelta = timedelta(0)
    """It is ended after this long; never, if zero."""


class HandlesSettings(Struct, frozen=True):
    """The stateful tools of the toolset `handles`."""

    builtin: tuple[str, ...] = ("shell", "python", "terminal")
    """Which of our own are offered."""
    combinators: bool = False
    """Show clients the schema of each action (`oneOf`, `anyOf`), which some models' services refuse."""
    tools: Mapping[str, ToolSettings] = field(default_factory=dict[str, ToolSettings])
    """More of them, by name."""


def check_tool(name: str, tool: ToolSettings) -> str | None:
    """What is wrong with a tool of the operator's; `None` if nothing is."""
    wrong = {
        "must have a name of letters, digits, '_' and '-', not one that is taken": not _NAME.fullmatch(name)
        or name in ("await", *HandlesSettings().builtin),
        "needs a command": not tool.command,
        "has a parameter whose name is not lower case letters, digits and '_', or is action, id or input": any(
            not _PARAMETER.fullmatch(one) or one in _TAKEN for one in tool.parameters
        ),
        "requires what is no parameter of it": not set(tool.required) <= set(tool.parameters),
        f"has actions that are not among {', '.join(ACTIONS)}": not set(tool.actions) <= set(ACTIONS),
        "cannot do without the action spawn": bool(tool.actions) and "spawn" not in tool.actions,
        "can apply nothing without stdin or pty": "apply" in tool.actions and not (tool.stdin or tool.pty),
        "has a terminal for its input; leave stdin or pty out": tool.stdin and tool.pty,
    }
    return next((said for said, holds in wrong.items() if holds), None)


def actions_of(tool: ToolSettings) -> tuple[str, ...]:
    """What a tool can do, in the usual order."""
    usual = [action for action in ACTIONS if action != "apply" or tool.stdin or tool.pty]
    return tuple(action for action in ACTIONS if action in (tool.actions or usual))
