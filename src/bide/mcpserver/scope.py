"""Which jobs and sessions a caller may see and touch: its own, and what it was granted. What is another's is not found."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import anyio
from msgspec import Struct
from msgspec.structs import replace

from bide.api import Filter, Jobs
from bide.mcpserver.foreground import Foreground
from bide.model.errors import BadRequest, BideError, JobForgotten, JobNotFound, NotAllowed, SessionNotFound
from bide.model.job import ID_PATTERN, Job
from bide.model.owners import owner_of
from bide.model.session import Session

REGISTER_SECONDS = 1.0
"""How long an id that is not known may take to become known: the calls of one batch arrive in any order."""


def owner_in(hello: Mapping[str, Any]) -> str:
    """Who connects, from what its copier says first; empty if that is not known yet."""
    client = str(hello.get("client") or "")
    return str(hello.get("owner") or "") or (owner_of(client, str(hello["cwd"])) if client else "")


SCOPES = ("own", "shared", "project", "all")
"""What a client can ask to see, each with what it must be granted for it."""
_LOOKED_AT = 1000
"""How many jobs one page of a project is searched in; the next page goes on from there."""


class Reach(Struct, frozen=True):
    """What a client may see and touch beside its own jobs: whoever configured it decides, not the client."""

    scope: str = "own"
    """`own`; `project`, all that runs in the client's folder or below; or `all`."""
    folder: str = ""
    shared: tuple[str, ...] = ()
    """Owners who share theirs with it."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing beside its own jobs is within it."""
        return self.scope == "own" and not self.shared

    def has(self, job: Job) -> bool:
        """Whether the job is within it."""
        if self.scope == "all" or job.owner in self.shared:
            return True
        return self.scope == "project" and _is_within(job.spec.cwd, self.folder)

    def narrowed(self, scope: str) -> Reach:
        """What is seen of it in a view. Raises BadRequest for more than was granted."""
        if scope == "shared":
            return replace(self, scope="own")
        if SCOPES.index(scope) > SCOPES.index(self.scope):
            allowed = "its own jobs only" if self.scope == "own" else "the jobs of its project only"
            detail = (
                f"this client may see {allowed}; whoever configured it can grant more with 'bide mcp --scope {scope}'"
            )
            raise BadRequest(detail=detail, field="scope")
        return Reach(scope, self.folder)


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))


NOTHING_MORE = Reach()


class Own:
    """The jobs and sessions of one owner, and the jobs within its reach."""

    def __init__(self, jobs: Jobs, owner: str, arrivals: Arrivals, reach: Reach = NOTHING_MORE) -> None:
        """A view of `jobs`."""
        self._jobs = jobs
        self.owner = owner
        self.arrivals = arrivals
        self.foreground = arrivals.foreground
        self.reach = reach

    def may(self, job: Job) -> bool:
        """Whether the owner may see and touch it."""
        return job.owner == self.owner or self.reach.has(job)

    @contextmanager
    def unseen(self, missing: BideError) -> Generator[None]:
        """Raise `missing` for what a client within a job may not see: it is not found, as it is for clients elsewhere.

        A client that asks as another owner than that of its job is refused all the same.
        """
        try:
            yield
        except NotAllowed as error:
            if error.facts["owner"] != self.owner:
                raise
            raise missing from None

    async def job(self, ref: str) -> Job:
        """The job with this id or name; of a name the owner's own goes first. Raises JobNotFound or JobForgotten."""
        if ID_PATTERN.match(ref):
            with self.unseen(JobNotFound(job=ref)):
                job = await self._jobs.get(ref, owner=self.owner if self.reach.is_empty else None)
            if not self.may(job):
                raise JobNotFound(job=ref)
            return job
        owners = (self.owner,) if self.reach.is_empty else (self.owner, None)
        for owner in owners:
            # An active job of the name goes before a newer one that ended.
            for phase in ("running", "queued", None):
                page = await self._jobs.list(Filter(owner=owner, name=ref, phase=phase), limit=50)
                for job in page.jobs:
                    if self.may(job):
                        return job
        with self.unseen(JobNotFound(job=ref)):
            return await self._jobs.get(ref, owner=self.owner)  # which says if it was forgotten

    async def page(self, where: Filter, scope: str, limit: int, before: str | None) -> tuple[list[Job], str | None]:
        """The newest jobs of a view, and where the next page begins. Raises BadRequest for one that was not granted."""
        if scope == "own":
            page = await self._jobs.list(replace(where, owner=self.owner), limit=limit, before=before)
            return list(page.jobs), page.next
        seen = self.reach.narrowed(scope)
        found: list[Job] = []
        for _ in range(max(_LOOKED_AT // limit, 1)):
            page = await self._jobs.list(where, limit=limit, before=before)
            found += [job for job in page.jobs if seen.has(job)]
            before = page.next
            if before is None or len(found) >= limit:
                break
        return found, before

    async def session(self, ref: str) -> Session:
        """The owner's open session of this id. Raises SessionNotFound."""
        with self.unseen(SessionNotFound(session=ref)):
            found = await self._jobs.sessions.get(ref)
        if found.owner != self.owner:
            raise SessionNotFound(session=ref)
        return found

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
            except JobNotFound as error:
                if isinstance(error, JobForgotten) and ID_PATTERN.match(ref):
                    raise
                await arrival.wait()


class Arrivals:
    """Tells those who wait for an id that another job was started."""

    def __init__(self) -> None:
        """Nothing has arrived."""
        self._event = anyio.Event()
        self.foreground = Foreground()
        self.asked: set[str] = set()
        """Questions that this owner was told of: they end no wait a second time."""
        self.told: set[str] = set()
        """Jobs whose results this owner has by an `await` or a `fetch`."""

    def next(self) -> anyio.Event:
        """Set at the next arrival."""
        return self._event

    def ring(self) -> None:
        """A job was started."""
        event, self._event = self._event, anyio.Event()
        event.set()
