"""`exec` and `waitJob` of the toolset `sessions`: run code, wait for it, and tell what became of it in seed 001's words."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from bide.mcpserver import patience, text
from bide.mcpserver.tool import Answer, Call
from bide.mcpserver.toolsets import pieces, sessionoutput, sessionwords
from bide.mcpserver.toolsets.sessionwords import refusal, said
from bide.mcpserver.waiting import wait_reporting
from bide.model.errors import BadRequest, SessionNotFound
from bide.model.job import Job
from bide.model.limits import Limits
from bide.model.output import Stream
from bide.model.phase import Ended
from bide.model.request import Request
from bide.model.schema import Json
from bide.model.times import ms
from bide.model.until import Until
from bide.model.waiting import Mode

TIMEOUT_MS = 120_000
"""For a run in the foreground, and for a wait."""


async def execute(call: Call, given: Json, shown_bytes: int) -> Answer:
    """`exec`: run code and answer with its end; past the client's patience, or in the background, with the job."""
    background: bool = given.get("background", False)
    session = await _session(call, given)
    # Always in the background for the engine, so that a cancelled call leaves it alone; in a session it counts as what it is.
    ran = await call.jobs.run(replace(_request(call, given, session), followed=not background))
    call.own.arrivals.ring()
    job = ran.job
    kept: Json = {"sessionId": job.session} if given.get("create") else {}
    if background:
        return said({"jobId": job.id, "pid": sessionwords.pid(job), **kept})
    seconds = patience.deadline(call.caller.client, call.caller.patience)
    with call.own.foreground.following(job.id):
        job = await _waited(call, job, seconds)
        if not isinstance(job.phase, Ended):
            return said({**_going_on(job), **kept})
        call.own.foreground.answered(job.id)
        data = {**await _result(call, job, shown_bytes), "jobId": job.id, **kept}
        return replace(await _told(call, job, data, given), own=job.id)


async def _session(call: Call, given: Json) -> str | None:
    """Where it runs: in an open session of the caller's, in one that is opened for it, or outside sessions."""
    ref: str | None = given.get("sessionId")
    if not given.get("create"):
        return None if ref is None else (await call.own.session(ref)).id
    if ref is not None:
        try:
            return (await call.own.session(ref)).id
        except SessionNotFound:
            pass
    caller = call.caller
    started = await call.jobs.sessions.start(ref, cwd=caller.cwd, base_env=caller.env, owner=caller.owner)
    return started.session.id


def _request(call: Call, given: Json, session: str | None) -> Request:
    if not given["code"].strip():
        raise BadRequest(detail="'code' is empty; give the code to run")
    outside: dict[str, Any] = {"cwd": call.caller.cwd, "base_env": call.caller.env} if session is None else {}
    limit = given.get("timeout", None if given.get("background") else TIMEOUT_MS)
    return Request.of(
        given["code"],
        **outside,
        session=session,
        env=given.get("env", {}),
        language=given.get("language", "python"),
        owner=call.caller.owner,
        key=call.key,
        background=True,
        limits=Limits() if limit is None else Limits(timeout=timedelta(milliseconds=limit)),
    )


async def wait(call: Call, job: Job, given: Json, shown_bytes: int) -> Answer:
    """`waitJob`: its result at its end; an error past the timeout, and the job goes on."""
    seconds: float = given.get("timeout", TIMEOUT_MS) / 1000
    job = await _waited(call, job, seconds)
    if isinstance(job.phase, Ended):
        result = await _result(call, job, shown_bytes)
        return await _told(call, job, {**result, "duration": sessionwords.duration(job)}, given)
    if seconds > call.longest:
        return said(_going_on(job))
    sentence = f"Timeout waiting for job {job.id}; it goes on, so wait again or read what it wrote with getJobOutput"
    return refusal("timeout", sentence, jobId=job.id, status="running")


async def _waited(call: Call, job: Job, seconds: float) -> Job:
    longest = timedelta(seconds=min(seconds, call.longest))
    return (await wait_reporting(call, [job.id], Mode.ALL, Until(), longest)).jobs[0]


def _going_on(job: Job) -> Json:
    """The answer when the client's patience ends before the job does."""
    arguments = {"jobId": job.id} if job.session is None else {"sessionId": job.session, "jobId": job.id}
    called, following = text.next_call("waitJob", **arguments)
    limit = ms(job.spec.limits.timeout)
    until = f" It is ended at its timeout of {limit}ms." if limit is not None else ""
    note = f"Still running. {text.WAITING_IS_FREE}{until} For its result: {called}"
    return {"jobId": job.id, "pid": sessionwords.pid(job), "status": "running", "note": note, "next": following}


async def _result(call: Call, job: Job, shown_bytes: int) -> Json:
    out = await pieces.whole(call.jobs, job.id, Stream.OUT, shown_bytes)
    err = await pieces.whole(call.jobs, job.id, Stream.ERR, shown_bytes)
    status = sessionwords.status(job)
    data: Json = {
        "stdout": out.text,
        "stderr": err.text,
        "code": sessionwords.exit_code(job),
        "success": status == "completed",
    }
    if out.missing or err.missing:
        data["truncated"] = {"stdout": out.missing > 0, "stderr": err.missing > 0}
    if why := sessionwords.error(job):
        data["error"] = why
    return {**data, **await sessionoutput.notes(call, job, out, err)}


async def _told(call: Call, job: Job, data: Json, given: Json) -> Answer:
    failed = sessionwords.status(job) == "failed"
    return await sessionoutput.excerpted(call, job, data, given, is_error=failed)
