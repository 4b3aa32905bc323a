"""What is done to a handle: fetch, apply and abort, each answered with what it is then."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import cast

import anyio

from bide.agents.rows import LARGEST, row
from bide.api import Jobs
from bide.model.errors import BadRequest
from bide.model.handles import shown, state_of
from bide.model.job import Job
from bide.model.phase import Ended
from bide.model.question import Value, spoken
from bide.model.schema import Json

SETTLE = timedelta(milliseconds=100)
"""Output is awaited until nothing came for this long."""
SETTLE_LONGEST = 1.0
ABORT_GRACE = timedelta(seconds=2)


async def fetch(jobs: Jobs, job: Job, ref: str, room: int = LARGEST) -> Json:
    """Its state and what it wrote; of a terminal, once its screen has settled."""
    if job.spec.pty and not isinstance(job.phase, Ended):
        await _settled(jobs, job, await _size(jobs, job))
        job = await jobs.get(job.id)
    return await row(jobs, job, ref, room)


async def apply(jobs: Jobs, job: Job, ref: str, value: object, key: str | None = None, room: int = LARGEST) -> Json:
    """Write to its input, `None` for the end of it, and see what comes of that."""
    if isinstance(job.phase, Ended):
        detail = f"Handle `{shown(ref)}` is stopped, so nothing can be applied to it; fetch gives its result"
        raise BadRequest(detail=detail)
    posed = None if job.facts is None else job.facts.question
    if posed is not None and posed.question.for_people:
        what = (
            "asks for a secret, and no model gives one" if posed.question.secret else "waits for the answer of a person"
        )
        raise BadRequest(detail=f"Handle `{shown(ref)}` {what}; a person can, at a terminal: bide answer {job.id}")
    if posed is not None and posed.typed_at is None:
        answer = spoken(posed.question, value) if isinstance(value, str) else cast("Value | None", value)
        await jobs.questions.answer(posed.id, answer, by=job.owner, key=key)
        return await row(jobs, await jobs.get(job.id), ref, room)
    if not (job.spec.stdin or job.spec.pty):
        raise BadRequest(detail=f"Handle `{shown(ref)}` was spawned without stdin; abort it and spawn it with stdin")
    before = await _size(jobs, job)
    await jobs.send(job.id, data=_input(job, value), eof=value is None, key=key)
    await _settled(jobs, job, before)
    return await row(jobs, await jobs.get(job.id), ref, room)


def _input(job: Job, value: object) -> bytes:
    """What is written: an answer to a question is a whole line, and everything else is what it is."""
    if value is None:
        return b""
    said = value if isinstance(value, str) else json.dumps(value)
    asked = not job.spec.pty and state_of(job) == "waiting" and job.facts is not None and bool(job.facts.waiting)
    return (f"{said}\n" if asked and not said.endswith("\n") else said).encode("utf-8", "replace")


async def abort(jobs: Jobs, job: Job, ref: str, by: str, room: int = LARGEST) -> Json:
    """End it with its whole tree, TERM and then KILL; what it wrote, and what is left of it if anything is."""
    killed = await jobs.kill(job.id, grace=ABORT_GRACE, by=by)
    data = await row(jobs, killed.job, ref, room)
    if not killed.verified_empty:
        left = ", ".join(f"{one.pid} ({one.command})" for one in killed.survivors)
        data["note"] = f"still alive: {left}"
    return data


async def _size(jobs: Jobs, job: Job) -> int:
    return (await jobs.read(job.id, limit=1)).size


async def _settled(jobs: Jobs, job: Job, offset: int) -> None:
    """Let output come until there was none for a moment."""
    with anyio.move_on_after(SETTLE_LONGEST):
        while True:
            piece = await jobs.read(job.id, offset=offset, follow=SETTLE)
            if not piece.data:
                return
            offset = piece.next
