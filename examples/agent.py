"""An agent with two tools, a scripted model in the place of a real one, and no network.

It spawns two searches, awaits whichever is first, and ends its turn while the other still runs. It is asked about that one, waits
in vain, and is told of the result at the start of its next turn.

    python examples/agent.py
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

import anyio

import bide
from bide import agents

Json = dict[str, Any]
PATIENCE = timedelta(milliseconds=200)


@dataclass(frozen=True)
class Reply:
    """What a model says: words, and the tools it calls."""

    text: str = ""
    calls: tuple[agents.Call, ...] = ()


class ScriptedModel:
    """Says what is written for it, whatever it reads; a real one would be asked over HTTP."""

    def __init__(self, script: Iterator[Reply]) -> None:
        self._script = script

    async def speak(self, heard: str) -> Reply:
        """The next reply to what it was told."""
        print(f"  model hears: {heard}")
        reply = next(self._script)
        if reply.text:
            print(f"  model says: {reply.text}")
        return reply

    async def inquire(self, question: Json, _: Json) -> Json:
        """What to do with what still runs: this one always wants to wait."""
        print(f"  model is asked about: {[one['id'] for one in question['handles']]}")
        return {"handles": [{"id": one["id"], "action": "wait"} for one in question["handles"]]}


async def crate_search(query: Annotated[str, "what to find"]) -> str:
    """Searches crates."""
    return f"tokio, async-std ({query})"


def make_tools(gate: str) -> agents.Tools:
    """A coroutine, whose schema is its type hints, and a command, both stateful."""
    spawn = agents.Spawn(stateful=True, lifecycle=agents.Lifecycle(wait_timeout=PATIENCE))
    command = f'read -r answer < {gate}; echo "$answer for $query"'
    github = agents.ToolSettings(command, parameters={"query": "what to find"}, required=("query",))
    return agents.Tools(
        agents.Tool.of(crate_search, spawn=spawn),
        agents.Tool("github_search", "Searches code.", github, spawn=spawn),
    )


def script() -> Iterator[Reply]:
    """Two turns."""
    spawn = {"action": "spawn", "query": "async runtime"}
    yield Reply(
        calls=(
            agents.Call("1", "await", {"any": ["crates", "github"]}),
            agents.Call("2", "crate_search", {**spawn, "id": "crates"}),
            agents.Call("3", "github_search", {**spawn, "id": "github"}),
        )
    )
    yield Reply("The crates are tokio and async-std. The code search still runs.")
    yield Reply("I will report when it is done.")
    yield Reply("The code search found smol.")


async def turn(agent: agents.Coordinator, model: ScriptedModel, user: str) -> None:
    """One turn: what is due, the model's replies and their calls, and the end."""
    news = await agent.news()
    heard = "\n".join(part for part in (user, news.text) if part)
    while True:
        reply = await model.speak(heard)
        if reply.calls:
            heard = "\n".join(f"{one.tool}: {one.text}" for one in await agent.batch(reply.calls))
            continue
        end = await agent.end_turn()
        if not end.results:
            return
        heard = "\n".join(f"{one.tool}: {one.text}" for one in end.results)
        await model.speak(heard)
        return


async def ended(agent: agents.Coordinator, name: str) -> None:
    """Return when a job is over, without anybody's being told of it."""
    async for event in agent.jobs.events.follow(after=0, job=name):
        if event.what == "ended":
            return


async def main() -> None:
    """Two turns, and between them the world goes on."""
    with tempfile.TemporaryDirectory(prefix="bide-example-") as folder:
        gate = os.path.join(folder, "gate")
        os.mkfifo(gate)
        model = ScriptedModel(script())
        async with (
            bide.local(os.path.join(folder, "home")) as jobs,
            agents.coordinate(jobs, make_tools(gate), owner="example", inquire=model.inquire) as agent,
        ):
            print(f"tools: {[one['function']['name'] for one in agent.tools.schemas('openai')]}")
            print("turn 1")
            await turn(agent, model, "Which async runtimes are there?")
            async with await anyio.open_file(gate, "w") as file:
                await file.write("smol\n")
            await ended(agent, "github")
            print("turn 2")
            await turn(agent, model, "And?")


if __name__ == "__main__":
    anyio.run(main)
