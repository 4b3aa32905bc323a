"""The routes of docs/http.md: one per verb, each a translation and nothing more."""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

import anyio
from msgspec.structs import replace

from bide.api import PAGE, READ_LIMIT, Filter, Jobs, Killed, Ran, Upkeep
from bide.model import fields
from bide.model.answers import slice_to_json, wait_from_json, waited_to_json
from bide.model.errors import BadRequest, BideError, InternalError, of_os_error
from bide.model.excerpt import BUDGET, excerpt_to_json
from bide.model.job import DEFAULT_OWNER, Job
from bide.model.messages import descendants_to_json, job_to_json
from bide.model.output import Slice, Stream
from bide.model.requests import request_from_json
from bide.model.times import from_ms
from bide.stalls import held, in_turns
from bide.web import groups, llm, outbox, questions, sessions, upkeep
from bide.web.follow import follow, follow_events, run_and_follow
from bide.web.http import Reply, segments
from bide.web.query import query_instant, query_number, stream_named
from bide.web.request import HttpRequest

log = logging.getLogger(__name__)

STATUSES = {
    "bad_request": 400,
    "approval_denied": 403,
    "folder_not_found": 400,
    "bad_settings": 503,
    "bad_project": 400,
    "home_unusable": 503,
    "job_not_found": 404,
    "job_forgotten": 410,
    "not_allowed": 403,
    "session_not_found": 404,
    "conversation_not_found": 404,
    "question_not_found": 404,
    "question_closed": 409,
    "queue_full": 429,
    "limits_unavailable": 409,
    "cli_resting": 503,
    "name_in_use": 409,
    "job_queued": 409,
    "port_in_use": 409,
    "job_active": 409,
    "job_ended": 409,
    "no_stdin": 409,
    "home_busy": 503,
    "database_in_use": 503,
    "database_newer": 503,
    "disk_full": 507,
    "home_read_only": 503,
    "too_many_files": 503,
    "too_many_connections": 503,
    "too_much_at_once": 503,
    "daemon_unavailable": 503,
    "internal_error": 500,
}

_WITH_NAME = (
    "jobs",
    "asks",
    "conversations",
    "groups",
    "services",
    "sessions",
    "owners",
    "outbox",
    "carriers",
    "questions",
)
"""What follows these in a path is an id or a name."""
_SEND: dict[str, fields.Kind] = {
    "text": fields.is_text,
    "base64": fields.is_text,
    "eof": fields.is_flag,
    "signal": fields.is_whole,
    "pause": fields.is_flag,
    "at": fields.is_whole,
    "key": fields.is_text,
}
_KILL: dict[str, fields.Kind] = {"signal": fields.is_whole, "grace_ms": fields.is_number, "by": fields.is_text}
_RESTART: dict[str, fields.Kind] = {"grace_ms": fields.is_duration, "by": fields.is_text}

_JSON_SIZE = 12
"""How many bytes of JSON a byte of output may be: a zero byte has six as text, and is there twice."""

Handler = Callable[["Routes", HttpRequest, Reply, str], Coroutine[Any, Any, None]]


class EndedJobs(NamedTuple):
    """What became of the jobs and notices of a home that is ended."""

    left: Sequence[Killed] = ()
    """Killed jobs of which something survives."""
    undelivered: Mapping[str, int] = MappingProxyType({})
    """How many notices each sink did not accept."""


class Routes:
    """Answers requests with the verbs of one Jobs."""

    def __init__(
        self,
        jobs: Jobs,
        upkeep: Upkeep,
        *,
        info: Callable[[], dict[str, Any]],
        limits: Callable[[], dict[str, str]],
        end_jobs: Callable[[], Awaitable[EndedJobs]],
        stop: Callable[[], None],
        web: Callable[[], Awaitable[str]],
    ) -> None:
        """`info` describes the daemon, `limits` what enforces limits, `end_jobs` kills what it keeps, `stop` lets it end, `web` gives an address."""
        self.jobs = jobs
        self.upkeep = upkeep
        self.info = info
        self.limits = limits
        self.end_jobs = end_jobs
        self.stop = stop
        self.web = web

    async def __call__(self, request: HttpRequest, reply: Reply) -> None:
        """Answer one request; a fault of ours is logged and told as internal_error."""
        try:
            handler, job, route = self._match(request)
            with self.jobs.outbox.answering(request.owner or DEFAULT_OWNER) as told:
                await held(route, handler(self, request, reply, job))
                self.jobs.outbox.told(told)
        except BideError as error:
            await _fail(reply, error)
        except (ValueError, KeyError, TypeError) as error:
            if reply.started:
                raise
            await _fail(reply, BadRequest(detail=f"the request cannot be read: {error}"))
        except OSError as error:
            known = of_os_error(error, self.info()["home"])
            if known is None:
                log.exception("%s %s", request.method, request.path)
            await _fail(reply, known or InternalError(detail=str(error)))

    def _match(self, request: HttpRequest) -> tuple[Handler, str, str]:
        """Return what answers, the id or name in the path, and the route."""
        if "*" not in request.path and (handler := ROUTES.get((request.method, request.path[1:]))) is not None:
            return handler, "", f"{request.method} {request.path}"
        parts = segments(request.path)
        job = ""
        if len(parts) > 2 and parts[0] == "v1" and parts[1] in _WITH_NAME:
            job, parts[2] = parts[2], "*"
        if len(parts) == 5 and parts[1] == "sessions":
            job, parts[4] = f"{job}/{parts[4]}", "*"
        name = "/".join(parts)
        if (handler := ROUTES.get((request.method, name))) is not None:
            return handler, job, f"{request.method} /{name}"
        methods = sorted(method for method, path in ROUTES if path == name)
        if methods:
            raise BadRequest(detail=f"/{name} takes {' or '.join(methods)}, not {request.method}")
        raise BadRequest(detail=f"no route {request.method} {request.path}; docs/http.md lists them")

    async def on_run(self, request: HttpRequest, reply: Reply, _: str) -> None:
        wanted = request_from_json(request.json())
        if request.query.get("follow") == "1":
            async with upkeep.present(self.upkeep, wanted.lifetime, wanted.owner):
                await run_and_follow(self.jobs, wanted, reply)
            return
        await reply.json(ran_to_json(await self.jobs.run(wanted)))

    async def on_get(self, request: HttpRequest, reply: Reply, job: str) -> None:
        await reply.json(job_to_json(await self.jobs.get(job, owner=request.query.get("owner"))))

    async def on_list(self, request: HttpRequest, reply: Reply, _: str) -> None:
        query: dict[str, Any] = dict(request.query)
        limit, before = query_number(query, "limit", PAGE), query.pop("before", None)
        query.pop("limit", None)
        for key in query:
            if key not in Filter.__struct_fields__:
                raise BadRequest(
                    detail=f"'list' has no filter {key!r}; known are {', '.join(Filter.__struct_fields__)}"
                )
        query |= {key: query_instant(query, key) for key in ("since", "until") if key in query}
        page = await self.jobs.list(Filter(**query), limit=limit, before=before)
        await reply.json({"jobs": await _jobs_to_json(page.jobs), "next": page.next})

    async def on_wait(self, request: HttpRequest, reply: Reply, _: str) -> None:
        ids, mode, until, timeout = wait_from_json(request.json())
        waited = await self.jobs.wait(ids, mode=mode, until=until, timeout=timeout)
        async with reply.room(0 if waited.match is None else len(waited.match.line) * _JSON_SIZE):
            jobs = await _jobs_to_json(waited.jobs)
            await reply.json({**waited_to_json(replace(waited, jobs=())), "jobs": jobs})

    async def on_read(self, request: HttpRequest, reply: Reply, job: str) -> None:
        query = request.query
        if "grep" in query:
            async with reply.search():
                found = await self._read(query, job, follow=None)
                async with reply.room(len(found.data) * _JSON_SIZE):
                    await reply.json(slice_to_json(found))
            return
        found = await self._read(query, job, follow=from_ms(query_number(query, "follow_ms", None)))
        size = len(found.data)
        if not reply.has_room(size):
            found = None  # it is read again once there is room for it
        async with reply.room(size):
            found = found or await self._read(query, job, follow=None)
            headers = {"Bide-Offset": found.offset, "Bide-Next": found.next, "Bide-Size": found.size}
            headers |= {"Bide-Head": found.head, "Bide-Ended": int(found.ended), "X-Content-Type-Options": "nosniff"}
            await reply.send(found.data, kind="application/octet-stream", headers=headers)

    async def _read(self, query: dict[str, str], job: str, *, follow: timedelta | None) -> Slice:
        return await self.jobs.read(
            job,
            stream=stream_named(query.get("stream", "out")),
            offset=query_number(query, "offset", None),
            limit=query_number(query, "limit", READ_LIMIT),
            tail=query_number(query, "tail", None),
            grep=query.get("grep"),
            follow=follow,
        )

    async def on_excerpt(self, request: HttpRequest, reply: Reply, job: str) -> None:
        query = request.query
        budget = query_number(query, "budget", BUDGET)
        stream = stream_named(query["stream"]) if "stream" in query else None
        since = {one: query_number(query, one, 0) for one in Stream}
        async with reply.search():
            found = await self.jobs.excerpt(job, stream=stream, budget=budget, since=since)
            async with reply.room(budget * _JSON_SIZE):
                await reply.json(excerpt_to_json(found))

    async def on_follow(self, request: HttpRequest, reply: Reply, job: str) -> None:
        query = request.query
        starts = {stream: query_number(query, stream, 0) for stream in Stream}
        found = await self.jobs.get(job)
        async with upkeep.present(self.upkeep, found.spec.lifetime, found.owner):
            await follow(self.jobs, found, starts, reply, tail=query_number(query, "tail", None))

    async def on_send(self, request: HttpRequest, reply: Reply, job: str) -> None:
        body = fields.given(request.json(), _SEND, "'send'")
        try:
            data = base64.b64decode(body.get("base64", ""), validate=True) or body.get("text", "").encode()
        except binascii.Error as error:
            raise BadRequest(detail=f"field 'base64' of 'send' cannot be decoded: {error}") from error
        options = {key: body.get(key) for key in ("signal", "at", "key", "pause")}
        sent = await self.jobs.send(job, data=data, eof=body.get("eof", False), **options)
        await reply.json(job_to_json(sent))

    async def on_kill(self, request: HttpRequest, reply: Reply, job: str) -> None:
        body = fields.given(request.json(), _KILL, "'kill'")
        grace = timedelta(milliseconds=body.pop("grace_ms", 5000))
        killed = await self.jobs.kill(job, grace=grace, **body)
        await reply.json(
            {
                "job": job_to_json(killed.job),
                "signalled": killed.signalled,
                "verified_empty": killed.verified_empty,
                "survivors": descendants_to_json(killed.survivors),
                "already_ended": killed.already_ended,
            }
        )

    async def on_restart(self, request: HttpRequest, reply: Reply, job: str) -> None:
        body = fields.given(request.json(), _RESTART, "'restart'")
        grace = timedelta(milliseconds=body.pop("grace_ms", 5000))
        await reply.json(ran_to_json(await self.jobs.services.restart(job, grace=grace, **body)))

    async def on_forget(self, _: HttpRequest, reply: Reply, job: str) -> None:
        await self.jobs.forget(job)
        await reply.json({})

    async def on_events(self, request: HttpRequest, reply: Reply, _: str) -> None:
        await follow_events(
            self.jobs.events, query_number(request.query, "after", None), request.query.get("job"), reply
        )

    async def on_attend(self, _: HttpRequest, reply: Reply, owner: str) -> None:
        await upkeep.attend(self.upkeep, owner, reply)

    async def on_gc(self, request: HttpRequest, reply: Reply, _: str) -> None:
        await upkeep.collect(self.upkeep, request, reply)

    async def on_daemon(self, _: HttpRequest, reply: Reply, __: str) -> None:
        await reply.json(self.info())

    async def on_web(self, _: HttpRequest, reply: Reply, __: str) -> None:
        await reply.json({"url": await self.web()})

    async def on_limits(self, _: HttpRequest, reply: Reply, __: str) -> None:
        # A service manager may have to be asked.
        await reply.json(await anyio.to_thread.run_sync(self.limits))

    async def on_stop(self, request: HttpRequest, reply: Reply, _: str) -> None:
        body = fields.given(request.json(), {"kill": fields.is_flag}, "'stop'")
        running = self.info()["running"]
        ended = await self.end_jobs() if body.get("kill") else EndedJobs()
        unverified = [{"job": one.job.id, "survivors": descendants_to_json(one.survivors)} for one in ended.left]
        await reply.json({"running": running, "unverified": unverified, "undelivered": {**ended.undelivered}})
        self.stop()


def ran_to_json(ran: Ran) -> dict[str, Any]:
    """What `run` answers."""
    body: dict[str, Any] = {"job": job_to_json(ran.job), "joined": ran.joined, "deferred": ran.deferred}
    return body | {"out": ran.out and slice_to_json(ran.out), "err": ran.err and slice_to_json(ran.err)}


async def _jobs_to_json(jobs: tuple[Job, ...]) -> list[dict[str, Any]]:
    return [job_to_json(job) async for job in in_turns(jobs)]


async def _fail(reply: Reply, error: BideError) -> None:
    if reply.started:
        raise error
    await reply.json({"error": error.to_json()}, status=STATUSES[error.code])


def _of(part: str, answer: Callable[[Any, HttpRequest, Reply, str], Awaitable[None]]) -> Handler:
    """A route of what there is beside the verbs, under this name of `Jobs`."""

    async def handler(routes: Routes, request: HttpRequest, reply: Reply, name: str) -> None:
        await answer(getattr(routes.jobs, part), request, reply, name)

    return handler


ROUTES: dict[tuple[str, str], Handler] = {
    ("POST", "v1/jobs"): Routes.on_run,
    ("GET", "v1/jobs"): Routes.on_list,
    ("GET", "v1/jobs/*"): Routes.on_get,
    ("POST", "v1/wait"): Routes.on_wait,
    ("GET", "v1/jobs/*/output"): Routes.on_read,
    ("GET", "v1/jobs/*/excerpt"): Routes.on_excerpt,
    ("GET", "v1/jobs/*/follow"): Routes.on_follow,
    ("POST", "v1/jobs/*/send"): Routes.on_send,
    ("POST", "v1/jobs/*/kill"): Routes.on_kill,
    ("DELETE", "v1/jobs/*"): Routes.on_forget,
    **{where: _of("groups", act) for where, act in groups.ROUTES.items()},
    ("POST", "v1/services/*/restart"): Routes.on_restart,
    ("POST", "v1/sessions"): _of("sessions", sessions.start),
    ("GET", "v1/sessions"): _of("sessions", sessions.show_all),
    ("GET", "v1/sessions/*"): _of("sessions", sessions.show),
    ("POST", "v1/sessions/*"): _of("sessions", sessions.update),
    ("DELETE", "v1/sessions/*"): _of("sessions", sessions.end),
    ("GET", "v1/sessions/*/jobs/*"): _of("sessions", sessions.show_job),
    **{where: _of("llm", act) for where, act in llm.ROUTES.items()},
    ("GET", "v1/events"): Routes.on_events,
    **{where: _of("outbox", act) for where, act in outbox.ROUTES.items()},
    **{where: _of("questions", act) for where, act in questions.ROUTES.items()},
    ("GET", "v1/owners/*/attend"): Routes.on_attend,
    ("POST", "v1/gc"): Routes.on_gc,
    ("GET", "v1/daemon"): Routes.on_daemon,
    ("GET", "v1/daemon/limits"): Routes.on_limits,
    ("POST", "v1/daemon/stop"): Routes.on_stop,
    ("POST", "v1/web"): Routes.on_web,
}
