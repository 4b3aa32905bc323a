"""A job in the words of seed 003: one table from how it ended to a state, and what goes with it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from errno import E2BIG, EACCES, ENOENT, ENOEXEC, ENOTDIR

from bide.mcpserver.display import Display, display_of_declared
from bide.mcpserver.elapsed import elapsed
from bide.mcpserver.tool import Answer, Call
from bide.mcpserver.toolsets.process.errors import Failure, error_data, error_text, shown
from bide.model.job import Job
from bide.model.phase import (
    EXIT_CANNOT_EXECUTE,
    EXIT_NOT_FOUND,
    NO_FOLDER,
    NO_INTERPRETER,
    End,
    Ended,
    Queued,
    Reason,
    Usage,
)
from bide.model.schema import Json

RUNNING = "running"
STATES: Mapping[Reason, str] = {
    Reason.EXITED: "completed",
    Reason.SIGNALED: "completed",
    Reason.SPAWN_FAILED: "completed",
    Reason.TIMED_OUT: "timed_out",
    Reason.KILLED: "killed",
    Reason.IDLE: "killed",
    Reason.OVERFLOW: "killed",
    Reason.OOM: "killed",
    Reason.LOST: "killed",
}
"""What each end is called. A process that never ran is `completed` with the status a shell would give, and an error beside it."""

PIDS_LIMIT = "pids limit"
"""By whom a job was killed that had too many processes, where they are counted once a second."""
_STREAMS = ("stdout_summary", "stderr_summary", "cause", "stdout", "stderr")
_OPTIONAL = ("cause",)
"""Output that an answer need not have."""


def state_of(job: Job) -> str:
    """`running`, `completed`, `killed` or `timed_out`."""
    return STATES[job.phase.end.reason] if isinstance(job.phase, Ended) else RUNNING


def exit_code_of(job: Job) -> int | None:
    """The exit code of what ended by itself, 128+n after signal n; nothing for what was killed or timed out."""
    return job.phase.end.status if isinstance(job.phase, Ended) and state_of(job) == "completed" else None


def usage_of(job: Job) -> Usage:
    """What it used so far, or in all."""
    if isinstance(job.phase, Ended):
        return job.phase.end.usage
    return (job.facts.usage if job.facts is not None else None) or Usage()


def usage_data(usage: Usage) -> Json:
    """Usage in this vocabulary's words."""
    return {
        "cpu_ms": usage.cpu_ms,
        "memory_peak_bytes": usage.memory_peak_bytes,
        "io_read_bytes": usage.read_bytes,
        "io_write_bytes": usage.written_bytes,
    }


def duration_ms(job: Job) -> int:
    """Return how long it has run, or ran; a queued one has not begun."""
    return 0 if isinstance(job.phase, Queued) else int(elapsed(job) / timedelta(milliseconds=1))


def entry(job: Job) -> Json:
    """A process as `process.list` and `process.monitor` show it."""
    started = None if isinstance(job.phase, Queued) else job.phase.started_at
    data: Json = {
        "process_id": job.id,
        "command": job.spec.command,
        "state": state_of(job),
        "exit_code": exit_code_of(job),
        "started_at": (started or job.created_at).isoformat(),
        "duration_ms": duration_ms(job),
        "resource_usage": usage_data(usage_of(job)),
    }
    failure = failure_of_job(job)
    return data if failure is None else {**data, "error": error_data(failure)}


def failure_of_job(job: Job, complaint: str = "") -> Failure | None:
    """The error that a job's end is in this vocabulary, if it is one; `complaint` is the end of what it wrote to stderr."""
    if not isinstance(job.phase, Ended):
        return None
    end = job.phase.end
    if end.reason is Reason.SPAWN_FAILED:
        return _spawn_failure(job, end)
    return _exceeded(job, end) or _shell_failure(job, end, complaint)


def _spawn_failure(job: Job, end: End) -> Failure:
    program = job.spec.argv[0]
    facts: Json = {"command": program, "process_id": job.id}
    if NO_INTERPRETER in end.error:
        return Failure("SpawnFailed", f"{shown(program)} {NO_INTERPRETER}.", retryable=False, **facts)
    if end.error.startswith(NO_FOLDER):
        return Failure("SpawnFailed", f"The working_directory is gone: {shown(job.spec.cwd)}.", **facts)
    if end.errno in (ENOENT, ENOTDIR):
        hint = " With args, command is the name of one program." if " " in program else ""
        return Failure("CommandNotFound", f"{shown(program)} was not found.{hint}", **facts)
    why = os.strerror(end.errno) if end.errno else "the server could not start it"
    return Failure("SpawnFailed", f"{shown(program)}: {why}.", retryable=end.errno not in _FINAL, **facts)


_FINAL = (EACCES, ENOEXEC, E2BIG)
"""Errors that the same call meets again."""


def _exceeded(job: Job, end: End) -> Failure | None:
    limits = job.spec.limits
    if end.reason is Reason.OOM:
        said, resource, most = f"Its memory limit was {limits.memory_bytes} bytes.", "memory", limits.memory_bytes
    elif end.reason is Reason.OVERFLOW:
        said, resource, most = f"Its limit was {limits.output_bytes} bytes of output.", "output", limits.output_bytes
    elif end.reason is Reason.KILLED and end.by == PIDS_LIMIT:
        said, resource, most = f"It had more than {limits.pids} processes and threads.", "processes", limits.pids
    else:
        return None
    return Failure("ResourceLimitExceeded", said, resource=resource, limit=most, process_id=job.id)


_FIRST_WORD = re.compile(r"\s*([\w./+~-]+)(?=\s|;|$)")
_MISSING = (EXIT_NOT_FOUND, "CommandNotFound", re.compile(r"(command )?not found$|No such file or directory$"))
_REFUSED = (EXIT_CANNOT_EXECUTE, "SpawnFailed", re.compile(r"Permission denied$|Is a directory$|cannot execute"))
_NO_INTERPRETER = re.compile(r"\S+: bad interpreter: |cannot execute: required file not found$")


def _shell_failure(job: Job, end: End, complaint: str) -> Failure | None:
    """The error, when a shell could not run the very command it was given: it says so and exits with 127 or 126."""
    found = _FIRST_WORD.match(job.spec.command)
    if end.reason is not Reason.EXITED or found is None or end.exit_code not in (EXIT_NOT_FOUND, EXIT_CANNOT_EXECUTE):
        return None
    program = found[1]
    facts: Json = {"command": program, "process_id": job.id}
    said = [line.partition(f" {program}: ")[2].rstrip() for line in complaint.splitlines() if f" {program}: " in line]
    if any(_NO_INTERPRETER.match(one) or _is_there(job, program, one) for one in said):
        return Failure("SpawnFailed", f"{shown(program)} {NO_INTERPRETER}.", retryable=False, **facts)
    for code, kind, pattern in (_MISSING, _REFUSED):
        if end.exit_code == code and any(pattern.match(one) for one in said):
            what = "was not found" if kind == "CommandNotFound" else "may not be executed, or is no program"
            return Failure(kind, f"{shown(program)} {what}.", retryable=False, **facts)
    return None


def _is_there(job: Job, program: str, said: str) -> bool:
    """Whether a shell that knows one sentence only says `not found` of a file that exists."""
    return said == "not found" and "/" in program and os.path.exists(os.path.join(job.spec.cwd, program))


def answered(call: Call, data: Json, failure: Failure | None = None) -> Answer:
    """Return an answer with what a job wrote in its text or in its data, where this client's model finds it."""
    wrote = {key: data[key] for key in _STREAMS if data.get(key)}
    beside: Json = {} if failure is None else {"error": error_data(failure)}
    display = display_of_declared(call.caller.client, call.caller.output)
    if display is Display.DATA:
        facts = {key: one for key, one in data.items() if key not in _STREAMS}
        where = [f"{key}: {len(one)} characters, in the structured content" for key, one in wrote.items()]
        text = "\n".join([told(facts, call.mark), *where])
    else:
        text = told(data, call.mark)
        if display is Display.TEXT:
            data = {key: "" if key in wrote else one for key, one in data.items() if key not in _OPTIONAL}
    said = text if failure is None else f"{error_text(failure)}\n{text}"
    return Answer(said, {**beside, **data}, is_error=failure is not None)


def told(data: Json, mark: str) -> str:
    """An answer as text: our words one to a line, a job's words between lines that it cannot forge."""
    lines: list[str] = []
    fenced: list[str] = []
    for key, value in data.items():
        if key in _STREAMS and value:
            end = "" if value.endswith("\n") else "\n"
            fenced.append(f"--- {key} {mark}\n{value}{end}--- end {mark}")
        elif key == "notes":
            lines += [f"note: {note}" for note in value]
        else:
            lines.append(f"{key}: {json.dumps(value, ensure_ascii=False)}")
    return "\n".join([*lines, *fenced])


def noted(data: Json, notes: Sequence[str]) -> Json:
    """Data with notes, if there are any, after those it has."""
    return {**data, "notes": [*data.get("notes", ()), *notes]} if notes else data
