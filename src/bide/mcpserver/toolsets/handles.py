"""The toolset `handles`: `await`, and the stateful tools whose handles it waits for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from datetime import timedelta

from bide.mcpserver.tool import Call, Tool
from bide.mcpserver.toolsets import awaiting
from bide.mcpserver.toolsets.stateful import Program, Stateful
from bide.model.handletools import ACTIONS, HandlesSettings, ToolSettings, actions_of
from bide.model.limits import Limits
from bide.model.request import Request
from bide.model.schema import Json, flag, number, text
from bide.model.screen import COLUMNS, ROWS, TERMINAL

_AROUND: Json = {
    "cwd": text(),
    "env": {"type": "object", "additionalProperties": {"type": "string"}},
    "timeout": number("end it after so many seconds", minimum=0.001),
}
_STDIN: Json = {"stdin": flag("keep its input open for apply")}


def tools(settings: HandlesSettings) -> tuple[Tool, ...]:
    """The tools that a home offers; without a stateful one there is nothing to await."""
    programs = [
        *(_BUILTIN[name]() for name in settings.builtin),
        *(_configured(name, tool) for name, tool in settings.tools.items()),
    ]
    if not programs:
        return ()
    shown = settings.combinators
    appliers = {program.name: "apply" in program.actions for program in programs}
    return (
        awaiting.Await(appliers).tool(combinators=shown),
        *(Stateful(program, appliers).tool(combinators=shown) for program in programs),
    )


def _shell() -> Program:
    return Program(
        "shell",
        "Run a shell command.",
        {"command": text(minLength=1), **_AROUND, **_STDIN},
        ("command",),
        ACTIONS,
        lambda call, given: _request(call, given, given["command"]),
    )


def _python() -> Program:
    return Program(
        "python",
        "Run Python code.",
        {"code": text(minLength=1), **_AROUND, **_STDIN},
        ("code",),
        ACTIONS,
        lambda call, given: _request(call, given, given["code"], language="python"),
    )


def _terminal() -> Program:
    return Program(
        "terminal",
        f"Run an interactive program in a terminal of {ROWS} rows and {COLUMNS} columns; its content is the screen. "
        "Input goes to it as typed: end a line with \\n.",
        {"command": text("for the shell (default: an interactive shell)", minLength=1), **_AROUND},
        (),
        ACTIONS,
        lambda call, given: _request(call, given, given.get("command") or _interactive(call), pty=True),
    )


_BUILTIN: dict[str, Callable[[], Program]] = {"shell": _shell, "python": _python, "terminal": _terminal}


def _interactive(call: Call) -> str:
    return "exec bash --norc -i" if shutil.which("bash", path=call.caller.env.get("PATH")) else "exec sh -i"


def _configured(name: str, tool: ToolSettings) -> Program:
    """A tool of the operator's: its parameters are in the environment of its command, where they cannot be taken for code."""

    def request(call: Call, given: Json) -> Request:
        said = {key: given[key] for key in tool.parameters if key in given}
        asked: Json = {"cwd": tool.cwd, "env": {**tool.env, **said}, "stdin": tool.stdin}
        seconds = tool.timeout.total_seconds()
        return _request(call, {**asked, **({"timeout": seconds} if seconds else {})}, tool.command, pty=tool.pty)

    shown = {key: text(what) for key, what in tool.parameters.items()}
    return Program(name, tool.description, shown, tool.required, actions_of(tool), request)


def _request(
    call: Call, given: Json, command: str | tuple[str, ...], *, language: str | None = None, pty: bool = False
) -> Request:
    seconds = given.get("timeout")
    return Request.of(
        command,
        cwd=os.path.join(call.caller.cwd, given.get("cwd", "")),
        env={**(TERMINAL if pty else {}), **given.get("env", {})},
        language=language,
        limits=Limits(timeout=None if seconds is None else timedelta(seconds=min(seconds, 10**9))),
        stdin=given.get("stdin", False),
        pty=pty,
    )
