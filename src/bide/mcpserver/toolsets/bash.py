"""`bash` of the toolset `job`: runs a command, in the background if asked or if it takes long. Seed 000's words."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack
from datetime import timedelta

from msgspec.structs import replace

from bide.mcpserver import emptyinput, text
from bide.mcpserver.tool import Answer, Call, Tool
from bide.mcpserver.toolsets.job import JobTools
from bide.mcpserver.toolsets.joboutput import BUDGET, output_text, room_of
from bide.mcpserver.toolsets.jobtext import error_text, fenced, label_of
from bide.mcpserver.waiting import wait_reporting
from bide.model.errors import BadRequest, NameInUse
from bide.model.job import Job
from bide.model.limits import Limits, job_limit_reached
from bide.model.notify import Notify
from bide.model.phase import Ended
from bide.model.request import Request
from bide.model.schema import Json, fields, flag, number
from bide.model.schema import text as string
from bide.model.units import show_duration
from bide.model.until import Until
from bide.model.waiting import Mode

TIMEOUT = 300.0
SHORTEST, LONGEST = 1.0, 3600.0
_PROGRESS = string("have new output told as news; ambient: only with your next call", enum=["wake", "ambient"])
SO_FAR = 500
"""Tokens of output in the answer about a job that goes on in the background."""
GRACE = 1.0
"""Seconds that `async: "auto"` waits before it puts a command into the background."""


class BashTool:
    """Starts jobs that `job` waits for."""

    def __init__(self, jobs: JobTools) -> None:
        """What `job` is set to do holds for what it waits for."""
        self._jobs = jobs
        self._settings = jobs.settings
        self._most = min(max(jobs.settings.most, 1), 100)

    def tool(self) -> Tool:
        """`bash` as clients see it."""
        asynchronous: Json = {"anyOf": [{"type": "boolean"}, {"type": "string", "enum": ["auto"]}]}
        hint = " With async true it becomes a background job at once; wait for it with job."
        return Tool(
            "bash",
            f"Run a shell command and answer with its output.{hint if self._settings.async_enabled else ''}",
            fields(
                ("command",),
                command=string(minLength=1),
                cwd=string(),
                env={"type": "object", "additionalProperties": {"type": "string"}},
                timeout=number("seconds, 1 to 3600, 0 for none (default 300)", minimum=0),
                **({"async": asynchronous, "progress": _PROGRESS} if self._settings.async_enabled else {}),
                id=string("what to call the job"),
                pty=flag(),
                budget=BUDGET,
            ),
            self.act,
            destructive=True,
        )

    async def act(self, call: Call, given: Json) -> Answer:
        """Run it; in the foreground up to the threshold."""
        seconds, notice = _timeout(given.get("timeout", TIMEOUT))
        wanted = given.get("async", False)
        if wanted is not True:
            return await self._foreground(call, given, seconds, notice)
        async with self._jobs.counting(call.caller.owner):
            if await self._is_full(call):
                raise job_limit_reached(self._most)
            job = await self._start(call, given, seconds)
        return await self._started(call, job, given, notice)

    async def _foreground(self, call: Call, given: Json, seconds: float, notice: str) -> Answer:
        """Answer with the end of the command, or leave it in the background after the threshold if there is room for it there."""
        job = await self._start(call, given, seconds)
        wait = self._wait(given.get("async", False), given, seconds)
        longest = call.longest if wait is None else min(wait, call.longest)
        async with AsyncExitStack() as counting:
            with call.own.foreground.following(job.id):
                job = await _ended(call, job, longest)
                if not isinstance(job.phase, Ended) and longest < call.longest:
                    await counting.enter_async_context(self._jobs.counting(call.caller.owner))
                    if await self._is_full(call):
                        await counting.aclose()
                        job, longest = await _ended(call, job, call.longest - longest), call.longest
                if isinstance(job.phase, Ended):
                    call.own.foreground.answered(job.id)
        if isinstance(job.phase, Ended):
            return await _finished(call, job, given, notice)
        why = (
            f"this client waits for {show_duration(longest * 1000)} at most"
            if longest == call.longest
            else f"it takes longer than {show_duration(longest * 1000)}"
        )
        return await self._started(call, job, given, notice, why)

    async def _is_full(self, call: Call) -> bool:
        """Return whether as many of the owner's background jobs run as may."""
        return len(await self._jobs.running(call)) >= self._most

    async def _started(self, call: Call, job: Job, given: Json, notice: str, why: str = "") -> Answer:
        """Tell of a job that goes on in the background: why, what it wrote so far, and the call that waits for it."""
        name = job.name or job.id
        said = [f"Background job {name} started: {label_of(job.spec.command)}"]
        data: Json = {"async": {"state": "running", "jobId": name, "type": "bash"}}
        if why:
            said.append(f"It goes on in the background, since {why}.")
            data["async"]["reason"] = why
            output = await output_text(call, job, room_of(given.get("budget", SO_FAR)))
            if output:
                said += ["Output so far:", *fenced(output)]
                data["output"] = output
        if self._jobs.enabled:
            call_, data["next"] = text.next_call("job", poll=[name])
            said.append(f"{text.WAITING_IS_FREE} For its result: {call_}")
        if notice:
            said.append(notice)
            data["notice"] = notice
        return _carried(Answer("\n".join(said), data))

    def _wait(self, wanted: object, given: Json, seconds: float) -> float | None:
        """Return the seconds after which a command becomes a background job; `None` for as long as the client can wait."""
        room = seconds - 1 if seconds else LONGEST
        if wanted == "auto":
            return None if room <= GRACE else GRACE
        if not self._settings.auto_background or given.get("pty"):
            return None
        return max(0.0, min(self._settings.auto_background_after.total_seconds(), room))

    async def _start(self, call: Call, given: Json, seconds: float) -> Job:
        limits = Limits(timeout=timedelta(seconds=seconds)) if seconds else Limits()
        for name in await self._names(call, given.get("id")):
            request = Request.of(
                given["command"],
                cwd=os.path.join(call.caller.cwd, given.get("cwd", "")),
                base_env=call.caller.env,
                env=given.get("env", {}),
                owner=call.caller.owner,
                name=name,
                key=call.key,
                limits=limits,
                pty=given.get("pty", False),
                merge=not given.get("pty", False),
                background=True,
                notify=_notify(given.get("progress")),
            )
            try:
                ran = await call.jobs.run(replace(request, followed=given.get("async") is not True))
            except NameInUse:
                continue
            call.own.arrivals.ring()
            return ran.job
        raise BadRequest(detail="no free id for another background job; cancel some")

    async def _names(self, call: Call, preferred: str | None) -> list[str]:
        """Ids to try: the preferred one, then with -2, -3; else the lowest free `bg_N`."""
        word = (preferred or "").strip()
        names = [word, *(f"{word}-{number}" for number in range(2, 200))]
        if not word:
            names = [f"bg_{number}" for number in range(1, 400)]
        # A background job that ended lately can still be asked for by its name.
        taken = {job.name for job in await self._jobs.retained(call)}
        return [name for name in names if name not in taken]


def _notify(progress: str | None) -> Notify:
    """Return what to tell of a job whose progress is told thus."""
    if progress is None:
        return Notify()
    return Notify(on_content=True, ambient=True if progress == "ambient" else None)


def _timeout(asked: float) -> tuple[float, str]:
    if asked == 0:
        return 0.0, ""
    clamped = min(max(asked, SHORTEST), LONGEST)
    notice = "" if clamped == asked else f"[Timeout clamped to {clamped:.0f}s (allowed range: 1-3600s)]"
    return clamped, notice


async def _ended(call: Call, job: Job, seconds: float) -> Job:
    """Wait for the end of a job, so long at most, and return it as it is then."""
    longest = timedelta(seconds=seconds)
    waited = await wait_reporting(call, [job.id], Mode.ALL, Until(), longest, called=[job.name or job.id])
    return waited.jobs[0]


async def _finished(call: Call, job: Job, given: Json, notice: str) -> Answer:
    output = await output_text(call, job, room_of(given.get("budget")))
    assert isinstance(job.phase, Ended)  # noqa: S101 - the caller looked
    failed = job.phase.end.exit_code != 0
    said = error_text(job, output) if failed else output.rstrip("\n") or "(no output)"
    data: Json = {
        "exitCode": job.phase.end.exit_code,
        "output": said,
        "jobId": (given.get("id") and job.name) or job.id,
    }
    if emptyinput.is_met(job, output):
        notice = "\n".join(filter(None, (notice, emptyinput.GIVE)))
    if notice:
        data["notice"] = notice
    return _carried(Answer("\n".join(filter(None, (said, notice))), data, is_error=failed, own=job.id))


def _carried(answer: Answer) -> Answer:
    """Return the answer, whose text carries the output, also for clients to whom the data would."""
    facts = {key: value for key, value in answer.data.items() if key != "output"}
    return replace(answer, brief=answer.text, facts=facts)
