"""`process.monitor`, `process.kill` and `process.list`, in the words of seed 003."""

from __future__ import annotations

import os
from datetime import timedelta

import anyio
from msgspec.structs import replace

from bide.api import Filter, Killed
from bide.mcpserver.tool import Answer, Call
from bide.mcpserver.toolsets.process.errors import Failure
from bide.mcpserver.toolsets.process.notifying import report
from bide.mcpserver.toolsets.process.words import entry, noted, state_of, told
from bide.mcpserver.waiting import wait_reporting
from bide.model.job import Job
from bide.model.phase import Ended, Reason, Running
from bide.model.schema import Json
from bide.model.until import Until
from bide.model.waiting import Mode

SIGNALS = {"SIGTERM": 15, "SIGKILL": 9, "SIGINT": 2, "SIGHUP": 1, "SIGQUIT": 3, "SIGABRT": 6}
FORCE_AFTER = 10
FILTERS = ("running", "completed", "killed", "timed_out", "all")
LIMIT = 50
_PAGE = 500
_MOMENT = 0.5
_COMMAND_MAX = 200
"""Characters of a command in a list; process__monitor has it whole."""


async def monitor(call: Call, given: Json) -> Answer:
    """One process as it is now, or, with `wait`, at its end if that comes in time."""
    job = await call.own.job(given["process_id"])
    asked = int(given.get("wait", 0))
    seconds = min(float(asked), call.longest)
    if seconds and not isinstance(job.phase, Ended):
        waited = await wait_reporting(call, [job.id], Mode.ALL, Until(), timedelta(seconds=seconds))
        job = waited.jobs[0]
    data = entry(job)
    if asked > seconds and not isinstance(job.phase, Ended):
        data = noted(data, [f"One call can wait {seconds:g} s at most, and it still runs. Make the same call again."])
    return Answer(told(data, call.mark), data)


async def list_(call: Call, given: Json) -> Answer:
    """The caller's processes, newest first, and how many there are."""
    wanted: str = given.get("state_filter", "all")
    found = [job for job in await owned(call, Filter()) if wanted in ("all", state_of(job))]
    rows = [_short(entry(job)) for job in found[: int(given.get("limit", LIMIT))]]
    data: Json = {"processes": rows, "total": len(found)}
    lines = [told(row, call.mark).replace("\n", "; ") for row in rows]
    return Answer("\n".join([f"total: {len(found)}", *lines]), data)


def _short(row: Json) -> Json:
    command: str = row["command"]
    return row if len(command) <= _COMMAND_MAX else {**row, "command": f"{command[: _COMMAND_MAX - 1]}…"}


async def owned(call: Call, where: Filter) -> list[Job]:
    """All jobs of the caller that match, newest first."""
    found: list[Job] = []
    before = None
    while True:
        page = await call.jobs.list(replace(where, owner=call.caller.owner), limit=_PAGE, before=before)
        found += page.jobs
        before = page.next
        if before is None:
            return found


async def kill(call: Call, given: Json) -> Answer:
    """End a process with its whole tree; a TERM that does not is followed by a KILL."""
    job = await call.own.job(given["process_id"])
    alive = job.facts.alive if job.facts is not None else ()
    if isinstance(job.phase, Ended) and not alive:
        raise Failure("ProcessAlreadyExited", f"Its state is {state_of(job)!r}.", process_id=job.id)
    signal: str = given.get("signal", "SIGTERM")
    after = int(given.get("force_after", FORCE_AFTER)) if signal == "SIGTERM" else 0
    notes = await report(call, job.id, f"was sent {signal} with process.kill")
    data = outcome(await _signalled(call, job, SIGNALS[signal], after), signal, after)
    if alive:
        notes.append(f"{len(alive)} processes that outlived it were ended.")
    data = noted(data, notes)
    return Answer(told(data, call.mark), data)


async def _signalled(call: Call, job: Job, signal: int, after: int) -> Killed:
    """What came of the signal, as far as the client can wait: the keeper goes on with a kill whether anybody waits or not."""
    killed = Killed(job, verified_empty=False)
    with anyio.move_on_after(call.longest):
        grace = timedelta(seconds=after)
        killed = await call.jobs.kill(job.id, signal=signal, grace=grace, by=call.caller.owner)
        # A signal without escalation is answered when it is sent; the end may be a moment away.
        waited = await call.jobs.wait([job.id], timeout=timedelta(seconds=_MOMENT))
        return replace(killed, job=waited.jobs[0])
    return killed


def _is_beyond(pid: int) -> bool:
    """Return True if we may not signal a process, as one that a program with set-user-id has become."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except ProcessLookupError:
        return False
    return False


def outcome(killed: Killed, signal: str, after: int) -> Json:
    """What became of it: killed by us, or over before the signal came, or still there. Raises KillFailed."""
    job = killed.job
    left = ", ".join(f"{one.pid} ({one.command})" for one in killed.survivors)
    if left and (signal == "SIGKILL" or after):
        raise Failure("KillFailed", f"These are left: {left}.", process_id=job.id)
    end = job.phase.end if isinstance(job.phase, Ended) else None
    by_us = end is not None and end.reason is Reason.KILLED and not killed.already_ended
    escalated = end is not None and by_us and end.signal == SIGNALS["SIGKILL"]
    data: Json = {
        "killed": by_us,
        "signal_sent": "SIGKILL" if escalated else signal,
        "process_id": job.id,
        "state": state_of(job),
    }
    if end is None and after:
        return noted(data, [f"It has not ended yet; SIGKILL follows {after} s after the SIGTERM."])
    if isinstance(job.phase, Running) and _is_beyond(job.phase.pid):
        raise Failure("KillFailed", "It runs as another user.", process_id=job.id)
    if end is None:
        note = f"It got {signal} and still runs; use signal='SIGKILL', or SIGTERM with force_after above 0."
        return noted(data, [note])
    return noted(
        data, [f"Not ended by {signal} and left: {left}. process__kill with SIGKILL ends them."] if left else []
    )
