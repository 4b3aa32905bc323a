"""The routes of sessions, each a translation and nothing more."""

from __future__ import annotations

from bide.api import Sessions
from bide.model.errors import BadRequest
from bide.model.messages import job_to_json
from bide.model.sessionforms import session_to_json, start_from_json, update_from_json
from bide.web.http import Reply
from bide.web.request import HttpRequest


async def start(sessions: Sessions, request: HttpRequest, reply: Reply, _: str) -> None:
    """`POST /v1/sessions`."""
    started = await sessions.start(**start_from_json(request.json()))
    await reply.json({"session": session_to_json(started.session), "evicted": list(started.evicted)})


async def show_all(sessions: Sessions, request: HttpRequest, reply: Reply, _: str) -> None:
    """`GET /v1/sessions`."""
    for key in request.query:
        if key != "owner":
            raise BadRequest(detail=f"a list of sessions has no filter {key!r}; known is owner")
    found = await sessions.list(owner=request.query.get("owner"))
    await reply.json({"sessions": [session_to_json(session) for session in found]})


async def show(sessions: Sessions, _: HttpRequest, reply: Reply, session: str) -> None:
    """`GET /v1/sessions/{session}`."""
    await reply.json(session_to_json(await sessions.get(session)))


async def update(sessions: Sessions, request: HttpRequest, reply: Reply, session: str) -> None:
    """`POST /v1/sessions/{session}`."""
    await reply.json(session_to_json(await sessions.update(session, **update_from_json(request.json()))))


async def end(sessions: Sessions, request: HttpRequest, reply: Reply, session: str) -> None:
    """`DELETE /v1/sessions/{session}`."""
    wanted = request.query.get("forget", "0")
    if wanted not in ("0", "1"):
        raise BadRequest(detail=f"'forget' is 0 or 1, not {wanted!r}")
    ended = await sessions.end(session, forget=wanted == "1")
    body = {"session": session_to_json(ended.session), "forgotten": ended.forgotten}
    await reply.json(body | {"killed": list(ended.killed), "unverified": list(ended.unverified)})


async def show_job(sessions: Sessions, _: HttpRequest, reply: Reply, place: str) -> None:
    """`GET /v1/sessions/{session}/jobs/{job}`, where the job may be given by its pid."""
    session, job = place.split("/", 1)
    pid = job.isascii() and job.isdecimal() and len(job) < 10
    await reply.json(job_to_json(await sessions.job(session, int(job) if pid else job)))
