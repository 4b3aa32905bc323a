"""Handles in tests: a configuration, spawning, and looking until something is so."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from tests.mcpserver.clients import Agent

from bide.settings import Settings, check

SETTINGS: dict[str, Any] = {
    "greet": {
        "command": 'echo "hello $who, $mood"',
        "description": "Greets.",
        "parameters": {"who": "whom", "mood": "how"},
        "required": ["who"],
        "env": {"mood": "gladly"},
    },
    "listen": {"command": ["cat"], "stdin": True},
    "fire": {"command": "true", "actions": ["fetch", "spawn"]},
    "missing": {"command": ["/no/such/program"]},
    "short": {"command": "sleep 1000", "timeout": "0.2s"},
}


def settings(**handles: Any) -> Settings:
    return check({"mcp": {"handles": handles}}, "config.toml")


async def spawn(ai: Agent, tool: str, id_: str, **given: object) -> None:
    data = await ai.data(tool, action="spawn", id=id_, **given)
    # A quick one may be over by then, which is news.
    assert {**data, "notices": []} == {"id": id_, "state": "running", "notices": []}, data


async def stopped(ai: Agent, id_: str) -> dict[str, Any]:
    """What `await` says of a handle once it has stopped."""
    data = await ai.data("await", all=[id_])
    assert data["pending"] == []
    return data["completed"][0]


async def fetched(ai: Agent, tool: str, id_: str, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """What `fetch` says once this holds of it."""
    data: dict[str, Any] = {}
    with anyio.move_on_after(5):
        while not holds(data := await ai.data(tool, action="fetch", id=id_)):
            pass
        return data
    pytest.fail(f"it is still {data}")


async def content(ai: Agent, tool: str, id_: str, wanted: str) -> dict[str, Any]:
    """What `fetch` says once it shows this."""
    return await fetched(ai, tool, id_, lambda data: wanted in data.get("content", ""))
