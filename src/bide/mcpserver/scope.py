"""Which jobs a caller may see and touch: its own. What is another's is not found."""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from bide.api import Filter, Jobs
from bide.model.errors import JobForgotten, JobNotFound
from bide.model.job import ID_PATTERN, Job

REGISTER_SECONDS = 1.0
"""How long an id that is not known may take to become known: the calls of one batch arrive in any order."""


class Own:
    """The jobs of one owner."""

    def __init__(self, jobs: Jobs, owner: str, arrivals: Arrivals) -> None:
        """A view of `jobs`."""
        self._jobs = jobs
        self.owner = owner
        self.arrivals = arrivals

    async def job(self, ref: str) -> Job:
        """The owner's job with this id or name. Raises JobNotFound or JobForgotten."""
        if ID_PATTERN.match(ref):
            job = await self._jobs.get(ref)
            if job.owner != self.owner:
                raise JobNotFound(job=ref)
            return job
        # An active job of the name goes before a newer one that ended.
        for phase in ("running", "queued", None):
            page = await self._jobs.list(Filter(owner=self.owner, name=ref, phase=phase), limit=1)
            if page.jobs:
                return page.jobs[0]
        raise JobNotFound(job=ref)

    async def ids(self, refs: Sequence[str]) -> list[str]:
        """The ids of these jobs; one that is not known yet is given a moment to be."""
        found: list[str] = []
        with anyio.move_on_after(REGISTER_SECONDS):
            for ref in refs:
                found.append(await self._registered(ref))  # noqa: PERF401 - what was found in time is kept
        return [*found, *[(await self.job(ref)).id for ref in refs[len(found) :]]]

    async def _registered(self, ref: str) -> str:
        while True:
            arrival = self.arrivals.next()
            try:
                return (await self.job(ref)).id
            except JobForgotten:
                raise
            except JobNotFound:
                await arrival.wait()


class Arrivals:
    """Tells those who wait for an id that another job was started."""

    def __init__(self) -> None:
        """Nothing has arrived."""
        self._event = anyio.Event()

    def next(self) -> anyio.Event:
        """Set at the next arrival."""
        return self._event

    def ring(self) -> None:
        """A job was started."""
        event, self._event = self._event, anyio.Event()
        event.set()
