"""The registry of handles: ids that an assistant chose, each a placeholder until its job is there."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import anyio

from bide.agents.rows import LARGEST, row, rows
from bide.api import Filter, Jobs
from bide.model.errors import JobNotFound, NameInUse
from bide.model.handles import state_of
from bide.model.job import ID_PATTERN, Job, JobId
from bide.model.schema import Json


@dataclass(slots=True)
class Handle:
    """One id: a placeholder, then a job, or why there is none."""

    id: str
    tool: str
    since: float = field(default_factory=time.monotonic)
    job: JobId | None = None
    error: str = ""
    settled: anyio.Event = field(default_factory=anyio.Event)
    """There is a job, or it is known that there will be none."""


class Handles:
    """The handles of one owner. What is not known here is looked for among the owner's jobs."""

    def __init__(self, jobs: Jobs, owner: str) -> None:
        """No handle is known yet."""
        self.jobs = jobs
        self.owner = owner
        self._known: dict[str, Handle] = {}

    async def reserve(self, wanted: Sequence[tuple[str, str]]) -> None:
        """Have a placeholder for each id, for this tool; all of them or none. Raises NameInUse, naming the id."""
        taken: set[str] = set()
        for ref, _ in wanted:
            if ref in taken or await self.is_active(ref):
                raise NameInUse(name=ref, job=ref)
            taken.add(ref)
        for ref, tool in wanted:
            self._known[ref] = Handle(ref, tool)

    async def is_active(self, ref: str) -> bool:
        """Whether the id is that of a handle that has not stopped."""
        known = self._known.get(ref)
        if known is not None and not known.settled.is_set():
            return True
        for phase in ("running", "queued"):
            if (await self.jobs.list(Filter(owner=self.owner, name=ref, phase=phase), limit=1)).jobs:
                return True
        return False

    def started(self, ref: str, job: JobId) -> None:
        """Its job is there."""
        handle = self._known[ref]
        handle.job = job
        handle.settled.set()

    def failed(self, ref: str, message: str) -> None:
        """There will be no job: whoever waits for it learns why."""
        handle = self._known[ref]
        if not handle.settled.is_set():
            handle.error = message
            handle.settled.set()

    async def find(self, ref: str) -> Handle:
        """The handle of this id. Raises JobNotFound."""
        if ref in self._known:
            return self._known[ref]
        job = await self._owned(ref)
        handle = Handle(ref, job.label, job=job.id)
        handle.settled.set()
        return handle

    async def _owned(self, ref: str) -> Job:
        if ID_PATTERN.match(ref):
            job = await self.jobs.get(ref)
            if job.owner == self.owner:
                return job
            raise JobNotFound(job=ref)
        for phase in ("running", "queued", None):
            page = await self.jobs.list(Filter(owner=self.owner, name=ref, phase=phase), limit=1)
            if page.jobs:
                return page.jobs[0]
        raise JobNotFound(job=ref)

    async def job(self, handle: Handle) -> Job | None:
        """Its job as it is now; `None` for a placeholder, and where there will be none."""
        return None if handle.job is None else await self.jobs.get(handle.job)

    async def state(self, handle: Handle) -> str:
        """`pending`, `running`, `waiting` or `stopped`."""
        return state_word(handle, await self.job(handle))

    async def row(self, handle: Handle, room: int = LARGEST) -> Json:
        """The handle with what it wrote."""
        job = await self.job(handle)
        if job is not None:
            return await row(self.jobs, job, handle.id, room)
        if not handle.error:
            return {"id": handle.id, "state": "pending"}
        error: Json = {"message": handle.error, "trace": [], "transient": False}
        return {"id": handle.id, "state": "stopped", "result": handle.error, "error": error}

    async def rows(self, found: Sequence[Handle]) -> list[Json]:
        """Return the handles with what they wrote, within one answer."""
        jobs = {handle.id: job for handle in found if (job := await self.job(handle)) is not None}
        told = {row["id"]: row for row in await rows(self.jobs, list(jobs.items()))}
        return [told[handle.id] if handle.id in told else await self.row(handle) for handle in found]

    async def stopped(self, every: Iterable[Handle], either: Iterable[Handle]) -> None:
        """Return when all of the first and, if there are any, one of the second have stopped."""
        found: list[JobId] = []
        for handle in every:
            await handle.settled.wait()
            found += [] if handle.job is None else [handle.job]
        if found:
            await self.jobs.wait(found)
        await self._first(list(either))

    async def _first(self, handles: list[Handle]) -> None:
        if not handles:
            return
        async with anyio.create_task_group() as group:

            async def one(handle: Handle) -> None:
                await self.stopped([handle], [])
                group.cancel_scope.cancel()

            for handle in handles:
                group.start_soon(one, handle)

    async def active(self) -> list[tuple[Handle, Job]]:
        """The handles of this registry that have not stopped, with their jobs; nobody counts as told of them by this."""
        held = {handle.job: handle for handle in self._known.values() if handle.job is not None}
        found = [job for phase in ("running", "queued") for job in await self._page(phase)]
        return [(held[job.id], job) for job in found if job.id in held]

    async def _page(self, phase: str) -> list[Job]:
        found: list[Job] = []
        before: str | None = None
        while True:
            page = await self.jobs.list(Filter(owner=self.owner, phase=phase), limit=100, before=before)
            found += page.jobs
            before = page.next
            if before is None:
                return found


def state_word(handle: Handle, job: Job | None) -> str:
    """The state of a handle and its job, if it has one."""
    if job is None:
        return "stopped" if handle.error else "pending"
    return state_of(job)
