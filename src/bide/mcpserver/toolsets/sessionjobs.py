"""`listJobs`, `getJobOutput` and `killJob` of the toolset `sessions`, and how its tools find a job. Seed 001's words."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import timedelta

from bide.api import Filter
from bide.mcpserver.tool import Answer, Call
from bide.mcpserver.toolsets import pieces, sessionoutput, sessionwords
from bide.mcpserver.toolsets.positions import Place, Positions
from bide.mcpserver.toolsets.sessionwords import refusal, said
from bide.model.errors import BadRequest, JobForgotten, JobNotFound, SessionNotFound
from bide.model.job import Job
from bide.model.output import Stream
from bide.model.phase import Ended
from bide.model.schema import Json
from bide.model.session import is_later
from bide.model.words import signal_of

LISTED = 50
_PAGE = 500
_GRACE = timedelta(seconds=5)


# finding


async def find(call: Call, given: Json) -> Job:
    """The caller's job of this id, name or pid in the session that is named; outside sessions if none is.

    A session that was evicted is not open, but its jobs are still there. Raises JobNotFound or SessionNotFound.
    """
    session: str | None = given.get("sessionId")
    ref: str | int = given["jobId"]
    # A number as text is a name if there is a job of that name, else a pid.
    if session is not None and isinstance(ref, str) and ref.isdecimal() and not await _has_name(call, ref):
        ref = int(ref)
    try:
        job = await _of_pid(call, session, ref) if isinstance(ref, int) else await call.own.job(ref)
        if job.session == session:
            return job
    except JobForgotten:
        raise
    except JobNotFound:
        pass
    if session is None:
        raise JobNotFound(job=f"{ref} outside sessions")
    await call.own.session(session)
    raise JobNotFound(job=f"{ref} in session {session}")


async def find_soon(call: Call, given: Json) -> Job:
    """The same, for an `exec` that may be a call of the same batch: what is not known is given a moment to be."""
    try:
        return await find(call, given)
    except JobForgotten:
        raise
    except JobNotFound:
        if isinstance(given["jobId"], int):
            raise
        with contextlib.suppress(JobNotFound):
            await call.own.ids([given["jobId"]])
        return await find(call, given)


async def _has_name(call: Call, ref: str) -> bool:
    try:
        await call.own.job(ref)
    except JobNotFound:
        return False
    return True


async def _of_pid(call: Call, session: str | None, pid: int) -> Job:
    if session is None:
        raise BadRequest(detail="a pid is looked up in a session; give 'sessionId', or the id of the job")
    await call.own.session(session)
    job = await call.jobs.sessions.job(session, pid)
    if not call.own.may(job):
        raise JobNotFound(job=str(pid))
    return job


# listJobs


async def list_jobs(call: Call, given: Json, shown_bytes: int) -> Answer:
    """The jobs of a session, newest first; without one, those outside sessions."""
    session: str | None = given.get("sessionId")
    wanted = given.get("filter", {})
    limit: int = wanted.get("limit", LISTED)
    where = Filter(owner=call.caller.owner, session=session)
    closed: SessionNotFound | None = None
    first = 0
    if session is not None:
        try:
            first = (await call.own.session(session)).first
        except SessionNotFound as error:
            closed = error

    def fits(job: Job) -> bool:
        earlier = bool(first and session and not is_later(job.id, session, first))
        return job.session == session and not earlier and _fits(job, wanted)

    found = await _matching(call, where, limit + 1, fits)
    if closed is not None and not found:
        raise closed
    data: Json = {"jobs": [sessionwords.row(job, shown_bytes) for job in found[:limit]]}
    if len(found) > limit:
        data["note"] = f"There are older ones; these are the newest {limit}. filter.limit shows more."
    if closed is not None:
        data["note"] = f"Session {session} is not open any more; its jobs are kept. {data.get('note', '')}".strip()
    return said(data)


async def _matching(call: Call, where: Filter, limit: int, fits: Callable[[Job], bool]) -> list[Job]:
    found: list[Job] = []
    before: str | None = None
    size = limit
    while True:
        page = await call.jobs.list(where, limit=min(size, _PAGE), before=before)
        found += [job for job in page.jobs if fits(job)]
        before, size = page.next, _PAGE
        if before is None or len(found) >= limit:
            return found[:limit]


def _fits(job: Job, wanted: Json) -> bool:
    facts = {"status": sessionwords.status(job), "background": sessionwords.is_background(job)}
    return all(wanted[key] == value for key, value in facts.items() if key in wanted)


# getJobOutput


async def output(call: Call, job: Job, given: Json, positions: Positions, shown_bytes: int) -> Answer:
    """What a job wrote: the end of it, or what is newer than a place, and the place after it."""
    room = sessionoutput.room_of(given)
    data = await _piece(call, job, given, positions, shown_bytes if "budget" not in given else min(room, shown_bytes))
    if len(data["stdout"]) + len(data["stderr"]) <= room:
        return sessionoutput.told(data)
    if sessionoutput.has_data(call, given):
        return sessionoutput.in_data(data)
    return sessionoutput.told(await _piece(call, job, given, positions, max(room // 2, 4)))


async def _piece(call: Call, job: Job, given: Json, positions: Positions, most: int) -> Json:
    """Return at most so many bytes of each stream, with the place after them."""
    streams = {"stdout": Stream.OUT, "stderr": Stream.ERR}
    place, certain = _begin(job, given, positions)
    found: dict[str, pieces.Piece] = {}
    for word, stream in streams.items():
        if most == 0:
            offset = 0 if place is None else place[list(streams).index(word)]
            found[word] = await pieces.none(call.jobs, job.id, stream, offset)
        elif place is None:
            found[word] = await pieces.whole(call.jobs, job.id, stream, most)
        else:
            found[word] = await pieces.newer(call.jobs, job.id, stream, place[list(streams).index(word)], most)
    ends = (found["stdout"].next, found["stderr"].next)
    data: Json = {
        **{word: piece.text for word, piece in found.items()},
        "offset": positions.give(job.id, ends),
        "offsets": dict(zip(streams, ends, strict=True)),
        "status": sessionwords.status(job),
        "exitCode": sessionwords.exit_code(job),
        "truncated": {word: piece.missing > 0 for word, piece in found.items()},
    }
    more = {
        "dropped": {word: piece.missing for word, piece in found.items() if piece.missing},
        "left": {word: piece.left for word, piece in found.items() if piece.left},
        "error": sessionwords.error(job),
        "note": "" if certain else _UNCERTAIN,
    }
    return data | {key: value for key, value in more.items() if value}


_UNCERTAIN = (
    "This 'since' is not known for this job, so some of this may not be new. An 'offset' of an answer, or its 'offsets', "
    "is exact."
)


def _begin(job: Job, given: Json, positions: Positions) -> tuple[Place | None, bool]:
    """Where to begin in each stream, if that was said, and whether it is certain."""
    if "offsets" in given and "since" in given:
        raise BadRequest(detail="'since' and 'offsets' say the same thing; give one of them")
    if "offsets" in given:
        return (given["offsets"].get("stdout", 0), given["offsets"].get("stderr", 0)), True
    if "since" not in given:
        return None, True
    out, err = sessionwords.kept(job)
    return positions.find(job.id, given["since"], (out.size, err.size))


# killJob


async def kill(call: Call, job: Job, given: Json) -> Answer:
    """End a job with its whole tree: the signal, and KILL after five seconds."""
    asked: str = given.get("signal", "SIGTERM")
    signal = signal_of(asked)
    if signal is None:
        detail = f"there is no signal {asked!r}; use SIGTERM, SIGINT, SIGHUP, SIGKILL or another name"
        raise BadRequest(detail=detail)
    outlived = job.facts is not None and bool(job.facts.alive)
    if isinstance(job.phase, Ended) and not outlived:
        sentence = f"Job {job.id} is not running (status: {sessionwords.status(job)})"
        return refusal("job_ended", sentence, jobId=job.id, status=sessionwords.status(job))
    killed = await call.jobs.kill(job.id, signal=signal, grace=_GRACE, by=call.caller.owner)
    data: Json = {
        "jobId": job.id,
        "signal": asked,
        "status": sessionwords.status(killed.job),
        "exitCode": sessionwords.exit_code(killed.job),
    }
    if killed.already_ended:
        data["note"] = "It had ended; what it had left running was ended."
    if killed.survivors:
        data["left"] = [{"pid": one.pid, "command": one.command} for one in killed.survivors]
    return said(data)
