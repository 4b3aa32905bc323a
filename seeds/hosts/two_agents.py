"""Run two agents in one home; end the first."""

import json
from typing import Any

import anyio

import bide
from bide import agents


async def forever(context: agents.Context, given: dict[str, Any]) -> str:
    """Sleep until cancelled."""
    await anyio.sleep(60)
    return f"{context} {given}"


async def main() -> None:
    """Spawn one task for each, close the first, look at both."""
    tools = agents.Tools(agents.Tool("t", "Sleep.", forever, spawn=agents.Spawn(stateful=True)))
    async with bide.connect() as jobs, agents.coordinate(jobs, tools, owner="second") as second:
        async with agents.coordinate(jobs, tools, owner="first") as first:
            await first.batch([agents.Call("1", "t", {"action": "spawn", "id": "a"})])
            await second.batch([agents.Call("1", "t", {"action": "spawn", "id": "b"})])
        found = {}
        for job in (await jobs.list()).jobs:
            found[job.owner] = getattr(getattr(job.phase, "end", None), "reason", None)
        print(
            json.dumps(
                {"first": str(found["first"]), "second": "running" if found["second"] is None else str(found["second"])}
            )
        )


anyio.run(main)
