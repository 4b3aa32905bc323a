"""`run` and `await` of the core toolset: start something, wait for it, and tell what became of it."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from bide.mcpserver import emptyinput, output, patience, questions, text
from bide.mcpserver.output import Report
from bide.mcpserver.tool import Answer, Call
from bide.mcpserver.waiting import wait_reporting
from bide.model.dedup import Dedup, Policy
from bide.model.errors import BadRequest
from bide.model.job import Job
from bide.model.limits import Limits
from bide.model.phase import Ended, Running
from bide.model.plans import notify_from_json
from bide.model.request import Request
from bide.model.results import Ran
from bide.model.schema import Json
from bide.model.turn import Turn
from bide.model.until import Until
from bide.model.waiting import Mode, Waited

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
    ran = await _ran(call, given)
    # Said again after a daemon's death, a call finds the job that it started itself.
    joined = ran.joined and ran.job.key != call.key
    budget = given.get("budget")
    if given.get("background"):
        if isinstance(ran.job.phase, Ended):
            return await told(call, Waited((ran.job,), "ended"), budget, joined=joined)
        return _started(ran.job, joined=joined)
    seconds = min(given.get("wait", patience.deadline(call.caller.client, call.caller.patience)), call.longest)
    until = _until(given.get("until", {}))
    waited = await wait_reporting(call, [ran.job.id], Mode.ALL, until, timedelta(seconds=seconds), asks=True)
    answer = await told(call, waited, budget, joined=joined)
    return answer if joined or not isinstance(waited.jobs[0].phase, Ended) else replace(answer, own=ran.job.id)


async def begin(call: Call, given: Json) -> Job | None:
    """Start the job of a call whose client takes a task for it; `None` where the answer comes at once in any case."""
    if given.get("background") or "until" in given:
        return None
    return (await _ran(call, given)).job


async def _ran(call: Call, given: Json) -> Ran:
    if "session" in given:
        await call.own.session(given["session"])
    # Always in the background for the engine, so that a cancelled call leaves it alone; in a session it counts as what it is.
    after = tuple(await call.own.ids(given.get("after", ())))
    ran = await call.jobs.run(replace(_request(call, given, after), followed=not given.get("background")))
    call.own.arrivals.ring()
    return ran


def _request(call: Call, given: Json, after: tuple[str, ...]) -> Request:
    code = given.get("code")
    if (code is None) == ("command" not in given):
        raise BadRequest(
            detail="give 'command' (for the shell, or a list of words) or 'code' with its 'lang', not both"
        )
    command = given["command"] if code is None else code
    surroundings: dict[str, Any] = {"cwd": given.get("cwd")}
    if "session" not in given:
        surroundings = {"cwd": os.path.join(call.caller.cwd, given.get("cwd", "")), "base_env": call.caller.env}
    options: dict[str, Any] = {
        key: given[key] for key in ("env", "name", "label", "stdin", "pty", "session") if key in given
    }
    if code is not None:
        options["language"] = given.get("lang", "python")
    if "notify" in given:
        options["notify"] = notify_from_json(given["notify"])
    if "reuse" in given:
        options["dedup"] = Dedup(Policy(f"reuse_{given['reuse']}"))
    limits: dict[str, Any] = {"output_bytes": given["output_cap"]} if "output_cap" in given else {}
    return Request.of(
        command if isinstance(command, str) else tuple(command),
        **surroundings,
        owner=call.caller.owner,
        key=call.key,
        background=True,
        limits=Limits(
            timeout=_duration(given.get("timeout")),
            idle=_duration(given.get("idle")),
            memory_bytes=given.get("memory"),
            **limits,
        ),
        turn=Turn(group=given.get("group", ""), priority=given.get("priority", 0), after=after),
        **options,
    )


def _started(job: Job, *, joined: bool) -> Answer:
    said, following = text.next_call("await", jobs=[job.id])
    first = f"joined {text.job_line(job)}" if joined else f"started {text.called_of(job)}"
    if not isinstance(job.phase, Running) and not joined:
        first = f"accepted {text.job_line(job)}"
    words_ = f"{first}. Waiting is free, so do not poll; for its end: {said}"
    return Answer(words_, {**text.job_data(job), **_if(joined, joined=True), "next": following})


def _if(holds: bool, **data: object) -> Json:  # noqa: FBT001 - reads as a sentence
    return dict(data) if holds else {}


async def told_end(call: Call, job: Job) -> Answer:
    """What a run is answered when its job is over."""
    return await told(call, Waited((job,), "ended"))


async def told(call: Call, waited: Waited, budget: int | None = None, *, joined: bool = False) -> Answer:
    """One job's state after a wait, with its new output."""
    job = waited.jobs[0]
    over = isinstance(job.phase, Ended)
    report = Report()
    report.say(_met(waited, joined=joined))
    report.data = {**text.job_data(job), **_if(joined, joined=True), **_if(not over, met=waited.met)}
    if not over:
        said, report.data["next"] = text.following(job)
        report.say(said)
    view = await output.view(call, job, budget)
    report.say(view.said)
    if emptyinput.is_met(job, view.text):
        report.say(emptyinput.ADVICE)
        report.data["advice"] = emptyinput.ADVICE
    report.show(view.text)
    report.data |= view.data
    return report.answer()


def _met(waited: Waited, *, joined: bool = False) -> str:
    line = ("joined " if joined else "") + text.job_line(waited.jobs[0])
    if waited.match is not None:
        return f"{line}; its log matched at byte {waited.match.offset}"
    if waited.met in ("ended", "question", "input", "timeout"):
        return line
    return f"{line}; what it was awaited for holds: {waited.met}"


# await


async def await_(call: Call, given: Json) -> Answer:
    """Block until the jobs are over, or a condition holds, or the client's patience ends."""
    seconds = min(given.get("timeout", _SECONDS), call.longest)
    mode = Mode(given.get("mode", "all"))
    until = _until(given.get("until", {}))
    waited = await wait_reporting(call, given["jobs"], mode, until, timedelta(seconds=seconds), asks=True)
    budget = given.get("budget")
    if len(waited.jobs) > 1:
        return await _told_all(call, waited, budget)
    if waited.met in ("question", "timeout") and budget is None:
        return _unchanged(waited)
    return await told(call, waited, budget)


def _unchanged(waited: Waited) -> Answer:
    """Still running: one line, the same shape each time."""
    job = waited.jobs[0]
    if questions.of(job) is not None:
        said, following = text.following(job)
        return Answer(f"{text.job_line(job)}. {said}", {**text.job_data(job), "met": waited.met, "next": following})
    said, following = text.next_call("await", jobs=[job.id])
    line = f"{text.job_line(job)}, still running. {text.WAITING_IS_FREE} Again: {said}"
    return Answer(line, {**text.job_data(job), "met": waited.met, "next": following})


async def _told_all(call: Call, waited: Waited, budget: int | None) -> Answer:
    over = [job for job in waited.jobs if isinstance(job.phase, Ended)]
    left = [job for job in waited.jobs if not isinstance(job.phase, Ended)]
    failed = [job for job in over if not output.is_well(job)]
    share = None if budget is None else budget // max(len(over), 1)
    report = Report()
    rows: list[Json] = []
    for job in over:
        view = await output.view(call, job, share, several=len(failed) or 1)
        report.say(text.job_line(job) + (f". {view.said}" if view.said else ""))
        report.show(view.text)
        rows.append({**text.job_data(job), **view.data})
    report.data = {"met": waited.met, "ended": rows, "running": [text.asking_data(job) for job in left]}
    asking = [job for job in left if questions.of(job) is not None]
    for job in left:
        report.say(text.job_line(job) + (". " + text.following(job)[0] if job in asking else ", still running"))
    if left:
        said, report.data["next"] = text.next_call("await", jobs=[job.id for job in left])
        report.say(f"For the rest: {said}" if asking else f"{text.WAITING_IS_FREE} For the rest: {said}")
    calls = [one for job in asking if (one := text.following(job)[1])["tool"] == "send"]
    report.data |= {"next": calls[0]} if calls else {}
    return report.answer()
