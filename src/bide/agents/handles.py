"""The registry of handles: ids that an assistant chose, each a placeholder until its job is there."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import anyio

from bide.agents.asking import Others
from bide.agents.rows import LARGEST, row, rows
from bide.api import Filter, Jobs
from bide.model.errors import BadRequest, JobNotFound, NameInUse
from bide.model.handles import state_of
from bide.model.job import ID_PATTERN, Job, JobId
from bide.model.schema import Json

_REGISTER_SECONDS = 1.0
_AGAIN_SECONDS = 0.25


@dataclass(slots=True)
class Handle:
    """One id: a placeholder, then a job, or why there is none."""

    id: str
    tool: str
    call: str = ""
    """The call that spawned it, as its provider names it."""
    since: float = field(default_factory=time.monotonic)
    job: JobId | None = None
    error: str = ""
    told: bool = False
    """The assistant has its result."""
    held: bool = False
    """It waits for permission to start."""
    known: anyio.Event = field(default_factory=anyio.Event)
    """It is settled or held, so that an action on it need not wait. Set wherever `settled` is: see `_settle`."""
    settled: anyio.Event = field(default_factory=anyio.Event)
    """There is a job, or it is known that there will be none."""

    def hold(self) -> None:
        """Wait for permission; meanwhile it can be withdrawn."""
        self.held = True
        self.known.set()

    def started(self, job: JobId) -> None:
        """Take the job that stands for it."""
        self.job = job
        self._settle()

    async def begun(self) -> JobId | None:
        """Return its job once there is one; `None` once it is known that there will be none."""
        await self.settled.wait()
        return self.job

    def failed(self, message: str) -> None:
        """Record that there will be no job, and why; does nothing once it is settled."""
        if not self.settled.is_set():
            self.error = message
            self._settle()

    def _settle(self) -> None:
        self.held = False
        self.known.set()
        self.settled.set()


class Handles:
    """The handles of one owner. What is not known here is looked for among the owner's jobs."""

    def __init__(self, jobs: Jobs, owner: str) -> None:
        """No handle is known yet."""
        self.jobs = jobs
        self.owner = owner
        self.asked: set[str] = set()
        """The questions that the assistant was shown by an `await`."""
        self.others = Others()
        self._known: dict[str, Handle] = {}
        self._arrived = anyio.Event()

    async def reserve(self, wanted: Sequence[Handle]) -> None:
        """Take these placeholders, all of them or none. Raises BadRequest or NameInUse, naming the id that clashes."""
        taken: set[str] = set()
        for handle in wanted:
            if handle.id in taken:
                raise BadRequest(detail=f"Two calls of this batch spawn handle `{handle.id}`; give each its own ID")
            if await self.is_active(handle.id):
                raise NameInUse(name=handle.id, job=handle.id)
            taken.add(handle.id)
        self._known |= {handle.id: handle for handle in wanted}
        arrived, self._arrived = self._arrived, anyio.Event()
        arrived.set()

    def reserved(self, ref: str) -> Handle:
        """Return the placeholder of an id that was reserved."""
        return self._known[ref]

    def withdraw(self, message: str) -> None:
        """End every handle that waits for permission: it never starts."""
        for handle in self._known.values():
            if handle.held:
                handle.failed(message)

    async def is_active(self, ref: str) -> bool:
        """Whether the id is that of a handle that has not stopped."""
        known = self._known.get(ref)
        if known is not None and not known.settled.is_set():
            return True
        for phase in ("running", "queued"):
            if (await self.jobs.list(Filter(owner=self.owner, name=ref, phase=phase), limit=1)).jobs:
                return True
        return False

    async def find(self, ref: str) -> Handle:
        """The handle of this id. Raises JobNotFound or JobForgotten."""
        if ref in self._known:
            return self._known[ref]
        job = await self._owned(ref)
        handle = Handle(ref, job.label)
        handle.started(job.id)
        return handle

    async def spawned(self, refs: Sequence[str]) -> None:
        """Give ids that are not known a second to be spawned, and less to those whose result the assistant has: calls that
        are made one at a time come in any order, and an id may be used again.
        """
        with anyio.move_on_after(_REGISTER_SECONDS):
            while not all([ref in self._known or await self._is_owned(ref) for ref in refs]):
                await self._arrived.wait()
        with anyio.move_on_after(_AGAIN_SECONDS):
            while any(ref in self._known and self._known[ref].told for ref in refs):
                await self._arrived.wait()

    async def _is_owned(self, ref: str) -> bool:
        try:
            await self._owned(ref)
        except JobNotFound:
            return False
        return True

    async def _owned(self, ref: str) -> Job:
        if ID_PATTERN.match(ref):
            return await self.jobs.get(ref, owner=self.owner)
        for phase in ("running", "queued", None):
            page = await self.jobs.list(Filter(owner=self.owner, name=ref, phase=phase), limit=1)
            if page.jobs:
                return page.jobs[0]
        return await self.jobs.get(ref, owner=self.owner)  # which says if it was forgotten

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

    async def active(self) -> list[tuple[Handle, Job | None]]:
        """Return the handles of this registry that have not stopped, with their jobs; one that waits for permission has none.

        Nobody counts as told of them by this.
        """
        pending: list[tuple[Handle, Job | None]] = []
        for handle in [one for one in self._known.values() if not one.settled.is_set()]:
            await handle.known.wait()
            if not handle.held:  # it is being started, which takes a moment
                await handle.settled.wait()
            else:
                pending.append((handle, None))
        held = {handle.job: handle for handle in self._known.values() if handle.job is not None}
        found = [job for phase in ("running", "queued") for job in await self._page(phase)]
        return [*pending, *((held[job.id], job) for job in found if job.id in held)]

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
