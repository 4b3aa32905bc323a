"""Start more tasks than a manager without settings takes."""

import json

import anyio

import bide
from bide import agents
from bide.api import Request


async def sleep(context: agents.Context) -> str:
    """Sleep until cancelled."""
    await anyio.sleep(60)
    return str(context)


async def main() -> None:
    """Start sixteen."""
    started = 0
    async with bide.connect() as jobs, agents.open_tasks(jobs) as tasks:
        try:
            for number in range(16):
                await tasks.run(sleep, Request.of(f"task {number}"))
                started += 1
        except Exception as error:
            print(json.dumps({"refused": str(error)}))
        print(json.dumps({"started": started}))


anyio.run(main)
