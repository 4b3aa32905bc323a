"""RemoteJobs: the verbs over the daemon's socket."""

from __future__ import annotations

import base64
import contextlib
import os
import secrets
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any, Unpack

from msgspec.structs import replace

from bide import config
from bide.api import PAGE, READ_LIMIT, Filter, Killed, Page, Ran
from bide.client import environment
from bide.client.attending import attending
from bide.client.events import RemoteEvents
from bide.client.groups import RemoteGroups
from bide.client.http1 import quote
from bide.client.llm import RemoteLlm
from bide.client.outbox import RemoteOutbox
from bide.client.questions import RemoteQuestions
from bide.client.sessions import RemoteSessions
from bide.client.transport import Transport
from bide.model.answers import collected_from_json, slice_from_json, waited_from_json
from bide.model.errors import BadRequest
from bide.model.excerpt import BUDGET, Excerpt, excerpt_from_json
from bide.model.given import check_duration
from bide.model.job import Job
from bide.model.llm.answer import Asked
from bide.model.llm.ask import Ask, AskOptions
from bide.model.messages import Json, descendants_from_json, job_from_json
from bide.model.output import Slice, Stream
from bide.model.plans import until_to_json
from bide.model.request import Request, RunOptions, check_owner
from bide.model.requests import request_to_json
from bide.model.retention import Collected
from bide.model.times import left_ms, ms, stamp
from bide.model.until import Until
from bide.model.waiting import Mode, Waited, several

_PIECE = 2 * 1024 * 1024
"""What is sent to a job in one request: a request has at most 8 MiB."""


class RemoteJobs:
    """Implements api.Jobs by asking the daemon. A daemon that dies meanwhile is started again and asked again."""

    def __init__(self, transport: Transport) -> None:
        """Made by `bide.connect`."""
        self._transport = transport
        self.groups: RemoteGroups = RemoteGroups(transport)
        self.events: RemoteEvents = RemoteEvents(transport)
        self.llm: RemoteLlm = RemoteLlm(transport)
        self.services: RemoteServices = RemoteServices(transport)
        self.sessions: RemoteSessions = RemoteSessions(transport)
        self.outbox: RemoteOutbox = RemoteOutbox(transport)
        self.questions: RemoteQuestions = RemoteQuestions(transport)

    async def run(self, command: str | Sequence[str] | Request, **options: Unpack[RunOptions]) -> Ran:
        """See api.Jobs.run."""
        request = Request.asked(command, options)
        wanted = request_to_json(_completed(request))
        # With a key of our own no job can have it yet; a second attempt cannot be so sure.
        first = wanted if request.key else {**wanted, "new_key": True}
        body = await self._transport.call_once("/v1/jobs", first, wanted)
        return _ran(body)

    async def ask(self, cli: str | Ask, prompt: str | None = None, **options: Unpack[AskOptions]) -> Asked:
        """See beside.Llm.ask."""
        return await self.llm.ask(cli, prompt, **options)

    async def get(self, job: str, *, owner: str | None = None) -> Job:
        """See api.Jobs.get."""
        return job_from_json(await self._transport.call("GET", _path(job), query={"owner": owner}))

    async def list(self, where: Filter = Filter(), *, limit: int = PAGE, before: str | None = None) -> Page:
        """See api.Jobs.list."""
        query: dict[str, Any] = {key: getattr(where, key) for key in Filter.__struct_fields__}
        query |= {"since": stamp(where.since), "until": stamp(where.until), "limit": limit, "before": before}
        body = await self._transport.call("GET", "/v1/jobs", query=query)
        return Page(tuple(job_from_json(job) for job in body["jobs"]), body["next"])

    async def wait(
        self,
        jobs: Sequence[str],
        *,
        mode: Mode = Mode.ALL,
        until: Until = Until(),
        timeout: timedelta | None = None,  # noqa: ASYNC109 - the timeout is a result here, not a cancellation
    ) -> Waited:
        """See api.Jobs.wait."""
        check_duration("timeout", timeout)
        body: Json = {
            "jobs": several(jobs),
            "mode": str(mode),
            "until": until_to_json(until),
            "timeout_ms": left_ms(timeout),
        }
        return waited_from_json(await self._transport.call("POST", "/v1/wait", body))

    async def read(
        self,
        job: str,
        *,
        stream: Stream = Stream.OUT,
        offset: int | None = None,
        limit: int = READ_LIMIT,
        tail: int | None = None,
        grep: str | None = None,
        follow: timedelta | None = None,
    ) -> Slice:
        """See api.Jobs.read."""
        check_duration("follow", follow)
        query: dict[str, Any] = {"stream": str(stream), "offset": offset, "limit": limit, "tail": tail}
        query |= {"grep": grep, "follow_ms": left_ms(follow)}
        if grep is not None:
            return slice_from_json(await self._transport.call("GET", f"{_path(job)}/output", query=query))
        headers, data = await self._transport.raw("GET", f"{_path(job)}/output", query=query)
        return _slice(stream, headers, data)

    async def excerpt(
        self,
        job: str,
        *,
        stream: Stream | None = None,
        budget: int = BUDGET,
        since: Mapping[Stream, int] | None = None,
    ) -> Excerpt:
        """See api.Jobs.excerpt."""
        query: dict[str, Any] = {"stream": None if stream is None else str(stream), "budget": budget}
        query |= {str(one): at for one, at in (since or {}).items()}
        return excerpt_from_json(await self._transport.call("GET", f"{_path(job)}/excerpt", query=query))

    async def send(
        self,
        job: str,
        *,
        data: bytes = b"",
        eof: bool = False,
        signal: int | None = None,
        at: int | None = None,
        key: str | None = None,
        pause: bool | None = None,
    ) -> Job:
        """See api.Jobs.send. Without `at` or `key` not asked again if the daemon dies meanwhile: it might then be sent twice."""
        while len(data) > _PIECE and key is None:
            await self.send(job, data=data[:_PIECE], at=at, pause=pause)
            data, at, pause = data[_PIECE:], None if at is None else at + _PIECE, None
        body: Json = {"base64": base64.b64encode(data).decode(), "eof": eof, "signal": signal, "pause": pause}
        body |= {"at": at, "key": key}
        again = signal is None and (at is not None or key is not None)
        return job_from_json(await self._transport.call("POST", f"{_path(job)}/send", body, again=again))

    async def kill(
        self, job: str, *, signal: int = 15, grace: timedelta = timedelta(seconds=5), by: str = "user"
    ) -> Killed:
        """See api.Jobs.kill."""
        check_duration("grace", grace)
        body = await self._transport.call(
            "POST", f"{_path(job)}/kill", {"signal": signal, "grace_ms": ms(grace), "by": by}
        )
        return Killed(
            job=job_from_json(body["job"]),
            signalled=body["signalled"],
            verified_empty=body["verified_empty"],
            survivors=descendants_from_json(body["survivors"]),
            already_ended=body["already_ended"],
        )

    async def forget(self, job: str) -> None:
        """See api.Jobs.forget."""
        await self._transport.call("DELETE", _path(job), again=False)

    def attend(self, owner: str) -> AbstractAsyncContextManager[None]:
        """See api.Upkeep.attend. If the daemon dies meanwhile, the next one is told."""
        return attending(self._transport, check_owner(owner))

    async def gc(
        self, *, dry_run: bool = False, older_than: timedelta | None = None, owner: str | None = None
    ) -> Collected:
        """See api.Upkeep.gc."""
        body: Json = {"dry_run": dry_run, "older_than_ms": ms(older_than), "owner": owner}
        return collected_from_json(await self._transport.call("POST", "/v1/gc", body))


class RemoteServices:
    """Implements api.Services by asking the daemon."""

    def __init__(self, transport: Transport) -> None:
        """Beside the RemoteJobs of the same transport."""
        self._transport = transport

    async def restart(self, job: str, *, grace: timedelta = timedelta(seconds=5), by: str = "restart") -> Ran:
        """See api.Services.restart. Not asked again if the daemon dies meanwhile: it might then be restarted twice."""
        if not job:
            raise BadRequest(detail="a service's name or id cannot be empty")
        path = f"/v1/services/{quote(job)}/restart"
        return _ran(await self._transport.call("POST", path, {"grace_ms": ms(grace), "by": by}, again=False))


def _ran(body: Json) -> Ran:
    return Ran(
        job=job_from_json(body["job"]),
        joined=body["joined"],
        deferred=body["deferred"],
        out=slice_from_json(body["out"]) if body["out"] else None,
        err=slice_from_json(body["err"]) if body["err"] else None,
    )


def _path(job: str) -> str:
    if not job:
        raise BadRequest(detail="a job's id or name cannot be empty")
    return f"/v1/jobs/{quote(job)}"


def _completed(request: Request) -> Request:
    """With what only the caller's process knows, and a key, so that asking again never starts it twice."""
    owner = request.owner or os.environ.get(config.DEFAULT_OWNER_VARIABLE)
    if request.session is not None:
        # Folder and environment are the session's; only the job that this is asked from is the caller's own.
        parent = request.parent or os.environ.get("BIDE_JOB")
        request = replace(request, base_env={}, parent=parent)
    else:
        request = replace(request, cwd=os.path.abspath(request.cwd or os.getcwd()))
    return replace(
        request,
        base_env=environment.own() if request.base_env is None else request.base_env,
        key=request.key or secrets.token_hex(16),
        owner=owner,
        umask=config.umask() if request.umask is None else request.umask,
    )


def _slice(stream: Stream, headers: Mapping[str, str], data: bytes) -> Slice:
    numbers = {name: int(headers[f"bide-{name}"]) for name in ("offset", "next", "size", "head", "ended")}
    return Slice(
        stream=stream,
        data=data,
        offset=numbers["offset"],
        next=numbers["next"],
        size=numbers["size"],
        head=numbers["head"],
        ended=bool(numbers["ended"]),
    )


@contextlib.asynccontextmanager
async def connect(home: str) -> AsyncGenerator[RemoteJobs]:
    """The verbs of this home's daemon, which is started if there is none."""
    transport = Transport(home)
    try:
        yield RemoteJobs(transport)
    finally:
        transport.close()
