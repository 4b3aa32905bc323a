"""How a job and a wait read to a model."""

from __future__ import annotations

import json
from collections.abc import Sequence

from bide.mcpserver import questions
from bide.mcpserver.elapsed import elapsed
from bide.model.job import Job
from bide.model.messages import job_to_json
from bide.model.phase import Ended, Reason, Running
from bide.model.schema import Json
from bide.model.units import show_duration
from bide.model.words import STALLED, called, ended_how, missing, outlived

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
        for_long = show_duration(elapsed(job).total_seconds() * 1000)
        if job.facts is not None and job.facts.waiting is not None:
            return f"{what} has run for {for_long} and {questions.waits(job)}"
        if body["stalled"]:
            return f"{what} has run for {for_long} and is stalled: {STALLED}"
        return f"{what} has run for {for_long}"
    return f"{what} is queued{_why(job)}"


def _why(job: Job) -> str:
    """What a queued job waits for."""
    queue = None if job.facts is None else job.facts.queue
    if queue is None:
        return ""
    return f": {queue.why}" + ("" if queue.place is None else f", place {queue.place}")


def called_of(job: Job) -> str:
    """The id, with the name beside it if there is one."""
    return called(job_to_json(job))


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


def next_call(tool: str, **arguments: object) -> tuple[str, Json]:
    """The exact call that comes next, as text and as data."""
    return f"{tool} {json.dumps(arguments)}", {"tool": tool, "arguments": arguments}


def following(job: Job) -> tuple[str, Json]:
    """What comes next for a job that goes on: the answer to what it asks, or to wait for its end."""
    posed = questions.of(job)
    if posed is not None and not posed.question.for_people and not posed.question.secret:
        said, call = next_call("send", **questions.arguments(posed))
        # The sentence on a job names the call that answers a question; that of a prompt stands here.
        if posed.typed_at is None:
            return "It waits for that.", call
        end = f". If it asks nothing: {next_call('await', jobs=[job.id])[0]}" if questions.is_guess(job) else ""
        return f"To answer: {said}{end}", call
    said, call = next_call("await", jobs=[job.id])
    return f"{WAITING_IS_FREE if posed is None else 'It goes on once it is answered.'} For its end: {said}", call


def asking_line(job: Job) -> str:
    """One sentence on a job, with the call that answers it if it asks."""
    posed = questions.of(job)
    return job_line(job) if posed is None or posed.typed_at is None else f"{job_line(job)}. {following(job)[0]}"


def asking_data(job: Job) -> Json:
    """The facts of a job, with the call that answers it if it asks."""
    return {**job_data(job), **({"next": following(job)[1]} if questions.of(job) else {})}


def lines(parts: Sequence[str]) -> str:
    """Parts of an answer, one below the other."""
    return "\n".join(part for part in parts if part)
