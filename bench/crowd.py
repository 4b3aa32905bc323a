"""A thousand jobs that run and do nothing."""

from __future__ import annotations

import os
from functools import cache

from bench.peers import many
from bench.place import Place
from bide import connect
from bide.model.phase import Running

CROWD = 1000


class Crowd:
    """Each job reads a FIFO whose other end only this process holds: however we end, they end."""

    def __init__(self, place: Place) -> None:
        """No job runs yet."""
        self._gate = str(place.root / "gate")
        os.mkfifo(self._gate)
        self._held = os.open(self._gate, os.O_RDWR)
        self.started = False
        self.daemon = place.daemon("crowd")
        place.stack.callback(self._disperse)

    async def start(self) -> None:
        """Start them all; the second time does nothing."""
        if self.started:
            return
        async with connect(self.daemon.home) as jobs:

            async def one() -> None:
                job = (await jobs.run(["cat", self._gate], background=True)).job
                if not isinstance(job.phase, Running):
                    raise TypeError(f"a job of the crowd does not run: {job.phase}")

            await many(CROWD, one)
        self.started = True

    def _disperse(self) -> None:
        os.close(self._held)
        if self.daemon.runs:
            self.daemon.wait_for(lambda said: said.get("running") == 0)


@cache
def _crowd(place: Place) -> Crowd:
    return Crowd(place)


async def crowd(place: Place) -> Crowd:
    """The crowd of this run; the first row that needs it starts it."""
    place.tell(f"starts {CROWD:,} jobs")
    found = _crowd(place)
    await found.start()
    return found
