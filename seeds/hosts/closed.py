"""Use a manager after its end."""

import json

import anyio

import bide
from bide import agents
from bide.api import Request


async def work(_: agents.Context) -> str:
    """Return at once."""
    return "done"


async def main() -> None:
    """Close, then run."""
    async with bide.connect() as jobs:
        async with agents.open_tasks(jobs) as tasks:
            await tasks.run(work, Request.of("first"))
        try:
            await tasks.run(work, Request.of("late"))
            print(json.dumps({"refused": None}))
        except Exception as error:
            print(json.dumps({"refused": f"{type(error).__name__}: {error}"}))


anyio.run(main)
