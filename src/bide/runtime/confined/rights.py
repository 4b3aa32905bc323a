"""What one job may do: act for its own owner alone."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bide.model.errors import JobForgotten, JobNotFound, NotAllowed
from bide.model.job import Job
from bide.model.owners import job_of
from bide.model.request import Request
from bide.runtime import lineage

if TYPE_CHECKING:
    from bide.runtime.local import LocalJobs


class Rights:
    """What one job may do."""

    def __init__(self, jobs: LocalJobs, job: Job) -> None:
        """Of the job from which somebody asks."""
        self.core = jobs.core
        self.job = job
        self.owner: str = job.owner
        self.by = job_of(job.id, job.owner)

    def refused(self, what: str) -> NotAllowed:
        """The error for what is another's."""
        return NotAllowed(what=what, job=self.job.id, owner=self.owner)

    def of(self, owner: str | None) -> str:
        """The owner to act as: the job's own, whom alone it may name."""
        if owner not in (None, self.owner):
            raise self.refused(f"it was asked for as owner {owner!r}")
        return self.owner

    def own(self, ref: str) -> Job:
        """The job of this id or name, if it is the owner's. Of what another forgot, nothing is said."""
        try:
            return self.core.find(ref, self.owner)
        except JobForgotten:
            raise
        except JobNotFound:
            with suppress(JobForgotten):
                found = self.core.find(ref)
                raise self.refused(f"job {found.id} belongs to owner {found.owner!r}") from None
            raise

    def request(self, request: Request) -> Request:
        """The request as the owner's own, from within this job."""
        self.of(request.owner)
        if request.parent is not None:
            self.own(request.parent)
        for other in request.turn.after:
            self.own(other)
        above = lineage.parent(self.core, request)
        parent = request.parent if above is not None and above.owner == self.owner else self.job.id
        self.session(lineage.session(self.core, request))
        return replace(request, owner=self.owner, parent=parent)

    def session(self, session: str | None) -> None:
        """Refuse an open session of somebody else; one that is not open is refused by whoever needs it."""
        place = self.core.places.open.get(session or "")
        if place is not None and place.owner != self.owner:
            raise self.refused(f"session {session} belongs to owner {place.owner!r}")

    def group(self, group: str | None) -> None:
        """Refuse to change a group in which others have active jobs."""
        for live in self.core.keeping.table.live.values():
            its = live.job.spec.turn.group
            inside = group is None or its == group or its.startswith(f"{group}.")
            if inside and not live.ended and live.job.owner != self.owner:
                name = "the group of all jobs" if group is None else f"group {group!r}"
                raise self.refused(f"{name} has jobs of owner {live.job.owner!r}")


class Part:
    """A part of the verbs, as a job may use it."""

    def __init__(self, jobs: LocalJobs, rights: Rights) -> None:
        """A view of the same part of `jobs`."""
        self._jobs = jobs
        self._rights = rights
