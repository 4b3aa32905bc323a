"""Run coroutines as tasks and print their progress."""

import json
from datetime import timedelta

import anyio

import bide
from bide import agents
from bide.api import Request


async def good(_: agents.Context) -> str:
    """Return."""
    return "fine"


async def bad(_: agents.Context) -> str:
    """Raise."""
    raise RuntimeError("broken")


async def long(_: agents.Context) -> str:
    """Sleep."""
    await anyio.sleep(60)
    return ""


async def main() -> None:
    """Run three to their ends."""
    async with bide.connect() as jobs, agents.open_tasks(jobs) as tasks:
        started = []
        first = await tasks.run(
            long, Request.of("in the way", owner="tasks-owner", label="in the way", turn=bide.Turn(group="one"))
        )
        other = await tasks.run(
            good, Request.of("waits", owner="tasks-owner", label="waits", turn=bide.Turn(group="one"))
        )
        pending = str(agents.progress(await jobs.get(other.job.id)))
        await jobs.kill(first.job.id, grace=timedelta(seconds=1))
        for work, name in ((good, "good one"), (bad, "bad one"), (long, "aborted one")):
            made = await tasks.run(work, Request.of(name, owner="tasks-owner", label=name))
            started.append(getattr(made, "job", made))
        running = agents.progress(await jobs.get(started[2].id))
        await jobs.kill(started[2].id, grace=timedelta(seconds=1))
        await jobs.wait([one.id for one in started], timeout=timedelta(seconds=20))
        found = [agents.progress(await jobs.get(one.id)) for one in started]
        print(json.dumps({"progress": [str(running), *(str(one) for one in found)], "count": 5, "pending": pending}))


anyio.run(main)
