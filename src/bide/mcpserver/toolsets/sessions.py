"""The toolset `sessions`: shell-like places in which every run is a job. Names, fields and defaults are those of seed 001."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec.structs import replace

from bide.mcpserver.tool import Answer, Call, Tool
from bide.mcpserver.tool import refusal as refused
from bide.mcpserver.toolsets import place, sessionjobs, sessionruns
from bide.mcpserver.toolsets.positions import Positions
from bide.mcpserver.toolsets.sessionoutput import BUDGET
from bide.mcpserver.toolsets.sessionwords import refusal, said, session_record
from bide.model.errors import BideError, JobForgotten, JobNotFound, SessionNotFound
from bide.model.schema import Json, fields, flag, number, whole, words
from bide.model.schema import text as string
from bide.settings import SessionSettings

Act = Callable[[Call, Json], Awaitable[Answer]]

_ENV: Json = {"type": "object", "additionalProperties": {"type": "string"}}
_VARS: Json = {"type": "object", "additionalProperties": True}
_SESSION = string("leave out for jobs outside sessions", minLength=1)
_JOB: Json = {
    "anyOf": [{"type": "string", "minLength": 1}, {"type": "integer", "minimum": 1}],
    "description": "id; or pid, as a number",
}
_MS_MAX = 2**53 - 1


class SessionTools:
    """The tools, and what they remember: what the offsets they gave stand for."""

    def __init__(self, settings: SessionSettings) -> None:
        """No offset was given yet."""
        self._shown = max(settings.shown_bytes, 4)
        self._positions = Positions()

    def tools(self) -> tuple[Tool, ...]:
        """All of them, as clients see them."""
        return (*self._session_tools(), *self._job_tools())

    def _session_tools(self) -> tuple[Tool, ...]:
        return (
            _tool(
                "startSession",
                "Open a session: a shell-like place whose folder, environment and vars hold from exec to exec.",
                fields((), id=string("choose its id"), cwd=string(), env=_ENV, vars=_VARS),
                start_session,
            ),
            _tool(
                "updateSession",
                "Change a session's folder, environment or vars.",
                fields(
                    ("sessionId",),
                    sessionId=string(minLength=1),
                    cwd=string(),
                    env=_ENV,
                    vars=_VARS,
                    unset=words("environment variables to unset"),
                    drop=words("vars to drop"),
                ),
                update_session,
                idempotent=True,
            ),
            _tool(
                "endSession",
                "End a session: kill what runs in it, remove it and all its jobs.",
                fields(("sessionId",), sessionId=string(minLength=1)),
                end_session,
                destructive=True,
            ),
            _tool("listSessions", "List your open sessions.", fields(), list_sessions, reads_only=True),
        )

    def _job_tools(self) -> tuple[Tool, ...]:
        job = {"sessionId": _SESSION, "jobId": _JOB}
        return (
            _tool(
                "exec",
                "Run code, Python unless 'language' is shell, and answer with its result; with 'background', or if it takes longer than you "
                "can wait, with its jobId and pid: use waitJob. Python code has session.cwd, session.env, session.vars, top-level await, and "
                "await cmd('name', ['arg']).exec() for external commands. Without sessionId nothing is kept from run to run.",
                fields(
                    ("code",),
                    code=string(minLength=1),
                    sessionId=string(minLength=1),
                    background=flag("answer at once (default false)"),
                    timeout=number(
                        "milliseconds, then it is killed (default 120000; none in the background)",
                        minimum=1,
                        maximum=_MS_MAX,
                    ),
                    env={**_ENV, "description": "for this run only"},
                    language=string("default python", enum=["python", "shell"]),
                    create=flag("open the session if it is not, and keep it"),
                    budget=BUDGET,
                ),
                self._exec,
                destructive=True,
            ),
            _tool(
                "listJobs",
                "List the jobs of a session, newest first.",
                fields((), sessionId=_SESSION, filter=_FILTER),
                self._list,
                reads_only=True,
            ),
            _tool(
                "getJobOutput",
                "Read what a job wrote: the end of it, or with 'since' (the 'offset' of an earlier answer) only what is newer.",
                fields(
                    ("jobId",),
                    **job,
                    since=whole("bytes: an 'offset' of an earlier answer", minimum=0),
                    offsets=fields((), stdout=whole(minimum=0), stderr=whole(minimum=0)),
                    budget=BUDGET,
                ),
                self._output,
                reads_only=True,
            ),
            _tool(
                "killJob",
                "End a running job with everything it started; SIGKILL follows after 5 s.",
                fields(("jobId",), **job, signal=string("default SIGTERM")),
                self._kill,
                destructive=True,
            ),
            _tool(
                "waitJob",
                "Wait for a job's result. Costs nothing while it waits; better than to poll getJobOutput.",
                fields(
                    ("jobId",),
                    **job,
                    timeout=number("milliseconds (default 120000)", minimum=0, maximum=_MS_MAX),
                    budget=BUDGET,
                ),
                self._wait,
                reads_only=True,
            ),
        )

    async def _exec(self, call: Call, given: Json) -> Answer:
        return await sessionruns.execute(call, given, self._shown)

    async def _list(self, call: Call, given: Json) -> Answer:
        return await sessionjobs.list_jobs(call, given, self._shown)

    async def _output(self, call: Call, given: Json) -> Answer:
        job = await sessionjobs.find(call, given)
        return await sessionjobs.output(call, job, given, self._positions, self._shown)

    async def _kill(self, call: Call, given: Json) -> Answer:
        return await sessionjobs.kill(call, await sessionjobs.find(call, given), given)

    async def _wait(self, call: Call, given: Json) -> Answer:
        return await sessionruns.wait(call, await sessionjobs.find_soon(call, given), given, self._shown)


_FILTER = fields(
    (),
    status=string(enum=["running", "completed", "failed"]),
    background=flag(),
    limit=whole("default 50", minimum=1, maximum=10_000),
)


async def start_session(call: Call, given: Json) -> Answer:
    """Open a session."""
    started = await place.opened(call, given, given.get("id"))
    data: Json = {"sessionId": started.session.id, **session_record(started.session)}
    if started.evicted:
        data["evicted"] = list(started.evicted)
    return said(data)


async def update_session(call: Call, given: Json) -> Answer:
    """Change what a session holds."""
    session = await call.own.session(given["sessionId"])
    options: dict[str, Any] = {key: value for key, value in given.items() if key != "sessionId"}
    await call.jobs.sessions.update(session.id, **options)
    return said(session_record(await call.own.session(session.id)))


async def end_session(call: Call, given: Json) -> Answer:
    """End a session, with all its jobs."""
    session = await call.own.session(given["sessionId"])
    ended = await call.jobs.sessions.end(session.id, forget=True)
    data: Json = {"sessionId": session.id, "killed": list(ended.killed), "removed": ended.forgotten}
    if ended.unverified:
        data["left"] = list(ended.unverified)
    return said(data)


async def list_sessions(call: Call, _: Json) -> Answer:
    """The caller's sessions, the most recently active first."""
    found: list[Json] = []
    for session in await call.jobs.sessions.list(owner=call.caller.owner):
        with contextlib.suppress(SessionNotFound):  # it ended meanwhile
            found.append(session_record(await call.own.session(session.id)))
    return said({"sessions": found})


def _tool(name: str, description: str, schema: Json, act: Act, **hints: bool) -> Tool:
    return replace(Tool(name, description, schema, act, refuse=_refuse), **hints)


def _refuse(error: BideError) -> Answer:
    """What is not there, in these words."""
    if isinstance(error, SessionNotFound):
        since = error.facts.get("since", "")
        sentence = (
            f"Session not found: {error.facts['session']}{since}; listSessions shows yours, startSession opens one"
        )
        return refusal(error.code, sentence)
    if isinstance(error, JobNotFound) and not isinstance(error, JobForgotten):
        return refusal(error.code, f"Job not found: {error.facts['job']}; listJobs shows which there are")
    return refused(error)
