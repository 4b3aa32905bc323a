"""The toolset that is on by default: few tools, few tokens, hard to misuse. The words are those of bide everywhere."""

from __future__ import annotations

import json
from datetime import timedelta

from msgspec.structs import replace

from bide.api import Filter, Killed
from bide.mcpserver import matching, output, questions, text
from bide.mcpserver.gaps import CHARS_PER_TOKEN
from bide.mcpserver.output import Report
from bide.mcpserver.scope import SCOPES
from bide.mcpserver.shown import Span
from bide.mcpserver.tool import Answer, Call, Tool
from bide.mcpserver.toolsets import asking, place, runs
from bide.mcpserver.waiting import wait_reporting
from bide.model.errors import BadRequest
from bide.model.job import Job
from bide.model.messages import descendants_to_json, job_to_json
from bide.model.notify import JOB_FLAGS
from bide.model.output import Stream
from bide.model.phase import Ended
from bide.model.schema import Json, budget, fields, flag, number, whole, words
from bide.model.schema import text as string
from bide.model.until import Until
from bide.model.waiting import Mode
from bide.model.words import outlived, processes

_UNTIL = {
    "type": "object",
    "properties": {
        "log": string("regular expression of a line"),
        "port": whole("this TCP port accepts", minimum=1, maximum=65535),
        "http": string("this URL answers"),
        "quiet": number("seconds without output", minimum=0.1),
        "input": flag("it asks"),
    },
    "additionalProperties": False,
}
_NOTIFY = {
    "type": "object",
    "description": f"of what to be told unasked: {', '.join(JOB_FLAGS)}",
    "additionalProperties": {"type": "boolean"},
}
_BUDGET = budget()


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
    rows = [text.asking_data(job) for job in found]
    parts = [_row(call, job, row) for job, row in zip(found, rows, strict=True)] or ["no such jobs"]
    data: Json = {"jobs": rows}
    if before is not None:
        parts.append(f"there are older ones: jobs with before {before!r}")
        data["before"] = before
    return Answer(text.lines(parts), data)


def _row(call: Call, job: Job, data: Json) -> str:
    """Return a job's line of a list, with its command, by which an agent that lost the id knows it."""
    line = f"{text.asking_line(job)}, command {json.dumps(data['command'], ensure_ascii=False)}"
    return line if job.owner == call.caller.owner else f"{line} [of {job.owner}]"


async def logs(call: Call, given: Json) -> Answer:
    """What is new of a job's output; or the bytes, lines or matches that were named, whatever was shown before."""
    budget = given.get("budget", output.BUDGET)
    _check(given)
    job = await call.own.job(given["job"])
    named = Stream(given["stream"]) if "stream" in given else None
    report = Report()
    report.say(text.asking_line(job))
    report.data = text.asking_data(job)
    if "grep" in given:
        await matching.show(call, report, job, given, min(budget * CHARS_PER_TOKEN, given.get("limit", 1 << 20)))
    elif "offset" in given or "tail" in given or "limit" in given:
        await _read(call, report, job, given)
    else:
        # Where nothing is new, a job's output is asked for that an answer with less room left out.
        view = await output.selected(call, job, budget, named, again="budget" in given)
        if not view.text and "budget" not in given:
            view = await output.selected(call, job, budget, named, again=True)
        report.say(view.said or ("" if view.text else _nothing(job, named)))
        report.show(view.text)
        report.data |= view.data
    return report.answer()


def _check(given: Json) -> None:
    for other in ("grep", "offset"):
        if "tail" in given and other in given:
            raise BadRequest(detail=f"'tail' does not go with {other!r}; leave one of them out", field="tail")


def _nothing(job: Job, stream: Stream | None) -> str:
    so_far = "" if isinstance(job.phase, Ended) else " so far"
    return f"nothing{f' on {stream}' if stream else ''}{so_far}"


async def _read(call: Call, report: Report, job: Job, given: Json) -> None:
    stream = Stream(given.get("stream", "out"))
    room = given.get("budget", output.BUDGET) * CHARS_PER_TOKEN
    tail = given.get("tail")
    offset = None if tail else given.get("offset", 0)
    wanted = given.get("limit", 1 << 20 if tail else room or 1 << 20)
    limit = max(min(wanted, room or wanted, 1 << 20), 1)
    found = await call.jobs.read(job.id, stream=stream, offset=offset, tail=tail, limit=1 << 20 if tail else limit)
    found = output.whole_characters(found)
    part = output.part_of(found, offset, min(room, wanted))
    report.data[str(stream)] = output.data_of(part)
    if not found.data:
        past = f"nothing from byte {found.offset} of {stream} on: it has {found.size}"
        return report.say(past if found.size else _nothing(job, stream))
    if offset is not None and part.pieces and offset <= call.shown.since(job.id).get(stream, 0):
        call.shown.show(job.id, {stream: Span(part.next, offset)})
    report.show(output.fenced(job, [part], call.mark))
    if offset is None or not part.pieces:
        return None
    left = min(found.size, offset + wanted) - found.next
    if "limit" in given and left > 0:
        return report.say(f"The next: {output.logs_call(job, stream, found.next, left)}")
    goes_on = "limit" not in given and found.next < found.size
    return report.say(f"The next: {output.logs_call(job, stream, found.next)}" if goes_on else "")


_FOLLOWS = 5.0
"""Seconds in which what follows an input is shown in the answer to it."""


async def send(call: Call, given: Json) -> Answer:
    """Input, its end, or a signal; to a job that asked something, the answer. Shows what follows, up to the next prompt or the end."""
    posed = await questions.answered(call, given)
    job = await call.own.job(given["job"] if posed is None else posed.job)
    if posed is None:
        if (shows := questions.of(job)) is not None:
            call.shown.show_prompts([shows.id])
        job = await call.jobs.send(
            job.id,
            data=given.get("text", "").encode(),
            eof=given.get("eof", False),
            signal=given.get("signal"),
            key=call.key,
        )
    longest = min(given.get("wait", _FOLLOWS if "text" in given or given.get("eof") else 0), call.longest)
    waited = await wait_reporting(call, [job.id], Mode.ALL, Until(), timedelta(seconds=longest), asks=True)
    found = await runs.told(call, waited, given.get("budget"))
    said = "sent" if posed is None else f"{posed.state} {posed.id}"
    data = found.data if posed is None else {**found.data, "question": posed.id}
    return replace(
        found, text=f"{said}; {found.text}", brief=f"{said}; {found.brief}", data=data, facts=output.facts_of(data)
    )


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

_ONE = {"id": "job", "jobs": "job"}
_MANY = {"id": "jobs", "job": "jobs"}
"""Models mix up what one job is called and what several are."""

AWAIT = Tool(
    "await",
    "Wait for jobs to end, or until something holds; what takes longer is 'still running': call it again. Costs nothing while it waits.",
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
    aliases=_MANY,
)

TOOLS = (
    Tool(
        "run",
        "Run a command as a durable job. Answers with its end and output; if that takes long, with the job's id, and it goes on: "
        "use await. Dev servers: give 'until' to be answered when it is ready.",
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
            wait=number("seconds to the answer at most", minimum=0),
            until=_UNTIL,
            timeout=number("end it after so many seconds", minimum=0.001),
            idle=number("the same, without output", minimum=0.001),
            memory=whole("bytes", minimum=1),
            output_cap=whole("bytes of output to keep", minimum=1),
            group=string("runs as many at once as its limit"),
            priority=whole("default 0", minimum=-1000, maximum=1000),
            after=words("jobs that must succeed first"),
            stdin=flag("keep stdin open for send"),
            pty=flag("give it a terminal, for a program that asks"),
            reuse=string("join an equal job", enum=["running", "recent"]),
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
        aliases=_MANY,
    ),
    Tool(
        "logs",
        "Read a job's output: what is new and worth reading; or bytes from 'offset', the last 'tail' lines, or lines that match 'grep'.",
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
        aliases=_ONE,
    ),
    Tool(
        "send",
        "Write to a job's stdin or terminal, close it, or send a signal; or answer what it asks. Shows what follows.",
        fields(
            ("job",),
            job=_JOB,
            text=string(),
            eof=flag(),
            signal=whole(minimum=1, maximum=64),
            wait=number("for what follows (default 5 s)", minimum=0),
            budget=_BUDGET,
        ),
        send,
        destructive=True,
        aliases=_ONE,
    ),
    Tool(
        "kill",
        "End jobs with everything they started: TERM, then KILL after the grace time. Says what is left.",
        fields(("jobs",), jobs=words("ids or names", minItems=1, maxItems=100), grace=number("seconds", minimum=0)),
        kill,
        destructive=True,
        idempotent=True,
        aliases=_MANY,
    ),
    Tool(
        "session",
        "A shell-like place: cd, export and functions of one run hold for the next (give it to run).",
        fields(
            ("action",),
            action=string(enum=["start", "update", "show", "list", "end"]),
            session=string(),
            cwd=string(),
            env={"type": "object", "additionalProperties": {"type": "string"}},
            unset=words("variables to unset"),
            vars={"type": "object", "additionalProperties": True},
            forget=flag("with end: its jobs too"),
        ),
        place.session,
        destructive=True,
        aliases={"id": "session"},
    ),
    asking.TOOL,
)
