"""Events over the socket: the same as in the runtime, and over the death of a daemon."""

from pathlib import Path

import anyio
from tests.support import homes
from tests.support.gates import Gate

from bide.model.event import Event


async def test_every_move_is_told_once_over_the_death_of_the_daemon(home: Path, gate: Gate) -> None:
    async with homes.remote(home) as jobs:
        begun = await jobs.events.newest()
        job = (await jobs.run(gate.wait, background=True)).job.id
        found: list[Event] = []
        with anyio.fail_after(20):
            async for event in jobs.events.follow(after=begun, job=job):
                found.append(event)
                if event.what == "running":
                    await homes.kill_daemon(home)
                    gate.open()
                if event.what == "ended":
                    break
        assert [event.what for event in found] == ["queued", "running", "ended"]
        assert await jobs.events.newest() == found[-1].seq
        assert begun < found[0].seq
