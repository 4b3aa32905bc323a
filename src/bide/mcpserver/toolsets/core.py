"""The toolset that is on by default: few tools, few tokens, hard to misuse. The words are those of bide everywhere."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from bide.api import Filter
from bide.mcpserver import patience, text
from bide.mcpserver.tool import Answer, Call, Json, Tool, fields, flag, number, whole, words
from bide.mcpserver.tool import text as string
from bide.mcpserver.waiting import wait_reporting
from bide.model.dedup import Dedup, Policy
from bide.model.errors import BadRequest
from bide.model.job import Job
from bide.model.limits import Limits
from bide.model.output import Stream
from bide.model.phase import Ended
from bide.model.request import Request
from bide.model.until import Until
from bide.model.waiting import Mode, Waited

_UNTIL = {
    "type": "object",
    "properties": {
        "log": string("a line matches this regular expression"),
        "port": whole("this TCP port accepts", minimum=1, maximum=65535),
        "http": string("this URL answers"),
        "quiet": number("no output for so many seconds", minimum=0.1),
        "input": flag("it asks for input"),
    },
    "additionalProperties": False,
}
_BUDGET = whole("tokens of output to show (default 2000)", minimum=0, maximum=50_000)
_SECONDS = 10**9


def _until(given: Json) -> Until:
    found: dict[str, Any] = dict(given)
    if "quiet" in found:
        found["quiet_seconds"] = found.pop("quiet")
    return Until(**found)


def _duration(seconds: float | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=min(seconds, _SECONDS))


# run


async def run(call: Call, given: Json) -> Answer:
    """Start a job; answer with its end, or with the job and the next call."""
    if "until" in given and given.get("background"):
        raise BadRequest(detail="a background run answers at once; leave 'until' or 'background' out")
    ran = await call.jobs.run(_request(call, given))
    call.own.arrivals.ring()
    if given.get("background"):
        return await _started(ran.job, joined=ran.joined)
    seconds = min(given.get("wait", patience.deadline(call.caller.client, call.caller.patience)), _longest(call))
    until = _until(given.get("until", {}))
    waited = await wait_reporting(call, [ran.job.id], Mode.ALL, until, timedelta(seconds=seconds))
    return await _told(call, waited, given.get("budget", text.BUDGET), joined=ran.joined)


def _request(call: Call, given: Json) -> Request:
    code = given.get("code")
    if (code is None) == ("command" not in given):
        raise BadRequest(
            detail="give 'command' (for the shell, or a list of words) or 'code' with its 'lang', not both"
        )
    command = given["command"] if code is None else code
    cwd = os.path.join(call.caller.cwd, given["cwd"]) if "cwd" in given else call.caller.cwd
    options: dict[str, Any] = {
        key: given[key] for key in ("env", "name", "label", "stdin", "pty", "session") if key in given
    }
    if code is not None:
        options["language"] = given.get("lang", "python")
    if "reuse" in given:
        options["dedup"] = Dedup(Policy(f"reuse_{given['reuse']}"))
    return Request.of(
        command if isinstance(command, str) else tuple(command),
        cwd=cwd,
        base_env=call.caller.env,
        owner=call.caller.owner,
        key=call.key,
        background=True,
        limits=Limits(
            timeout=_duration(given.get("timeout")),
            idle=_duration(given.get("idle")),
            memory_bytes=given.get("memory"),
        ),
        **options,
    )


def _longest(call: Call) -> float:
    return patience.longest(call.caller.client, call.caller.patience)


async def _started(job: Job, *, joined: bool) -> Answer:
    said, following = text.next_call("await", jobs=[job.id])
    first = f"joined {text.job_line(job)}" if joined else f"started {text.job_line(job)}"
    words_ = f"{first}. {text.WAITING_IS_FREE} For its end: {said}"
    return Answer(words_, {**text.job_data(job), **_if(joined, joined=True), "next": following})


def _if(holds: bool, **data: object) -> Json:  # noqa: FBT001 - reads as a sentence
    return dict(data) if holds else {}


async def _told(call: Call, waited: Waited, budget: int, *, joined: bool = False) -> Answer:
    """One job's state and output after a wait."""
    job = waited.jobs[0]
    over = isinstance(job.phase, Ended)
    parts = [_met(waited, joined=joined)]
    data: Json = {**text.job_data(job), **_if(joined, joined=True), **_if(not over, met=waited.met)}
    if not over:
        said, following = text.next_call("await", jobs=[job.id])
        parts.append(f"{text.WAITING_IS_FREE} For its end: {said}")
        data["next"] = following
    for stream in Stream:
        found = await text.output(call.jobs, job, stream, budget, call.mark)
        if found is not None:
            parts.append(found[0])
            data[str(stream)] = found[1]
    return Answer(text.lines(parts), data)


def _met(waited: Waited, *, joined: bool = False) -> str:
    line = ("joined " if joined else "") + text.job_line(waited.jobs[0])
    if waited.match is not None:
        return f"{line}; its log matched at byte {waited.match.offset}"
    if waited.met in ("ended", "timeout"):
        return line
    return f"{line}; what it was awaited for holds: {waited.met}"


# await


async def await_(call: Call, given: Json) -> Answer:
    """Block until the jobs are over, or a condition holds, or the client's patience ends."""
    seconds = min(given.get("timeout", _SECONDS), _longest(call))
    mode = Mode(given.get("mode", "all"))
    waited = await wait_reporting(call, given["jobs"], mode, _until(given.get("until", {})), timedelta(seconds=seconds))
    budget = given.get("budget", text.BUDGET)
    if len(waited.jobs) == 1:
        if waited.timed_out and "budget" not in given:
            return _unchanged(waited)
        return await _told(call, waited, budget)
    return await _told_all(call, waited, budget)


def _unchanged(waited: Waited) -> Answer:
    """Still running: one line, the same shape each time."""
    job = waited.jobs[0]
    said, following = text.next_call("await", jobs=[job.id])
    line = f"{text.job_line(job)}, still running. {text.WAITING_IS_FREE} Again: {said}"
    return Answer(line, {**text.job_data(job), "met": waited.met, "next": following})


async def _told_all(call: Call, waited: Waited, budget: int) -> Answer:
    over = [job for job in waited.jobs if isinstance(job.phase, Ended)]
    left = [job for job in waited.jobs if not isinstance(job.phase, Ended)]
    share = budget // max(len(over), 1) // 2
    parts: list[str] = []
    rows: list[Json] = []
    for job in over:
        parts.append(text.job_line(job))
        row = text.job_data(job)
        for stream in Stream:
            found = await text.output(call.jobs, job, stream, share, call.mark) if share else None
            if found is not None:
                parts.append(found[0])
                row[str(stream)] = found[1]
        rows.append(row)
    data: Json = {"met": waited.met, "ended": rows, "running": [text.job_data(job) for job in left]}
    if left:
        said, following = text.next_call("await", jobs=[job.id for job in left])
        parts += [f"{text.job_line(job)}, still running" for job in left]
        parts.append(f"{text.WAITING_IS_FREE} For the rest: {said}")
        data["next"] = following
    return Answer(text.lines(parts), data)


# jobs, logs, send, kill


async def jobs(call: Call, given: Json) -> Answer:
    """A page of the caller's jobs."""
    names = ("phase", "reason", "label", "name", "session")
    where = Filter(owner=call.caller.owner, **{key: given[key] for key in names if key in given})
    page = await call.jobs.list(where, limit=given.get("limit", 20), before=given.get("before"))
    parts = [text.job_line(job) for job in page.jobs] or ["no jobs of yours match"]
    data: Json = {"jobs": [text.job_data(job) for job in page.jobs]}
    if page.next is not None:
        parts.append(f"there are older ones: jobs with before {page.next!r}")
        data["before"] = page.next
    return Answer(text.lines(parts), data)


async def logs(call: Call, given: Json) -> Answer:
    """A piece of one stream."""
    budget = given.get("budget", text.BUDGET)
    stream = Stream(given.get("stream", "out"))
    job = await call.own.job(given["job"])
    if "grep" in given:
        return await _grepped(call, job, stream, given)
    if "offset" not in given and "tail" not in given:
        found = await text.output(call.jobs, job, stream, budget, call.mark)
        shown = found or (
            f"nothing on {stream} so far" if not isinstance(job.phase, Ended) else f"nothing on {stream}",
            {},
        )
        return Answer(text.lines([text.job_line(job), shown[0]]), {**text.job_data(job), str(stream): shown[1]})
    limit = min(given.get("limit", budget * text.CHARS_PER_TOKEN), 1 << 20)
    piece = await call.jobs.read(job.id, stream=stream, offset=given.get("offset"), tail=given.get("tail"), limit=limit)
    shown = text.fenced(
        text.excerpt(piece.data, piece.offset, budget * text.CHARS_PER_TOKEN, call.mark), piece, call.mark
    )
    return Answer(text.lines([text.job_line(job), shown[0]]), {**text.job_data(job), str(stream): shown[1]})


async def _grepped(call: Call, job: Job, stream: Stream, given: Json) -> Answer:
    found = await call.jobs.read(job.id, stream=stream, grep=given["grep"], offset=given.get("offset", 0))
    rows = [(match.offset, match.line.decode("utf-8", "replace")) for match in found.matches[:200]]
    body = b"".join(f"{offset}: {line}\n".encode() for offset, line in rows)
    shown = text.excerpt(body, 0, given.get("budget", text.BUDGET) * text.CHARS_PER_TOKEN, call.mark).text
    said = (
        f"--- {stream} {call.mark}: {len(found.matches)} lines match, each after its offset\n{shown}--- end {call.mark}"
    )
    data = {**text.job_data(job), "matches": [{"offset": offset, "line": line[:500]} for offset, line in rows]}
    return Answer(text.lines([text.job_line(job), said]), {**data, "next": found.next, "size": found.size})


async def send(call: Call, given: Json) -> Answer:
    """Input, its end, or a signal."""
    job = await call.own.job(given["job"])
    sent = await call.jobs.send(
        job.id, data=given.get("text", "").encode(), eof=given.get("eof", False), signal=given.get("signal")
    )
    return Answer(f"sent; {text.job_line(sent)}", text.job_data(sent))


async def kill(call: Call, given: Json) -> Answer:
    """End jobs with their whole trees."""
    parts: list[str] = []
    rows: list[Json] = []
    for ref in await call.own.ids(given["jobs"]):
        killed = await call.jobs.kill(
            ref, grace=timedelta(seconds=min(given.get("grace", 5), 3600)), by=call.caller.owner
        )
        state = "nothing of it is left" if killed.verified_empty else _survivors(killed.survivors)
        before = " (it had ended before)" if killed.already_ended else ""
        parts.append(f"{text.job_line(killed.job)}{before}; {state}")
        rows.append({**text.job_data(killed.job), "verified_empty": killed.verified_empty})
    return Answer(text.lines(parts), {"jobs": rows})


def _survivors(left: Sequence[Any]) -> str:
    return f"still alive: {', '.join(f'{one.pid} ({one.command})' for one in left)}"


_COMMAND = {
    "anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string"}, "minItems": 1}],
    "description": "for the shell; or a list of words, run without one",
}
_JOB = string("id or name", minLength=1)

TOOLS = (
    Tool(
        "run",
        "Run a command as a durable job. Answers with its end and output; if it takes longer than you can wait, with the job's id, "
        "and it goes on: use await. Dev servers: give 'until' (port, http or log) to be answered when it is ready.",
        fields(
            (),
            command=_COMMAND,
            code=string("code instead of a command"),
            lang=string(enum=["python", "shell"]),
            cwd=string(),
            env={"type": "object", "additionalProperties": {"type": "string"}},
            name=string("call it so; use it as id"),
            label=string(),
            session=string("run in this session"),
            background=flag("answer at once"),
            wait=number("answer after so many seconds at the latest", minimum=0),
            until=_UNTIL,
            timeout=number("end it after so many seconds", minimum=0.001),
            idle=number("end it after so many seconds without output", minimum=0.001),
            memory=whole("bytes", minimum=1),
            stdin=flag("keep stdin open for send"),
            pty=flag("give it a terminal"),
            reuse=string("join an equal job instead of starting another", enum=["running", "recent"]),
            budget=_BUDGET,
        ),
        run,
        destructive=True,
    ),
    Tool(
        "await",
        "Wait for jobs to end, or until something holds. Blocks as long as you survive it, then says 'still running': call it again. "
        "Costs nothing while it waits.",
        fields(
            ("jobs",),
            jobs=words("ids or names", minItems=1, maxItems=100),
            mode=string("default all", enum=["any", "all"]),
            until=_UNTIL,
            timeout=number("seconds", minimum=0),
            budget=_BUDGET,
        ),
        await_,
        reads_only=True,
    ),
    Tool(
        "jobs",
        "List your jobs, newest first.",
        fields(
            (),
            phase=string(enum=["queued", "running", "ended"]),
            reason=string(),
            label=string(),
            name=string(),
            session=string(),
            limit=whole(minimum=1, maximum=200),
            before=string("of the page before"),
        ),
        jobs,
        reads_only=True,
    ),
    Tool(
        "logs",
        "Read a job's output: by default its head, tail and errors; or exact bytes from 'offset', the last 'tail' lines, or lines that "
        "match 'grep'.",
        fields(
            ("job",),
            job=_JOB,
            stream=string("default out", enum=["out", "err"]),
            offset=whole(minimum=0),
            limit=whole("bytes", minimum=1),
            tail=whole("lines", minimum=1),
            grep=string("regular expression"),
            budget=_BUDGET,
        ),
        logs,
        reads_only=True,
    ),
    Tool(
        "send",
        "Write to a job's stdin or terminal, close it, or send a signal.",
        fields(("job",), job=_JOB, text=string(), eof=flag(), signal=whole(minimum=1, maximum=64)),
        send,
        destructive=True,
    ),
    Tool(
        "kill",
        "End jobs with everything they started: TERM, then KILL after the grace time. Says what is left.",
        fields(("jobs",), jobs=words("ids or names", minItems=1, maxItems=100), grace=number("seconds", minimum=0)),
        kill,
        destructive=True,
        idempotent=True,
    ),
)
