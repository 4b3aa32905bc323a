"""LocalSessions: starting, changing, showing and ending sessions on this machine."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import shutil
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import anyio
from msgspec.structs import replace

from bide.api import Filter, SessionEnded, SessionStarted
from bide.model.errors import BadRequest, BideError, FolderNotFound, JobNotFound
from bide.model.job import DEFAULT_OWNER, Job
from bide.model.phase import Running
from bide.model.request import check_env, check_owner
from bide.model.session import Session, changed, check_session_id, check_vars
from bide.model.state import Held, check_size
from bide.runtime import ending, trimming
from bide.runtime.core import Core, now
from bide.runtime.environment import without_ours
from bide.runtime.place import Place
from bide.runtime.places import RESERVE, newest_number
from bide.runtime.sound import with_sound_store
from bide.stalls import in_turns

log = logging.getLogger(__name__)

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_NEWEST = 10
_GRACE = timedelta(seconds=5)


class LocalSessions:
    """Implements api.Sessions in this process."""

    def __init__(self, core: Core) -> None:
        """Made by LocalJobs."""
        self.core: Core = core

    @with_sound_store
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
        """See api.Sessions.start."""
        core = self.core
        base = without_ours(os.environ if base_env is None else base_env)
        held = _checked(Held(_folder(cwd or os.getcwd()), base, dict(env or {}), (), dict(vars or {})))
        owner = owner or DEFAULT_OWNER
        check_owner(owner)
        found = self._new_id() if session is None else check_session_id(session)
        if found in core.places.open:
            if core.places.open[found].owner != owner:
                raise BadRequest(detail=f"session {found!r} belongs to another owner; choose another id")
            raise BadRequest(detail=f"session {found!r} is open already; choose another id, or end it first")
        at = now()
        number = newest_number(core.store, found)
        place = Place(found, owner, at, at, held, seq=number, first=number, reserved=number + RESERVE, bytes=0)
        # Begun is done, also if the caller goes away: all of it, or nothing.
        with anyio.CancelScope(shield=True):
            await self._open(place)
        return SessionStarted(place.session(0), await self._make_room(place))

    async def _open(self, place: Place) -> None:
        core = self.core
        core.places.open[place.id] = place
        try:
            await core.hub.settled(core.places.write(place, new=True))
            await core.hub.settled(core.store.sessions.put(place.row()))
        except BaseException:
            core.places.open.pop(place.id, None)
            shutil.rmtree(core.places.folder(place.id), ignore_errors=True)
            raise

    def _new_id(self) -> str:
        while True:
            found = "s" + "".join(secrets.choice(_ALPHABET) for _ in range(4))
            if found not in self.core.places.open and self.core.store.sessions.get(found) is None:
                return found

    async def _make_room(self, new: Place) -> tuple[str, ...]:
        """End what its owner has too many of, the least recently active first. No job is killed."""
        most = max(self.core.settings.sessions.most, 1)
        evicted: list[str] = []
        while len(others := self._others(new)) >= most:
            busy = self._busy()
            place = others[0]
            going_on = f"; its {busy[place.id]} active jobs go on" if place.id in busy else ""
            log.warning("session %s is evicted, since %s has %d others%s", place.id, new.owner, len(others), going_on)
            with anyio.CancelScope(shield=True):
                await self._close(place, "evicted")
            evicted.append(place.id)
        return tuple(evicted)

    def _others(self, new: Place) -> list[Place]:
        """Return the owner's other sessions, the least recently active first."""
        return [place for place in self.core.places.open.values() if place.owner == new.owner and place is not new]

    async def _close(self, place: Place, why: str) -> None:
        at = now()
        await self.core.hub.settled(self.core.places.close_folder(place, place.row(at, why)))
        await self.core.hub.settled(self.core.store.sessions.end(place.id, at, why, place.seq))

    def _busy(self) -> dict[str, int]:
        """How many active jobs each session has."""
        found: dict[str, int] = {}
        for live in self.core.keeping.table.live.values():
            place = self.core.places.open.get(live.job.session or "")
            if place is not None and not live.ended and place.holds(live.job):
                found[place.id] = found.get(place.id, 0) + 1
        return found

    @with_sound_store
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
        """See api.Sessions.update."""
        place = self._find(session)
        folder = None if cwd is None else _folder(os.path.join(place.held.cwd, cwd))
        held = changed(place.held, folder, env or {}, unset, vars or {}, drop)
        place.held = _checked(held)
        await self.core.hub.settled(self.core.places.write(place))
        trimming.look(self.core, place)
        return place.session(self._busy().get(place.id, 0))

    @with_sound_store
    async def get(self, session: str) -> Session:
        """See api.Sessions.get."""
        place = self._find(session)
        await self.core.settled()
        page = self.core.store.page(Filter(session=place.id), _NEWEST, None)
        live = self.core.keeping.table.live
        jobs = [held.job if (held := live.get(job.id)) else job for job in page.jobs if place.holds(job)]
        found = place.session(self._busy().get(place.id, 0))
        return replace(found, jobs=tuple(self.core.with_facts(job) for job in jobs))

    @with_sound_store
    async def list(self, *, owner: str | None = None) -> tuple[Session, ...]:
        """See api.Sessions.list."""
        busy = self._busy()
        places = [place for place in reversed(self.core.places.open.values()) if owner in (None, place.owner)]
        return tuple(place.session(busy.get(place.id, 0)) for place in places)

    @with_sound_store
    async def job(self, session: str, job: str | int) -> Job:
        """See api.Sessions.job."""
        place = self._find(session)
        await self.core.settled()
        found = self._of_pid(place, job) if isinstance(job, int) else self.core.find(job)
        if found is None or found.session != place.id:
            raise JobNotFound(job=f"{job} in session {place.id}")
        return self.core.with_facts(found)

    def _of_pid(self, place: Place, pid: int) -> Job | None:
        for live in self.core.keeping.table.live.values():
            job = live.job
            if job.session == place.id and isinstance(job.phase, Running) and job.phase.pid == pid:
                return job
        return self.core.store.sessions.job_of_pid(place.id, pid)

    @with_sound_store
    async def end(self, session: str, *, forget: bool = False) -> SessionEnded:
        """See api.Sessions.end."""
        place = self._find(session)
        place.ending = True
        try:
            killed, unverified = await self._kill_all(place)
            # Nothing comes between the last look for active jobs and the removal of the session.
            with anyio.CancelScope(shield=True):
                await self._close(place, "ended")
        except BaseException:
            place.ending = False
            raise
        outlived = tuple([job async for job in self._outlived(place) if job not in unverified])
        forgotten = await self._forget_all(place) if forget else 0
        return SessionEnded(place.session(len(unverified)), killed, (*unverified, *outlived), forgotten)

    async def _outlived(self, place: Place) -> AsyncIterator[str]:
        """Yield the ended jobs of a session whose descendants still run."""
        async for ended in in_turns(self.core.store.sessions.ended_jobs(place.id, place.first)):
            with contextlib.suppress(JobNotFound):
                facts = self.core.with_facts(self.core.find(ended.id)).facts
                if facts is not None and facts.alive:
                    yield ended.id

    async def _kill_all(self, place: Place) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Kill the active jobs of a session until there are none that nobody tried to kill: jobs can start others."""
        verified: dict[str, bool] = {}
        while jobs := [job for job in self._active(place) if job not in verified]:
            async with anyio.create_task_group() as group:
                for job in jobs:
                    verified[job] = False
                    group.start_soon(self._kill, place, job, verified)
            await self.core.settled()
        killed = tuple(job for job, empty in verified.items() if empty)
        return killed, tuple(job for job, empty in verified.items() if not empty)

    def _active(self, place: Place) -> list[str]:
        jobs = [live.job for live in self.core.keeping.table.live.values() if not live.ended]
        return [job.id for job in jobs if place.holds(job)]

    async def _kill(self, place: Place, job: str, verified: dict[str, bool]) -> None:
        try:
            found = await ending.kill(self.core, job, signal.SIGTERM, _GRACE, f"end of session {place.id}")
            verified[job] = found.verified_empty
        except BideError as error:
            log.warning("%s could not be killed: %s", job, error)

    async def _forget_all(self, place: Place) -> int:
        ids = [job.id for job in self.core.store.sessions.ended_jobs(place.id, place.first)]
        count = 0
        for job in ids:
            try:
                await ending.forget(self.core, job)
                count += 1
            except BideError as error:
                log.info("%s stays: %s", job, error)
        return count

    def _find(self, session: str) -> Place:
        return self.core.places.get(check_session_id(session), self.core.store)


def _folder(cwd: str) -> str:
    path = os.path.abspath(cwd)
    if not os.path.isdir(path):
        raise FolderNotFound(cwd=path)
    return path


def _checked(held: Held) -> Held:
    check_env(held.env)
    check_size(held)
    check_vars(held.vars)
    return held
