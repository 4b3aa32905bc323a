"""The routes of docs/http.md: one per verb, each a translation and nothing more."""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from bide.api import PAGE, READ_LIMIT, Events, Filter, Jobs
from bide.model.answers import slice_to_json, wait_from_json, waited_to_json
from bide.model.errors import BadRequest, BideError, InternalError
from bide.model.messages import descendants_to_json, from_stamp, job_to_json
from bide.model.output import Stream
from bide.model.requests import request_from_json
from bide.web.follow import follow, follow_events, run_and_follow
from bide.web.http import HttpRequest, Reply, segments

log = logging.getLogger(__name__)

STATUSES = {
    "bad_request": 400,
    "folder_not_found": 400,
    "home_unusable": 503,
    "job_not_found": 404,
    "job_forgotten": 410,
    "name_in_use": 409,
    "job_active": 409,
    "job_ended": 409,
    "no_stdin": 409,
    "home_busy": 503,
    "database_newer": 503,
    "disk_full": 507,
    "daemon_unavailable": 503,
    "internal_error": 500,
}

Handler = Callable[["Routes", HttpRequest, Reply, str], Awaitable[None]]


class Routes:
    """Answers requests with the verbs of one Jobs."""

    def __init__(
        self,
        jobs: Jobs,
        events: Events,
        *,
        info: Callable[[], dict[str, Any]],
        end_jobs: Callable[[], Awaitable[None]],
        stop: Callable[[], None],
    ) -> None:
        """`info` describes the daemon, `end_jobs` kills what it keeps, `stop` lets it end."""
        self.jobs = jobs
        self.events = events
        self.info = info
        self.end_jobs = end_jobs
        self.stop = stop

    async def __call__(self, request: HttpRequest, reply: Reply) -> None:
        """Answer one request; a fault of ours is logged and told as internal_error."""
        try:
            handler, job = self._match(request)
            await handler(self, request, reply, job)
        except BideError as error:
            await _fail(reply, error)
        except (ValueError, KeyError, TypeError) as error:
            if reply.started:
                raise
            await _fail(reply, BadRequest(detail=f"the request cannot be read: {error}"))
        except OSError as error:
            log.exception("%s %s", request.method, request.path)
            await _fail(reply, InternalError(detail=str(error)))

    def _match(self, request: HttpRequest) -> tuple[Handler, str]:
        parts = segments(request.path)
        job = ""
        if len(parts) > 2 and parts[:2] == ["v1", "jobs"]:
            job, parts[2] = parts[2], "*"
        name = "/".join(parts)
        if (handler := ROUTES.get((request.method, name))) is not None:
            return handler, job
        methods = sorted(method for method, path in ROUTES if path == name)
        if methods:
            raise BadRequest(detail=f"/{name} takes {' or '.join(methods)}, not {request.method}")
        raise BadRequest(detail=f"no route {request.method} {request.path}; docs/http.md lists them")

    async def on_run(self, request: HttpRequest, reply: Reply, _: str) -> None:
        wanted = request_from_json(request.json())
        if request.query.get("follow") == "1":
            await run_and_follow(self.jobs, wanted, reply)
            return
        ran = await self.jobs.run(wanted)
        body: dict[str, Any] = {"job": job_to_json(ran.job), "joined": ran.joined, "deferred": ran.deferred}
        body |= {"out": ran.out and slice_to_json(ran.out), "err": ran.err and slice_to_json(ran.err)}
        await reply.json(body)

    async def on_get(self, _: HttpRequest, reply: Reply, job: str) -> None:
        await reply.json(job_to_json(await self.jobs.get(job)))

    async def on_list(self, request: HttpRequest, reply: Reply, _: str) -> None:
        query: dict[str, Any] = dict(request.query)
        limit, before = int(query.pop("limit", PAGE)), query.pop("before", None)
        for key in ("since", "until"):
            if key in query:
                query[key] = from_stamp(query[key])
        page = await self.jobs.list(Filter(**query), limit=limit, before=before)
        await reply.json({"jobs": [job_to_json(job) for job in page.jobs], "next": page.next})

    async def on_wait(self, request: HttpRequest, reply: Reply, _: str) -> None:
        ids, mode, until, timeout = wait_from_json(request.json())
        waited = await self.jobs.wait(ids, mode=mode, until=until, timeout=timeout)
        await reply.json(waited_to_json(waited))

    async def on_read(self, request: HttpRequest, reply: Reply, job: str) -> None:
        query = request.query
        number = {key: int(query[key]) for key in ("offset", "limit", "tail", "follow_ms") if key in query}
        found = await self.jobs.read(
            job,
            stream=Stream(query.get("stream", "out")),
            offset=number.get("offset"),
            limit=number.get("limit", READ_LIMIT),
            tail=number.get("tail"),
            grep=query.get("grep"),
            follow=timedelta(milliseconds=number["follow_ms"]) if "follow_ms" in number else None,
        )
        if "grep" in query:
            await reply.json(slice_to_json(found))
            return
        headers = {"Bide-Offset": found.offset, "Bide-Next": found.next, "Bide-Size": found.size}
        headers |= {"Bide-Head": found.head, "Bide-Ended": int(found.ended), "X-Content-Type-Options": "nosniff"}
        await reply.send(found.data, kind="application/octet-stream", headers=headers)

    async def on_follow(self, request: HttpRequest, reply: Reply, job: str) -> None:
        query = request.query
        starts = {Stream.OUT: int(query.get("out", 0)), Stream.ERR: int(query.get("err", 0))}
        tail = int(query["tail"]) if "tail" in query else None
        await follow(self.jobs, await self.jobs.get(job), starts, reply, tail=tail)

    async def on_send(self, request: HttpRequest, reply: Reply, job: str) -> None:
        body = request.json()
        try:
            data = (
                base64.b64decode(body["base64"], validate=True)
                if "base64" in body
                else str(body.get("text") or "").encode()
            )
        except binascii.Error as error:
            raise BadRequest(detail=f"'base64' cannot be decoded: {error}") from error
        signal = body.get("signal")
        sent = await self.jobs.send(
            job, data=data, eof=bool(body.get("eof")), signal=None if signal is None else int(signal)
        )
        await reply.json(job_to_json(sent))

    async def on_kill(self, request: HttpRequest, reply: Reply, job: str) -> None:
        body = request.json()
        grace = timedelta(milliseconds=body.get("grace_ms", 5000))
        killed = await self.jobs.kill(
            job, signal=int(body.get("signal", 15)), grace=grace, by=str(body.get("by") or "user")
        )
        await reply.json(
            {
                "job": job_to_json(killed.job),
                "signalled": killed.signalled,
                "verified_empty": killed.verified_empty,
                "survivors": descendants_to_json(killed.survivors),
                "already_ended": killed.already_ended,
            }
        )

    async def on_forget(self, _: HttpRequest, reply: Reply, job: str) -> None:
        await self.jobs.forget(job)
        await reply.json({})

    async def on_events(self, request: HttpRequest, reply: Reply, _: str) -> None:
        after = int(request.query["after"]) if "after" in request.query else None
        await follow_events(self.events, after, request.query.get("job"), reply)

    async def on_daemon(self, _: HttpRequest, reply: Reply, __: str) -> None:
        await reply.json(self.info())

    async def on_stop(self, request: HttpRequest, reply: Reply, _: str) -> None:
        kill = request.json().get("kill")
        running = self.info()["running"]
        if kill:
            await self.end_jobs()
        await reply.json({"running": running})
        self.stop()


async def _fail(reply: Reply, error: BideError) -> None:
    if reply.started:
        raise error
    await reply.json({"error": error.to_json()}, status=STATUSES[error.code])


ROUTES: dict[tuple[str, str], Handler] = {
    ("POST", "v1/jobs"): Routes.on_run,
    ("GET", "v1/jobs"): Routes.on_list,
    ("GET", "v1/jobs/*"): Routes.on_get,
    ("POST", "v1/wait"): Routes.on_wait,
    ("GET", "v1/jobs/*/output"): Routes.on_read,
    ("GET", "v1/jobs/*/follow"): Routes.on_follow,
    ("POST", "v1/jobs/*/send"): Routes.on_send,
    ("POST", "v1/jobs/*/kill"): Routes.on_kill,
    ("DELETE", "v1/jobs/*"): Routes.on_forget,
    ("GET", "v1/events"): Routes.on_events,
    ("GET", "v1/daemon"): Routes.on_daemon,
    ("POST", "v1/daemon/stop"): Routes.on_stop,
}
