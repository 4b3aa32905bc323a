"""Groups, services, events and sessions as a process within a job may use them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from bide.api import Ran
from bide.model.errors import JobNotFound
from bide.model.event import Event
from bide.model.job import Job
from bide.model.results import Group, SessionEnded, SessionStarted
from bide.model.session import Session
from bide.runtime.confined.rights import Part

if TYPE_CHECKING:
    pass


class ConfinedGroups(Part):
    """Implements beside.Groups: others' jobs are neither held back nor let go."""

    async def list(self) -> tuple[Group, ...]:
        """See beside.Groups.list."""
        return await self._jobs.groups.list()

    async def limit(self, group: str | None, most: int | None) -> Group:
        """See beside.Groups.limit."""
        self._rights.group(group)
        return await self._jobs.groups.limit(group, most)

    async def pause(self, group: str | None) -> Group:
        """See beside.Groups.pause."""
        self._rights.group(group)
        return await self._jobs.groups.pause(group)

    async def resume(self, group: str | None) -> Group:
        """See beside.Groups.resume."""
        self._rights.group(group)
        return await self._jobs.groups.resume(group)


class ConfinedServices(Part):
    """Implements beside.Services."""

    async def restart(self, job: str, *, grace: timedelta = timedelta(seconds=5), by: str = "") -> Ran:
        """See beside.Services.restart."""
        del by
        self._rights.own(job)
        return await self._jobs.services.restart(job, grace=grace, by=self._rights.by)


class ConfinedEvents(Part):
    """Implements beside.Events: the moves of the owner's jobs."""

    async def newest(self) -> int:
        """See beside.Events.newest."""
        return await self._jobs.events.newest()

    async def follow(self, *, after: int | None = None, job: str | None = None) -> AsyncIterator[Event]:
        """See beside.Events.follow."""
        if job is not None:
            self._rights.own(job)
        async for event in self._jobs.events.follow(after=after, job=job):
            if self._is_own(event):
                yield event

    def _is_own(self, event: Event) -> bool:
        try:
            return self._rights.core.find(event.job).owner == self._rights.owner
        except JobNotFound:
            return False


class ConfinedSessions(Part):
    """Implements beside.Sessions."""

    async def start(
        self,
        session: str | None = None,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        vars: Mapping[str, Any] | None = None,  # noqa: A002 - the word for them everywhere
        base_env: Mapping[str, str] | None = None,
        owner: str | None = None,
    ) -> SessionStarted:
        """See beside.Sessions.start."""
        self._rights.session(session)
        return await self._jobs.sessions.start(
            session, cwd=cwd, env=env, vars=vars, base_env=base_env, owner=self._rights.of(owner)
        )

    async def update(
        self,
        session: str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        unset: Sequence[str] = (),
        vars: Mapping[str, Any] | None = None,  # noqa: A002
        drop: Sequence[str] = (),
    ) -> Session:
        """See beside.Sessions.update."""
        self._rights.session(session)
        return await self._jobs.sessions.update(session, cwd=cwd, env=env, unset=unset, vars=vars, drop=drop)

    async def get(self, session: str) -> Session:
        """See beside.Sessions.get."""
        self._rights.session(session)
        return await self._jobs.sessions.get(session)

    async def list(self, *, owner: str | None = None) -> tuple[Session, ...]:
        """See beside.Sessions.list."""
        return await self._jobs.sessions.list(owner=self._rights.of(owner))

    async def job(self, session: str, job: str | int) -> Job:
        """See beside.Sessions.job."""
        self._rights.session(session)
        return await self._jobs.sessions.job(session, job)

    async def end(self, session: str, *, forget: bool = False) -> SessionEnded:
        """See beside.Sessions.end."""
        self._rights.session(session)
        return await self._jobs.sessions.end(session, forget=forget)
