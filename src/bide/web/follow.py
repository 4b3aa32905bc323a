"""Streamed answers: a job's output as frames, and the events of all jobs."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import anyio
from msgspec.structs import replace

from bide.api import Events, Jobs
from bide.model.answers import event_to_json
from bide.model.job import Job
from bide.model.messages import job_to_json
from bide.model.output import Stream
from bide.model.questionforms import posed_to_json
from bide.model.request import Request
from bide.model.until import Until
from bide.stalls import measured
from bide.web.http import Reply

_WHAT = "GET /v1/jobs/*/follow"
"""What its parts are measured as: each has a task of its own."""
FRAMES = "application/vnd.bide.frames"
_EVENT = 0
_TYPES = {Stream.OUT: 1, Stream.ERR: 2}
_LOOK_AGAIN = timedelta(minutes=1)
_PIECE = 64 * 1024
"""What a peer that reads nothing makes us hold, some times over."""

Send = Callable[[bytes], Awaitable[None]]


def frame(kind: int, payload: bytes) -> bytes:
    """One frame: type, length, payload."""
    return bytes((kind,)) + len(payload).to_bytes(4, "big") + payload


def event(name: str, **facts: object) -> bytes:
    """An event frame."""
    return frame(_EVENT, json.dumps({"event": name, **facts}, separators=(",", ":")).encode())


async def run_and_follow(jobs: Jobs, request: Request, reply: Reply) -> None:
    """Start a job and stream it from its first byte to its end."""
    ran = await jobs.run(replace(request, background=True, followed=True))
    await follow(jobs, ran.job, {Stream.OUT: 0, Stream.ERR: 0}, reply, joined=ran.joined)


async def follow(
    jobs: Jobs,
    job: Job,
    starts: dict[Stream, int],
    reply: Reply,
    *,
    tail: int | None = None,
    joined: bool = False,
) -> None:
    """Stream a job's output from these offsets (or its last lines) to its end."""
    send = await reply.stream(FRAMES)
    await send(event("job", job=job_to_json(job), joined=joined))
    one_stream = job.spec.merge or job.spec.pty
    async with anyio.create_task_group() as group:
        group.start_soon(measured, _WHAT, _matters, jobs, job.id, send)
        if job.spec.stdin or job.spec.pty:
            group.start_soon(measured, _WHAT, _prompts, jobs, job.id, send)
        async with anyio.create_task_group() as streams:
            for stream in (Stream.OUT,) if one_stream else Stream:
                streams.start_soon(measured, _WHAT, _copy, jobs, job.id, stream, starts[stream], tail, send)
        group.cancel_scope.cancel()
    await send(event("ended", job=job_to_json(await jobs.get(job.id))))


async def _copy(jobs: Jobs, job: str, stream: Stream, start: int, tail: int | None, send: Send) -> None:
    at = start if tail is None else (await jobs.read(job, stream=stream, tail=tail)).offset
    while True:
        piece = await jobs.read(job, stream=stream, offset=at, limit=_PIECE, follow=_LOOK_AGAIN)
        if piece.offset > at:
            await send(event("dropped", stream=str(stream), **{"from": at, "to": piece.offset}))
        if piece.data:
            await send(frame(_TYPES[stream], piece.data))
        at = max(at, piece.next)
        if piece.eof:
            return


async def _matters(jobs: Jobs, job: str, send: Send) -> None:
    """Tell each question that the job puts, and each time its output begins or ends to wait for room."""
    told: tuple[str, ...] = ()
    stalled = False
    while (met := (await jobs.wait([job], until=Until(question=told, stalled=not stalled))).met) != "ended":
        if met == "stalled":
            stalled = not stalled
            await send(event("stalled", stalled=stalled))
            continue
        for one in await jobs.questions.list(job=job):
            if one.id not in told and one.typed_at is None:
                told = (*told, one.id)
                await send(event("waiting", prompt=one.question.text, question=posed_to_json(one)))


async def _prompts(jobs: Jobs, job: str, send: Send) -> None:
    """Tell each time the job begins to wait for input with a prompt of its own."""
    while True:
        waited = await jobs.wait([job], until=Until(input=True))
        facts = waited.jobs[0].facts
        if waited.met != "input" or facts is None:
            return
        if facts.question is None or facts.question.typed_at is not None:
            await send(event("waiting", prompt=facts.waiting or "", **({"unsure": True} if facts.unsure else {})))
        while facts is not None and facts.waiting is not None:
            await jobs.wait([job], until=Until(input=False), timeout=_LOOK_AGAIN)
            facts = (await jobs.get(job)).facts


async def follow_events(events: Events, after: int | None, job: str | None, reply: Reply) -> None:
    """Server-sent events, one for each move of a job, for as long as the peer listens."""
    begun = await events.newest() if after is None else after
    moves = events.follow(after=begun, job=job)
    send = await reply.stream("text/event-stream")
    # Where it begins, so that who loses the connection before the first event misses none.
    await send(f": bide events\nid: {begun}\n\n".encode())
    async for found in moves:
        body: dict[str, Any] = event_to_json(found)
        await send(f"id: {found.seq}\ndata: {json.dumps(body, separators=(',', ':'))}\n\n".encode())
