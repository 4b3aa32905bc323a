"""`process.run`: a job with the limits, defaults and words of seed 003."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta

from msgspec import Struct
from msgspec.structs import replace

from bide.mcpserver.tool import Answer, Call
from bide.mcpserver.toolsets.process.environment import protected
from bide.mcpserver.toolsets.process.errors import Failure, shown
from bide.mcpserver.toolsets.process.notifying import report
from bide.mcpserver.toolsets.process.output import causes, summary, within
from bide.mcpserver.toolsets.process.words import (
    answered,
    duration_ms,
    exit_code_of,
    failure_of_job,
    noted,
    state_of,
    usage_data,
    usage_of,
)
from bide.mcpserver.waiting import wait_reporting
from bide.model.errors import BadRequest, JobEnded, NoStdin
from bide.model.job import Job
from bide.model.lifetime import Lifetime
from bide.model.limits import Limits
from bide.model.output import Stream
from bide.model.phase import Ended
from bide.model.request import COMMAND_MAX, Request, check_env
from bide.model.schema import Json
from bide.model.until import Until
from bide.model.waiting import Mode
from bide.settings import ProcessSettings

TIMEOUT = 300
LONGEST = 3600
LINES = 100
_NAMES, _NAME_MAX = 20, 60
"""How many names of variables a note has, and how many characters of each."""
_SLOWED = 0.5
"""The share of its CPU limit from which on a process may have been slowed by it, and below, from which on it surely was."""
_SURELY = 0.9
_SLOWED_MS = 500
"""Below this much CPU time nobody cares."""


class Plan(Struct, frozen=True):
    """What is asked for, within what is allowed; the notes say where the two differ."""

    env: Mapping[str, str]
    limits: Limits
    notes: tuple[str, ...]


def plan(given: Json, allowed: ProcessSettings) -> Plan:
    """Clamp and drop what cannot be had."""
    notes: list[str] = []
    background: bool = given.get("background", False)
    seconds = int(given.get("timeout", TIMEOUT))
    if seconds > LONGEST and not background:
        notes.append(f"timeout was clamped to {LONGEST}, the maximum; for longer operations use background=true.")
    cpus, memory = given.get("cpu_limit", allowed.cpus), int(given.get("memory_limit", allowed.memory_bytes))
    if cpus > allowed.cpus:
        notes.append(f"cpu_limit was clamped to {allowed.cpus:g}, the agent's allocation.")
    if memory > allowed.memory_bytes:
        notes.append(f"memory_limit was clamped to {allowed.memory_bytes}, the agent's allocation.")
    if background and "stdin" in given:
        notes.append("stdin was ignored, as always with background=true.")
    asked: dict[str, str] = given.get("environment", {})
    dropped = protected(asked)
    if dropped:
        notes.append(
            f"Protected variables cannot be overridden and were left as they are: {_listed(dropped)}. "
            "A command can set its own, as in: env NAME=value command."
        )
    limits = Limits(
        timeout=None if background else timedelta(seconds=min(seconds, LONGEST)),
        cpus=min(cpus, allowed.cpus),
        memory_bytes=min(memory, allowed.memory_bytes),
        pids=allowed.pids,
    )
    return Plan({key: value for key, value in asked.items() if key not in dropped}, limits, tuple(notes))


def _listed(names: list[str]) -> str:
    first = ", ".join(name[:_NAME_MAX] for name in names[:_NAMES])
    return first if len(names) <= _NAMES else f"{first} and {len(names) - _NAMES} more"


def place(workspace: str, asked: str | None) -> str:
    """The folder to run in. Raises PathOutOfScope for what lies outside the workspace, by `..` or by a link as well."""
    root = os.path.realpath(workspace)
    try:
        folder = os.path.realpath(os.path.join(root, asked or ""))
    except ValueError as error:
        raise BadRequest(
            detail=f"{shown(asked or '')} cannot be a folder ({error})", field="working_directory"
        ) from error
    except OSError as error:
        # A link that nobody may follow, as those of other users in /proc.
        why = f"{shown(asked or '')} leads to where nobody can follow it ({error.strerror})."
        raise Failure("PathOutOfScope", why, path=str(asked), workspace_path=root) from error
    if os.path.commonpath((root, folder)) != root:
        raise Failure(
            "PathOutOfScope", f"{shown(asked or '')} is not in {root!r}.", path=str(asked), workspace_path=root
        )
    return folder


def _check_words(given: Json) -> None:
    words = {"command": given["command"], **{f"args[{at}]": word for at, word in enumerate(given.get("args", ()))}}
    for field, word in words.items():
        if "\0" in word:
            raise BadRequest(detail=f"{field!r} cannot contain a NUL character", field=field)
    if (size := sum(map(len, words.values()))) > COMMAND_MAX:
        why = f"a command has at most {COMMAND_MAX} characters, and this one {size}; write it to a file and run that"
        raise BadRequest(detail=why, field="command")
    try:
        check_env(given.get("environment", {}))
    except BadRequest as error:
        raise BadRequest(detail=str(error), field="environment") from error


async def run(call: Call, given: Json, allowed: ProcessSettings) -> Answer:
    """Start it; in the foreground, answer with its end, or that it still runs."""
    _check_words(given)
    background: bool = given.get("background", False)
    chosen = plan(given, allowed)
    feed = "stdin" in given and not background
    request = Request.of(
        given["command"] if "args" not in given else (given["command"], *given["args"]),
        cwd=place(call.caller.cwd, given.get("working_directory")),
        base_env=call.caller.env,
        env=chosen.env,
        owner=call.caller.owner,
        key=call.key,
        limits=chosen.limits,
        stdin=feed,
        background=True,
        lifetime=Lifetime.OWNER if background and call.caller.attended else Lifetime.FREE,
    )
    ran = await call.jobs.run(replace(request, followed=not background))
    call.own.arrivals.ring()
    job = ran.job
    notes = [*chosen.notes, *_unenforced(job, given), *await report(call, job.id, "was started with process.run")]
    if feed:
        # It may end without having read any of it, or have had it before the daemon was restarted.
        with suppress(JobEnded, NoStdin):
            await call.jobs.send(job.id, data=given["stdin"].encode("utf-8", "replace"), eof=True, at=0)
    if not background:
        waited = await wait_reporting(call, [job.id], Mode.ALL, Until(), timedelta(seconds=call.longest))
        job = waited.jobs[0]
        if not isinstance(job.phase, Ended):
            notes.append(_deferred(job, call.longest))
    return await _answer(call, job, given, [*notes, *slowed(job, allowed)])


def _unenforced(job: Job, given: Json) -> list[str]:
    loose = "cpu_limit" in given and job.enforced.get("cpu") == "none"
    return ["cpu_limit is not enforced: there is no cgroup for it on this machine."] if loose else []


def _deferred(job: Job, waited: float) -> str:
    limit = job.spec.limits.timeout
    counting = f" Its timeout of {limit.total_seconds():g} s still counts." if limit else ""
    return (
        f"It still runs: one call can wait {waited:g} s at most.{counting} "
        f"Next: process__monitor(process_id='{job.id}', wait={max(int(waited), 1)}) answers at its end; then "
        f"process__logs(process_id='{job.id}') has its output."
    )


def slowed(job: Job, allowed: ProcessSettings) -> list[str]:
    """A note on a process that its CPU limit slowed, or may have: a throttled process looks like a slow one."""
    limit, used, took = job.spec.limits.cpus, usage_of(job).cpu_ms or 0, duration_ms(job)
    if limit is None or job.enforced.get("cpu") == "none" or used < max(_SLOWED_MS, _SLOWED * limit * took):
        return []
    more = (
        f"cpu_limit can be up to {allowed.cpus:g}."
        if limit < allowed.cpus
        else "That is the agent's whole allocation; the owner of the machine can raise it (mcp.process.cpus)."
    )
    share = used / max(took, 1)
    effect = "slowed" if share > _SURELY * limit else "may have slowed"
    return [f"Its CPU limit of {limit:g} of a core {effect} it: it used {share:.2f} of a core on average. {more}"]


async def _answer(call: Call, job: Job, given: Json, notes: list[str]) -> Answer:
    texts: dict[str, str] = {}
    lines = int(given.get("stdout_lines", LINES))
    if "budget" in given:
        texts = await within(call, job, given["budget"])
    else:
        for stream, word in ((Stream.OUT, "stdout_summary"), (Stream.ERR, "stderr_summary")):
            texts[word], note = await summary(call.jobs, job, stream, lines)
            notes += [note] if note else []
        failed = isinstance(job.phase, Ended) and not job.phase.end.success
        cause = await causes(call, job, lines) if failed and lines else ""
        texts |= {"cause": cause} if cause else {}
    data: Json = {
        "exit_code": exit_code_of(job),
        **texts,
        "duration_ms": duration_ms(job),
        "process_id": job.id,
        "state": state_of(job),
        "resource_usage": usage_data(usage_of(job)),
    }
    data = noted(data, notes)
    failure = failure_of_job(job, texts["stderr_summary"])
    return answered(call, data, failure)
