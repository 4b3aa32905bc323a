"""When what a client can read is another than it was. Fed by events and waits of the engine; nothing here knows the protocol."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from datetime import timedelta

import anyio

from bide.api import Filter, Jobs
from bide.mcpserver import resources
from bide.mcpserver.resources import Kind
from bide.mcpserver.scope import Own
from bide.mcpserver.toolsets import place
from bide.model.errors import BideError, SessionNotFound
from bide.model.job import Job
from bide.model.output import Stream
from bide.model.until import Until

log = logging.getLogger(__name__)

GAP = 0.25
"""Seconds between two notices of one resource: what changes faster is told together."""
_LOOK_AGAIN = timedelta(minutes=1)

Tell = Callable[[], Awaitable[object]]
Watch = Callable[[Tell], Awaitable[None]]
"""Tells of every change since the watch was begun; returns when there can be no more."""


async def begin(jobs: Jobs, own: Own, uri: str) -> Watch:
    """A watch of one resource, from now on. Raises JobNotFound or SessionNotFound."""
    named = resources.place_of(uri)
    match named.kind:
        case Kind.JOBS:
            return await _compared(jobs, own, lambda: _jobs(jobs, own, resources.LISTED))
        case Kind.SESSIONS:
            return await _compared(jobs, own, lambda: _sessions(jobs, own))
        case Kind.SESSION:
            await own.session(named.ref)
            return await _compared(jobs, own, lambda: _session(own, named.ref))
        case Kind.OUTPUT:
            return await _output(jobs, await own.job(named.ref), named.stream)
        case _:
            return await job_watch(jobs, await own.job(named.ref))


async def begin_list(jobs: Jobs, own: Own) -> Watch:
    """A watch of which resources there are, from now on."""
    return await _compared(jobs, own, lambda: _listed(jobs, own))


# What is compared: enough to see that the text would be another.


async def _jobs(jobs: Jobs, own: Own, most: int) -> Hashable:
    page = await jobs.list(Filter(owner=own.owner), limit=most)
    return tuple(
        (job.id, job.phase_name, job.facts is not None and (job.facts.waiting, job.facts.stalled)) for job in page.jobs
    )


async def _sessions(jobs: Jobs, own: Own) -> Hashable:
    return json.dumps([place.data_of(one) for one in await jobs.sessions.list(owner=own.owner)])


async def _session(own: Own, ref: str) -> Hashable:
    try:
        one = await own.session(ref)
    except SessionNotFound:
        return None
    return json.dumps([place.data_of(one), [(job.id, job.phase_name) for job in one.jobs]])


async def _listed(jobs: Jobs, own: Own) -> Hashable:
    page = await jobs.list(Filter(owner=own.owner), limit=resources.SHOWN)
    sessions = await jobs.sessions.list(owner=own.owner)
    return frozenset(job.id for job in page.jobs), frozenset(one.id for one in sessions)


async def _compared(jobs: Jobs, own: Own, look: Callable[[], Awaitable[Hashable]]) -> Watch:
    """Looks again after every move of a job, and after every call of the owner's that may have changed a session."""
    moves = jobs.events.follow(after=await jobs.events.newest())
    before = await look()

    async def watch(tell: Tell) -> None:
        nonlocal before
        async with anyio.create_task_group() as group:
            bell = _Bell()
            group.start_soon(bell.ring_at_moves, moves)
            group.start_soon(bell.ring_at_calls, own)
            while True:
                await bell.rung()
                now = await look()
                if now != before:
                    before = now
                    await tell()
                    await anyio.sleep(GAP)

    return watch


class _Bell:
    """Rings that come while nobody listens are heard as one."""

    def __init__(self) -> None:
        # It has rung: something may have happened since what is compared was looked at.
        self._event = anyio.Event()
        self._event.set()

    async def rung(self) -> None:
        await self._event.wait()
        self._event = anyio.Event()

    async def ring_at_moves(self, moves: AsyncIterator[object]) -> None:
        async for _ in moves:
            self._event.set()

    async def ring_at_calls(self, own: Own) -> None:
        while True:
            await own.arrivals.next().wait()
            self._event.set()


# One job


async def job_watch(jobs: Jobs, job: Job) -> Watch:
    """A watch of one job: each of its moves, and each time that it begins or ceases to wait for input."""
    moves = jobs.events.follow(after=await jobs.events.newest(), job=job.id)

    async def watch(tell: Tell) -> None:
        async with anyio.create_task_group() as group:
            if job.spec.stdin or job.spec.pty:
                group.start_soon(_questions, jobs, job.id, tell)
            async for move in moves:
                await tell()
                if move.what == "forgotten":
                    break
            group.cancel_scope.cancel()

    return watch


async def _questions(jobs: Jobs, job: str, tell: Tell) -> None:
    asked = True
    while True:
        waited = await jobs.wait([job], until=Until(input=asked))
        if waited.met != "input":
            return
        await tell()
        asked = not asked


async def _output(jobs: Jobs, job: Job, stream: Stream) -> Watch:
    begun = (await jobs.read(job.id, stream=stream, limit=1)).size

    async def watch(tell: Tell) -> None:
        at = begun
        while True:
            piece = await jobs.read(job.id, stream=stream, offset=at, limit=1, follow=_LOOK_AGAIN)
            if piece.size > at:
                at = piece.size
                await tell()
                await anyio.sleep(GAP)
            elif piece.ended:
                return

    return watch


async def quietly(watch: Watch, tell: Tell) -> None:
    """Watch until there can be no more; also if the job was forgotten meanwhile."""
    try:
        await watch(tell)
    except* BideError as gone:
        log.debug("a watch is over: %s", gone.exceptions[0])
