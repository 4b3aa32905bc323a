"""The toolset `job`: wait for, list and cancel background jobs. Its words, texts and defaults are those of seed 000."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from weakref import WeakValueDictionary

import anyio

from bide.api import Filter
from bide.mcpserver.elapsed import elapsed
from bide.mcpserver.tool import Answer, Call, Tool
from bide.mcpserver.toolsets.joboutput import BUDGET, FULL_OUTPUT, output_text, room_of
from bide.mcpserver.toolsets.jobtext import error_text, fenced, label_of
from bide.mcpserver.waiting import wait_reporting
from bide.model.errors import BadRequest, JobNotFound
from bide.model.job import Job
from bide.model.limits import FALLBACK_MOST
from bide.model.phase import Ended, Reason
from bide.model.schema import Json, fields, flag, words
from bide.model.until import Until
from bide.model.waiting import Mode
from bide.settings import JobToolSettings

RETENTION = timedelta(minutes=5)
POLL_WAITS = {"5s": 5.0, "10s": 10.0, "30s": 30.0, "1m": 60.0, "5m": 300.0}
DEFAULT_WAIT = 30.0
SMART = (5.0, 10.0, 30.0, 60.0, 300.0)
SMART_RESET = 60.0


class Ladder:
    """How long each owner's next poll waits: longer with every poll in a row, short again after a pause."""

    def __init__(self) -> None:
        """Nobody has polled."""
        self._rungs: dict[str, tuple[int, float]] = {}

    def next(self, owner: str, now: float) -> float:
        """Seconds for a poll that begins now."""
        rung, returned = self._rungs.get(owner, (-1, 0.0))
        rung = 0 if rung < 0 or now - returned >= SMART_RESET else min(rung + 1, len(SMART) - 1)
        self._rungs[owner] = (rung, now)
        return SMART[rung]

    def returned(self, owner: str, now: float) -> None:
        """A poll has answered."""
        rung, _ = self._rungs.get(owner, (0, now))
        self._rungs[owner] = (rung, now)


class JobTools:
    """`job`, and what it remembers: which jobs were cancelled and have not ended yet."""

    def __init__(self, settings: JobToolSettings | None = None) -> None:
        """Nobody has polled, nothing was cancelled."""
        self.settings = settings or JobToolSettings(most=FALLBACK_MOST)
        self._ladder = Ladder()
        self.cancelled: set[str] = set()
        self._counting: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    @property
    def enabled(self) -> bool:
        """Whether anything can become a background job."""
        return self.settings.async_enabled or self.settings.auto_background

    def tool(self) -> Tool:
        """`job` as clients see it."""
        return Tool(
            "job",
            "Wait for or cancel background jobs. With no arguments waits for the first of your running background jobs to finish. Waiting costs "
            "nothing; there is no need to call it in a loop.",
            fields(
                (),
                poll=words("ids to wait for"),
                cancel=words("ids to cancel first"),
                list=flag("only show all jobs; not with poll or cancel"),
                budget=BUDGET,
            ),
            self.act,
            destructive=True,
            listed=self.enabled,
            one_text=True,
        )

    async def act(self, call: Call, given: Json) -> Answer:
        """Cancel, then wait, then tell."""
        if not self.enabled:
            return Answer("Async execution is disabled; no background jobs are available.", {"jobs": []})
        poll: list[str] | None = given.get("poll")
        cancel: list[str] = given.get("cancel", [])
        room = given.get("budget")
        if given.get("list"):
            if "poll" in given or "cancel" in given:
                raise BadRequest(detail="`list` cannot be combined with `poll` or `cancel`.", field="list")
            return await self._listed(call, room)
        outcomes = [await self._cancel(call, id_) for id_ in cancel] if "cancel" in given else None
        if poll is None and cancel:
            return await self._answer(call, await self._known(call, cancel), outcomes, room)
        watched = await self.running(call, "running", "queued") if poll is None else await self._known(call, poll)
        if not watched:
            return await self._nothing(call, poll, cancel, outcomes, room)
        found = await self._first_to_settle(call, watched)
        if room == 0:
            await _tell(call, found)
        return await self._answer(call, found, outcomes, room)

    async def _listed(self, call: Call, budget: int | None) -> Answer:
        """All of them. Of what is not shown whole nobody was told."""
        jobs = await self.retained(call)
        with call.jobs.outbox.answering(call.caller.owner):
            answer = await self._answer(call, jobs, None, budget)
        for job, row in zip(jobs, answer.data["jobs"], strict=True):
            whole = budget != 0 and FULL_OUTPUT not in row.get("resultText", "") + row.get("errorText", "")
            if row["status"] != "running" and whole:
                await call.jobs.get(job.id)
        return answer

    async def _nothing(
        self, call: Call, poll: list[str] | None, cancel: list[str], outcomes: list[Json] | None, budget: int | None
    ) -> Answer:
        if outcomes:
            return await self._answer(call, await self._known(call, cancel), outcomes, budget)
        said = (
            f"No matching jobs found for IDs: {', '.join(poll)}" if poll else "No running background jobs to wait for."
        )
        return Answer(said, {"jobs": []})

    async def _first_to_settle(self, call: Call, watched: list[Job]) -> list[Job]:
        """Return the watched jobs, at once if all are over, else when the first of those that run is."""
        running = [job for job in watched if self.status(job) == "running"]
        if not running:
            return watched
        timeout = timedelta(seconds=min(self.window(call.caller.owner, time.monotonic()), call.longest))
        ids, names = [job.id for job in running], [job.name or job.id for job in running]
        waited = await wait_reporting(call, ids, Mode.ANY, Until(), timeout, often=True, called=names)
        self._ladder.returned(call.caller.owner, time.monotonic())
        now = {job.id: job for job in waited.jobs}
        return [now.get(job.id, job) for job in watched]

    def window(self, owner: str, now: float) -> float:
        """Seconds that a poll which begins now may wait."""
        if self.settings.poll_wait == "smart":
            return self._ladder.next(owner, now)
        return POLL_WAITS.get(self.settings.poll_wait, DEFAULT_WAIT)

    async def _cancel(self, call: Call, id_: str) -> Json:
        try:
            job = await call.own.job(id_)
        except JobNotFound:
            return {"id": id_, "status": "not_found"}
        if _is_hidden(job):
            return {"id": id_, "status": "not_found"}
        if self.status(job) != "running":
            return {"id": id_, "status": "already_completed", "was": self.status(job)}
        self.cancelled.add(job.id)
        call.later(lambda: call.jobs.kill(job.id, by=call.caller.owner))
        return {"id": id_, "status": "cancelled"}

    def status(self, job: Job) -> str:
        """`running`, `completed`, `failed` or `cancelled`; cancelled from the moment it is asked for."""
        if not isinstance(job.phase, Ended):
            return "cancelled" if job.id in self.cancelled else "running"
        if job.id in self.cancelled or job.phase.end.reason is Reason.KILLED:
            return "cancelled"
        return "completed" if job.phase.end.exit_code == 0 else "failed"

    async def _known(self, call: Call, ids: Sequence[str]) -> list[Job]:
        """Those of the ids that exist, each once."""
        found: dict[str, Job] = {}
        for id_ in ids:
            try:
                job = await call.own.job(id_)
            except JobNotFound:
                continue
            if not _is_hidden(job):
                found.setdefault(job.id, job)
        return list(found.values())

    def counting(self, owner: str) -> anyio.Lock:
        """Return the lock between counting an owner's background jobs and adding one to them."""
        return self._counting.setdefault(owner, anyio.Lock())

    async def running(self, call: Call, *phases: str) -> list[Job]:
        """Return the background jobs in these phases that were not cancelled; those that run if none is named."""
        found: list[Job] = []
        for phase in phases or ("running",):
            page = await call.jobs.list(Filter(owner=call.caller.owner, phase=phase), limit=500)
            found += [job for job in page.jobs if _is_background(call, job) and job.id not in self.cancelled]
        return found

    async def retained(self, call: Call) -> list[Job]:
        """Background jobs: what runs, and what ended lately."""
        recent = Filter(owner=call.caller.owner, since=datetime.now(UTC) - timedelta(days=30))
        page = await call.jobs.list(recent, limit=500)
        return [job for job in page.jobs if not _is_hidden(job) and _is_background(call, job)]

    async def _answer(self, call: Call, jobs: Sequence[Job], outcomes: list[Json] | None, budget: int | None) -> Answer:
        room = room_of(budget, sum(self.status(job) != "running" for job in jobs))
        rows = [await self.snapshot(call, job, room) for job in jobs]
        running = [row for row in rows if row["status"] == "running"]
        settled = [row for row in rows if row["status"] != "running"]
        parts: list[str] = []
        if outcomes:
            parts += [f"## Cancelled ({len(outcomes)})", *(f"- {_outcome(one)}" for one in outcomes), ""]
        if settled:
            parts.append(f"## Completed ({len(settled)})")
            for row in settled:
                parts += _settled(row)
        if running:
            parts.append(f"## Still Running ({len(running)})")
            parts += [f"- `{row['id']}` [{row['type']}] — {row['label']}" for row in running]
        data: Json = {"jobs": rows}
        if outcomes is not None:
            data["cancelled"] = [{"id": one["id"], "status": one["status"]} for one in outcomes]
        if rows and not settled and not outcomes:
            data["useless"] = True
        return Answer("\n".join(parts).strip() or "No background jobs.", data)

    async def snapshot(self, call: Call, job: Job, room: int | None = None) -> Json:
        """A job in this vocabulary's words."""
        status = self.status(job)
        row: Json = {
            "id": job.name or job.id,
            "type": "task" if job.spec.kind == "task" else "bash",
            "status": status,
            "label": label_of(job.spec.command),
            "durationMs": int(elapsed(job) / timedelta(milliseconds=1)),
        }
        if status != "running":
            text = await output_text(call, job, room)
            if status == "completed":
                row["resultText"] = text
            elif status == "failed":
                row["errorText"] = error_text(job, text)
            elif text:
                row["resultText"] = text
        return row


def _is_background(call: Call, job: Job) -> bool:
    """Whether no call answers with its end: it was put into the background, or its call left it there."""
    if job.spec.kind == "task":
        return True
    if job.session and job.parent:
        return False  # a part of the code that called `cmd`
    return job.spec.background or call.own.foreground.has_left(job)


def _is_hidden(job: Job) -> bool:
    """Whether it ended too long ago for this vocabulary; the other doors still have it."""
    return isinstance(job.phase, Ended) and datetime.now(UTC) - job.phase.ended_at > RETENTION


async def _tell(call: Call, jobs: Sequence[Job]) -> None:
    """Count the ends of jobs as told by an answer that was asked to show none of their output."""
    for job in jobs:
        if isinstance(job.phase, Ended):
            await call.jobs.get(job.id)


def _outcome(one: Json) -> str:
    if one["status"] == "cancelled":
        return f"Cancelled background job {one['id']}."
    if one["status"] == "not_found":
        return f"Background job not found: {one['id']}"
    return f"Background job {one['id']} is already {one['was']}."


def _settled(row: Json) -> list[str]:
    parts = [f"### {row['id']} [{row['type']}] — {row['status']}", f"Label: {row['label']}"]
    if row.get("resultText"):
        parts += fenced(row["resultText"])
    if row.get("errorText"):
        has_output = "\n" in row["errorText"]
        parts += ["Error:", *fenced(row["errorText"])] if has_output else [f"Error: {row['errorText']}"]
    return [*parts, ""]
