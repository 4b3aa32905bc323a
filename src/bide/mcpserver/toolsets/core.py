"""The toolset that is on by default: few tools, few tokens, hard to misuse. The words are those of bide everywhere."""

from __future__ import annotations

from datetime import timedelta

from bide.api import Filter, Killed
from bide.mcpserver import questions, text
from bide.mcpserver.scope import SCOPES
from bide.mcpserver.tool import Answer, Call, Tool
from bide.mcpserver.toolsets import asking, place, runs
from bide.model.job import Job
from bide.model.messages import descendants_to_json, job_to_json
from bide.model.notify import JOB_FLAGS
from bide.model.output import Stream
from bide.model.phase import Ended
from bide.model.schema import Json, fields, flag, number, whole, words
from bide.model.schema import text as string
from bide.model.words import outlived, processes

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
_NOTIFY = {
    "type": "object",
    "description": f"of what to be told unasked: {', '.join(JOB_FLAGS)}",
    "additionalProperties": {"type": "boolean"},
}
_BUDGET = whole("tokens of output to show (default 2000)", minimum=0, maximum=50_000)


# jobs, logs, send, kill


async def jobs(call: Call, given: Json) -> Answer:
    """How some jobs are now; or a page of a view."""
    if "jobs" in given:
        found, before = [await call.own.job(ref) for ref in given["jobs"]], None
    else:
        names = ("phase", "reason", "label", "name", "session")
        where = Filter(**{key: given[key] for key in names if key in given})
        scope, limit = given.get("scope", "own"), given.get("limit", 20)
        found, before = await call.own.page(where, scope, limit, given.get("before"))
    parts = [_owned(call, job) for job in found] or ["no such jobs"]
    data: Json = {"jobs": [text.job_data(job) for job in found]}
    if before is not None:
        parts.append(f"there are older ones: jobs with before {before!r}")
        data["before"] = before
    return Answer(text.lines(parts), data)


def _owned(call: Call, job: Job) -> str:
    line = text.job_line(job)
    return line if job.owner == call.caller.owner else f"{line} [of {job.owner}]"


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
    """Input, its end, or a signal; to a job that asked something, the answer."""
    posed = await questions.answered(call, given)
    if posed is not None:
        job = await call.own.job(posed.job)
        return Answer(f"{posed.state} {posed.id}; {text.job_line(job)}", {**text.job_data(job), "question": posed.id})
    job = await call.own.job(given["job"])
    sent = await call.jobs.send(
        job.id,
        data=given.get("text", "").encode(),
        eof=given.get("eof", False),
        signal=given.get("signal"),
        key=call.key,
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
        before = " (it had ended before)" if killed.already_ended else ""
        parts.append(f"{text.job_line(killed.job)}{before}{_left(killed)}")
        rows.append({**text.job_data(killed.job), "verified_empty": killed.verified_empty})
    return Answer(text.lines(parts), {"jobs": rows})


def _left(killed: Killed) -> str:
    """What is left of a job, unless the sentence on the job says so."""
    if killed.verified_empty:
        return "; nothing of it is left"
    if outlived(job_to_json(killed.job)) is not None:
        return ""
    return f"; still alive: {processes(descendants_to_json(killed.survivors))}"


_COMMAND = {
    "anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string"}, "minItems": 1}],
    "description": "for the shell; or a list of words, run without one",
}
_JOB = string("id or name", minLength=1)

AWAIT = Tool(
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
    runs.await_,
    reads_only=True,
)

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
            notify=_NOTIFY,
            budget=_BUDGET,
        ),
        runs.run,
        destructive=True,
        task=runs.begin,
        timed=lambda given: "wait" in given,
    ),
    AWAIT,
    Tool(
        "jobs",
        "List jobs, newest first; or say how the named ones are now, without waiting.",
        fields(
            (),
            jobs=words("only these: ids or names", minItems=1, maxItems=100),
            scope=string("default own; the others where granted", enum=list(SCOPES)),
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
        "Write to a job's stdin or terminal, close it, or send a signal; or answer what it asks.",
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
    Tool(
        "session",
        "A shell-like place: cd, export and functions of one run hold for the next (give its id to run as 'session').",
        fields(
            ("action",),
            action=string(enum=["start", "update", "show", "list", "end"]),
            id=string(),
            cwd=string(),
            env={"type": "object", "additionalProperties": {"type": "string"}},
            unset=words("variables to unset"),
            vars={"type": "object", "additionalProperties": True},
            forget=flag("with end: its jobs too"),
        ),
        place.session,
        destructive=True,
    ),
    asking.TOOL,
)
