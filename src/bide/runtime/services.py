"""Services that end: who comes back, when, and as what. A restart is a new job; see docs/decisions/014.

What was decided is in the folder of the job that ended (`next`). A successor has a key made of that job's id, so that
there is only ever one, whatever dies in between.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta

from msgspec.structs import replace

from bide.api import Killed, Ran
from bide.keeper import folder, services
from bide.keeper.services import Next
from bide.model.errors import BadRequest, DiskFull, JobActive, JobNotFound, NameInUse, QueueFull
from bide.model.job import Job
from bide.model.phase import Ended, Queued, Reason
from bide.model.request import Request
from bide.model.service import Service, Verdict, verdict
from bide.runtime import again, ending, ports, starting, watching
from bide.runtime.core import Core, now
from bide.runtime.live import Live
from bide.runtime.sound import with_sound_store
from bide.store.faults import DatabaseCorrupt
from bide.store.future import Future

log = logging.getLogger(__name__)

GRACE = timedelta(seconds=5)
_AGAIN_SECONDS = 5.0


def take_up(core: Core) -> None:
    """Look after the services of a home: those that run, those that ended meanwhile, and those to come."""
    keeping = core.keeping
    keeping.on_admit.append(lambda live: _admitted(core, live))
    keeping.on_end.append(lambda live: _ended(core, live))
    for live in list(keeping.table.live.values()):
        if not live.ended:
            _admitted(core, live)
    for job in _ended_before(core):
        _decide(core, job)


def _ended_before(core: Core) -> list[Job]:
    """Services that are over, also those whose end was only just found in their folder."""
    ended = [live.job for live in core.keeping.table.live.values() if live.ended]
    if not ended:
        return core.store.ended_services()
    core.keeping.store_ends()
    with suppress(DiskFull):
        core.store.barrier().result()
    found = core.store.ended_services()
    known = {job.id for job in found}
    return found + [job for job in ended if job.spec.service is not None and job.id not in known]


def _admitted(core: Core, live: Live) -> None:
    if live.job.spec.service is not None:
        watching.watch(core, live)


def _ended(core: Core, live: Live) -> None:
    if live.job.spec.service is not None:
        _decide(core, live.job)


def _decide(core: Core, job: Job) -> None:
    """After an end: a successor, or none; at most once."""
    path = core.folder(job)
    if job.spec.service is None or not isinstance(job.phase, Ended) or services.read_next(path) is not None:
        return
    found = Verdict() if job.id in core.stopping else verdict(job.spec.service, job.phase.end)
    if found.next is not None and _may_run_on(job.phase, path):
        found = Verdict(gave_up="nobody knows whether it still runs")
    if found.gave_up:
        log.error("%s (%s) is not started again: %s", job.id, job.name, found.gave_up)
    if found.next is None:
        _record(core, job, Next(gave_up=found.gave_up))
        return
    try:
        _succeed(core, job, job.phase, found)
    except BadRequest as error:
        _record(core, job, Next(gave_up=f"it could not be started again: {error}"))
    except (OSError, DiskFull, QueueFull, DatabaseCorrupt) as error:
        log.warning("%s (%s) cannot be started again now: %s", job.id, job.name, error)
        core.hub.call_later(_AGAIN_SECONDS, lambda: _decide(core, job))


def _may_run_on(phase: Ended, path: str) -> bool:
    """Whether a job whose end nobody knows may still be running, under a pid that nobody knows either."""
    started = folder.read_started(path)
    return phase.end.reason is Reason.LOST and started is not None and not started.ticks


def _succeed(core: Core, job: Job, phase: Ended, found: Verdict) -> None:
    key = f"restart of {job.id}"
    held = core.keeping.table.with_key(job.owner, key)
    earlier = held.job if held is not None else core.store.by_key(job.owner, key)
    taken = core.keeping.table.with_name(job.owner, job.name or "")
    if earlier is not None:
        _record(core, job, Next(job=earlier.id))
    elif taken is not None:
        _record(core, job, Next(gave_up=f"job {taken.job.id} has its name by now"))
    else:
        if phase.end.survivors:
            # They may hold its port. What is left of a service must not keep the next one from working.
            core.spawn(lambda: ending.kill(core, job.id, signal.SIGTERM, found.pause / 2, "restart"))
        # The clock may have been set back since.
        at = min(max(phase.ended_at + found.pause, now()), now() + found.pause)
        log.warning("%s (%s) ended; it is started again in %s", job.id, job.name, at - now())
        live = start_later(core, _like(core, job, found.next, key), core.folder(job), at)
        _record_once_accepted(core, job, live)


def start_later(
    core: Core,
    job: Job,
    path: str,
    at: datetime | None,
    told: bytes | None = None,
    env: Mapping[str, str | None] | None = None,
) -> Live:
    """Accept a job that starts at this time, with the environment of the job in this folder, and told this by stdin."""
    turn = replace(job.spec.turn, at=at, after=(), after_any=False)
    like = replace(job, spec=replace(job.spec, turn=turn))
    return starting.admit(core, *again.prepared(core, like, path, told, env))


def _like(core: Core, job: Job, service: Service | None, key: str) -> Job:
    """The same job anew. A time to live goes on; it does not begin again."""
    ttl = None if job.spec.ttl is None else max(job.created_at + job.spec.ttl - now(), timedelta(milliseconds=1))
    spec = replace(job.spec, service=service, ttl=ttl, background=True)
    return replace(
        job, id=starting.id_like(core, job), spec=spec, key=key, created_at=now(), phase=Queued(), facts=None
    )


def _record_once_accepted(core: Core, job: Job, live: Live) -> None:
    def accepted(row: Future[Job]) -> None:
        if row.exception() is None:
            core.hub.call_soon(lambda: _record(core, job, Next(job=live.job.id)))

    if live.inserted is not None:
        live.inserted.add_done_callback(accepted)


def _record(core: Core, job: Job, decided: Next) -> None:
    try:
        services.write_next(core.folder(job), decided)
    except OSError as error:
        log.warning("what comes after %s could not be put on record: %s", job.id, error)


async def kill(core: Core, ref: str, number: int, grace: timedelta, by: str) -> Killed:
    """See ending.kill. A service that is killed stays down, also if it ends by itself at this very moment."""
    job = core.find(ref)
    if job.spec.ask is not None and not isinstance(job.phase, Ended):
        core.stopping.add(job.id)  # until it is decided what comes after it
    if job.spec.service is None:
        return await ending.kill(core, ref, number, grace, by)
    core.stopping.add(job.id)
    try:
        return await ending.kill(core, job.id, number, grace, by)
    finally:
        core.stopping.discard(job.id)


class LocalServices:
    """Implements api.Services in this process."""

    def __init__(self, core: Core) -> None:
        """Beside the LocalJobs of the same core."""
        self.core: Core = core

    @with_sound_store
    async def restart(self, job: str, *, grace: timedelta = GRACE, by: str = "restart") -> Ran:
        """See api.Services.restart."""
        core, found = self.core, self.core.find(job)
        if found.spec.service is None:
            raise BadRequest(detail=f"job {found.id} is no service; only services can be started again")
        newest = core.find(found.name or found.id)
        found = newest if newest.owner == found.owner else found
        killed = await kill(core, found.id, signal.SIGTERM, grace, by)
        if not killed.verified_empty or not isinstance(killed.job.phase, Ended):
            raise JobActive(job=found.id)
        live, joined = self._again(found)
        service = live.job.spec.service
        request = Request(live.job.spec.command, service=service, deadline=None)
        return await starting.answer(core, request, live, joined)

    def _again(self, job: Job) -> tuple[Live, Job | None]:
        core, service = self.core, job.spec.service
        key = f"again after {job.id}"
        held = core.keeping.table.with_key(job.owner, key)
        if held is not None:
            return held, held.job
        if (taken := core.keeping.table.with_name(job.owner, job.name or "")) is not None:
            raise NameInUse(name=job.name or "", job=taken.job.id)
        if service is None:
            raise JobNotFound(job=job.id)
        ports.check(core, service.ports)
        service = replace(service, run=service.run + 1, tries=0)
        return start_later(core, _like(core, job, service, key), core.home.job(job.id), None), None
