"""Jobs and sessions in the words of seed 001: one table from phase and end to status and exit code."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import cast

from bide.mcpserver.tool import Answer
from bide.model.job import Job
from bide.model.messages import job_to_json
from bide.model.phase import Ended, Kept, Queued, Reason
from bide.model.schema import Json
from bide.model.session import Session
from bide.model.times import ms, stamp
from bide.model.words import ended_how

PREVIEW = 100
_VALUE = 2_000
"""Characters of a variable that a session is shown with."""
_ROOM = 8_000
"""Characters of all of them."""
_NAMES = 100
NO_EXIT_CODE = -1
"""Said of what did not end by itself, so that it never reads as success."""


def said(data: Json, *, is_error: bool = False) -> Answer:
    """An answer whose text is its data: within JSON nothing that a job wrote can pose as ours."""
    return Answer(json.dumps(data, ensure_ascii=False), data, is_error)


def refusal(code: str, sentence: str, **facts: object) -> Answer:
    """An error in one sentence."""
    return Answer(sentence, {"error": {"code": code, "message": sentence}, **facts}, is_error=True)


def status(job: Job) -> str:
    """`running`, `completed` or `failed`."""
    if not isinstance(job.phase, Ended):
        return "running"
    return "completed" if job.phase.end.success else "failed"


def exit_code(job: Job) -> int | None:
    """Its own exit code, 128+n after signal n from elsewhere, else -1; `None` while it runs."""
    if not isinstance(job.phase, Ended):
        return None
    end = job.phase.end
    if end.reason is Reason.EXITED and end.exit_code is not None:
        return end.exit_code
    if end.reason is Reason.SIGNALED and end.signal is not None:
        return 128 + end.signal
    return NO_EXIT_CODE


def error(job: Job) -> str:
    """Why it has no exit code of its own; empty if it has one or runs."""
    if not isinstance(job.phase, Ended) or job.phase.end.reason is Reason.EXITED:
        return ""
    limit = job.spec.limits.timeout
    if job.phase.end.reason is Reason.TIMED_OUT and limit is not None:
        return f"Execution timed out after {ms(limit)}ms"
    return f"Execution {ended_how(job_to_json(job))}"


def pid(job: Job) -> int:
    """Its process, kept after its end; 0 if there is none yet, or never was."""
    return 0 if isinstance(job.phase, Queued) else job.phase.pid or 0


def duration(job: Job) -> int:
    """Milliseconds that it took; 0 while it runs."""
    return int(job.phase.end.duration / timedelta(milliseconds=1)) if isinstance(job.phase, Ended) else 0


def kept(job: Job) -> tuple[Kept, Kept]:
    """How much it wrote to stdout and stderr."""
    if isinstance(job.phase, Ended):
        return job.phase.end.out, job.phase.end.err
    return (Kept(), Kept()) if job.facts is None else (job.facts.out, job.facts.err)


def row(job: Job, shown_bytes: int) -> Json:
    """A job in a list: everything but its output."""
    code = job.spec.command
    out, err = kept(job)
    began = None if isinstance(job.phase, Queued) else job.phase.started_at
    data: Json = {
        "id": job.id,
        "code": code if len(code) <= PREVIEW else f"{code[:PREVIEW]}...",
        "pid": pid(job),
        "status": status(job),
        "stdoutTruncated": out.size > shown_bytes,
        "stderrTruncated": err.size > shown_bytes,
        "startedAt": stamp(began or job.created_at),
        "background": is_background(job),
    }
    if isinstance(job.phase, Ended):
        data |= {
            "exitCode": exit_code(job),
            "completedAt": stamp(job.phase.ended_at),
            "duration": duration(job),
        }
    more = {"name": job.name, "parentId": job.parent, "error": error(job)}
    return data | {key: value for key, value in more.items() if value}


def is_background(job: Job) -> bool:
    """Whether nobody waited for it. What code in a session starts with `cmd` is part of that code."""
    return job.spec.background and not (job.session and job.parent)


def session_record(session: Session) -> Json:
    """A session, with its newest jobs by id and by pid; of large variables only the names."""
    env, vars_ = _small(session.env), _small(session.vars)
    data: Json = {
        "id": session.id,
        "cwd": session.cwd,
        "env": env,
        "vars": vars_,
        "createdAt": stamp(session.created_at),
        "lastActivityAt": stamp(session.last_active_at),
        "jobs": [job.id for job in session.jobs],
        "jobsByPid": _by_pid(session),
        "jobSequence": session.seq,
    }
    large = [name for name in session.env if name not in env]
    more = {
        "unset": list(session.unset),
        "running": session.running,
        "note": session.note,
        "largeEnv": large[:_NAMES],
        "largeVars": [name for name in session.vars if name not in vars_][:_NAMES],
    }
    return data | {key: value for key, value in more.items() if value}


def _small(held: Mapping[str, object]) -> Json:
    """Return the variables that a list has room for, the smallest first."""
    costs = {name: _cost(value, _VALUE) for name, value in held.items()}
    kept: set[str] = set()
    room = _ROOM
    for name in sorted(costs, key=lambda name: costs[name]):
        room -= len(name) + costs[name]
        if costs[name] > _VALUE or room < 0:
            break
        kept.add(name)
    return {name: value for name, value in held.items() if name in kept}


def _cost(value: object, most: int) -> int:
    """Return about how many characters a value takes; past `most` it is not looked at to its end."""
    if isinstance(value, str):
        return len(value) + 2
    inner: Iterable[tuple[object, object]]
    if isinstance(value, dict):
        inner = cast("Json", value).items()
    elif isinstance(value, list | tuple):
        inner = enumerate(cast("list[object]", value))
    else:
        return 8
    cost = 2
    for key, one in inner:
        cost += len(str(key)) + _cost(one, most - cost) + 2
        if cost > most:
            break
    return cost


def _by_pid(session: Session) -> Mapping[str, str]:
    # The newest job of a pid that was given twice.
    return {str(pid(job)): job.id for job in reversed(session.jobs) if pid(job)}
