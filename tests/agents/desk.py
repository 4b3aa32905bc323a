"""An agent at work in tests: some tools, and batches of calls in a few words."""

import json
from typing import Any

from bide.agents.calls import Call, Response
from bide.agents.coordinator import Coordinator
from bide.agents.registry import Tools
from bide.agents.tool import Tool
from bide.model.handletools import ToolSettings
from bide.model.spawning import Lifecycle, Spawn

STATEFUL = Spawn(stateful=True)


def shell(name: str = "shell", **lifecycle: Any) -> Tool:
    """A tool that runs its argument `command` in a shell."""
    settings = ToolSettings('eval "$command"', parameters={"command": "shell code"}, required=("command",))
    return Tool(name, "Runs shell code.", settings, spawn=Spawn(stateful=True, lifecycle=Lifecycle(**lifecycle)))


def tools(*more: Tool) -> Tools:
    return Tools(shell(), *more)


def spawn(id_: str, command: str, tool: str = "shell") -> Call:
    return Call(f"call-{id_}", tool, {"action": "spawn", "id": id_, "command": command})


def awaiting(**given: Any) -> Call:
    return Call("call-await", "await", given)


async def said(coordinator: Coordinator, *calls: Call) -> list[Any]:
    """What each call of a batch answers: data, or the sentence of an error; not what rides on it."""
    return [read(one) for one in await coordinator.batch(calls)]


def read(response: Response) -> Any:
    text = response.text
    return text if response.is_error or not text.startswith("{") else json.JSONDecoder().raw_decode(text)[0]
