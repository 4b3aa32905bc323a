"""Interrupt an agent that waits: the wait ends, the handle goes on."""

import json
import time

import anyio

import bide
from bide import agents


async def main() -> None:
    """Spawn, await, interrupt."""
    tools = agents.Tools(agents.Tool("sh", "Run.", agents.ToolSettings("sleep 60"), spawn=agents.Spawn(stateful=True)))
    async with bide.connect() as jobs, agents.coordinate(jobs, tools, owner="steer") as agent:
        await agent.batch([agents.Call("1", "sh", {"action": "spawn", "id": "a"})])
        began = time.monotonic()
        async with anyio.create_task_group() as group:

            async def wait() -> None:
                (one,) = await agent.batch([agents.Call("2", "await", {"all": ["a"]})])
                print(json.dumps({"seconds": time.monotonic() - began, "text": one.text}))
                found = json.loads(one.text)
                print(json.dumps({"cancelled": found.get("cancelled"), "state": found["pending"][0]["state"]}))

            group.start_soon(wait)
            await anyio.sleep(1)
            agent.interrupt()
        await agent.batch([agents.Call("3", "sh", {"action": "abort", "id": "a"})])


anyio.run(main)
