"""How a job, a wait and a piece of output read to a model: our words first, the job's words fenced by a mark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime

from bide.api import Jobs
from bide.mcpserver import questions
from bide.mcpserver.excerpt import Excerpt, Shares, excerpt, joined
from bide.model.job import Job
from bide.model.messages import job_to_json
from bide.model.output import Slice, Stream
from bide.model.phase import Ended, Reason, Running
from bide.model.schema import Json
from bide.model.units import show_duration, show_size
from bide.model.words import STALLED, called, ended_how, missing, outlived

BUDGET = 2000
"""Tokens of output in one answer, if the caller does not say."""
CHARS_PER_TOKEN = 4
WAITING_IS_FREE = "It goes on by itself; waiting costs nothing, so do not poll."
_COMMAND_MAX = 80
_SAY_HOW_LONG = (Reason.TIMED_OUT, Reason.SPAWN_FAILED, Reason.LOST)
"""Ends that say how long it took, or of which that says nothing."""


def job_line(job: Job) -> str:
    """One sentence on a job."""
    body = job_to_json(job)
    what = called(body)
    if isinstance(job.phase, Ended):
        sentence = f"{what} {ended_how(body)}"
        if job.phase.end.reason not in _SAY_HOW_LONG:
            sentence = f"{sentence} after {show_duration(body['duration_ms'] or 0)}"
        return "; ".join(filter(None, (sentence, missing(body), outlived(body))))
    if isinstance(job.phase, Running):
        for_long = show_duration((datetime.now(UTC) - job.phase.started_at).total_seconds() * 1000)
        if job.facts is not None and job.facts.waiting is not None:
            return f"{what} has run for {for_long} and {questions.waits(job)}"
        if body["stalled"]:
            return f"{what} has run for {for_long} and is stalled: {STALLED}"
        return f"{what} has run for {for_long}"
    return f"{what} is queued"


def job_data(job: Job) -> Json:
    """The facts of a job that an agent acts on; what is empty is left out."""
    body = job_to_json(job)
    command = body["command"]
    keys = (
        "name",
        "label",
        "session",
        "reason",
        "exit_code",
        "signal",
        "by",
        "error",
        "duration_ms",
        "pid",
        "waiting",
        "stalled",
    )
    data: Json = {"job": job.id, "phase": job.phase_name, **{key: body[key] for key in keys if body[key]}}
    if isinstance(job.phase, Ended) and body["exit_code"] == 0:
        data["exit_code"] = 0
    data["command"] = command if len(command) <= _COMMAND_MAX else f"{command[: _COMMAND_MAX - 1]}…"
    if "waiting" in data:
        data["waiting"] = questions.data(job)
    if body["alive"]:
        data["alive"] = body["alive"]
    return data


async def output(jobs: Jobs, job: Job, stream: Stream, budget: int, mark: str) -> tuple[str, Json] | None:
    """A stream within a budget of tokens, as text and as data; `None` if there is nothing."""
    room = budget * CHARS_PER_TOKEN
    head = await jobs.read(job.id, stream=stream, offset=0, limit=max(room, 4096) * 4)
    if head.next < head.size:
        return await _both_ends(jobs, job, head, room, mark)
    if not head.data and not head.offset:
        return None
    return fenced(excerpt(head.data, head.offset, room, mark), head, mark)


async def _both_ends(jobs: Jobs, job: Job, head: Slice, room: int, mark: str) -> tuple[str, Json]:
    """More than fits into memory for one answer: the first and the last of it, and what is between named."""
    start = max(head.size - max(room, 4096) * 4, head.next)
    last = await jobs.read(job.id, stream=head.stream, offset=start, limit=head.size - start)
    top = excerpt(head.data, head.offset, room // 3, mark, Shares(head=0.75, tail=0.0))
    bottom = excerpt(last.data, last.offset, room - room // 3, mark, Shares(head=0.0, tail=0.75))
    return fenced(joined(top, bottom, mark), last, mark)


def fenced(shown: Excerpt, found: Slice, mark: str) -> tuple[str, Json]:
    """An excerpt between two lines that the job cannot forge, and as data."""
    what = (
        "all of it" if shown.start == 0 and not shown.omitted and shown.end == found.size else f"of {found.size} bytes"
    )
    head = f"--- {found.stream} {mark}: bytes {shown.start} to {shown.end}, {what}\n"
    data: Json = {"text": shown.text, "offset": shown.start, "next": shown.end, "size": found.size}
    if shown.omitted:
        data["omitted"] = [list(gap) for gap in shown.omitted]
    if shown.start and found.head:
        data["dropped"] = found.head
        head = f"--- {found.stream} {mark}: the first {show_size(found.head)} were dropped\n{head}"
    return f"{head}{shown.text}--- end {mark}", data


def next_call(tool: str, **arguments: object) -> tuple[str, Json]:
    """The exact call that comes next, as text and as data."""
    return f"{tool} {json.dumps(arguments)}", {"tool": tool, "arguments": arguments}


def following(job: Job) -> tuple[str, Json]:
    """What comes next for a job that goes on: its question, which the line before has, or to wait for its end."""
    posed = questions.of(job)
    if posed is not None and posed.typed_at is None and not posed.question.for_people:
        return "It waits for that.", {"tool": "send", "arguments": questions.arguments(posed)}
    said, call = next_call("await", jobs=[job.id])
    return f"{WAITING_IS_FREE} For its end: {said}", call


def lines(parts: Sequence[str]) -> str:
    """Parts of an answer, one below the other."""
    return "\n".join(part for part in parts if part)
