"""Jobs as tasks, for clients that take one in place of an answer that is not there yet. Nothing here knows the protocol.

A task is a job: its id, its phase and its end are the job's, so it outlives the connection, the client and the daemon.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import cast

from msgspec import Struct, field

from bide.api import Filter, Jobs
from bide.mcpserver import questions
from bide.mcpserver.scope import Own
from bide.mcpserver.text import job_line
from bide.mcpserver.tool import Answer, Call
from bide.mcpserver.toolsets import runs
from bide.model.errors import BideError, InternalError, JobEnded, NoStdin
from bide.model.job import Job
from bide.model.phase import Begun, Ended, Reason, Running
from bide.model.question import Posed
from bide.model.schema import Json
from bide.model.times import stamp
from bide.model.until import Until

POLL_MS = 2000
"""How often a client that cannot listen may ask; asking more often does no harm."""
AT_ONCE = timedelta(seconds=0.5)
"""What is over by then is answered as it is: a task would cost the client another call."""
PAGE = 50


class Status(StrEnum):
    """Where a task is, in both generations."""

    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def over(self) -> bool:
        """Whether it will never change again."""
        return self in (Status.COMPLETED, Status.FAILED, Status.CANCELLED)


def status_of(job: Job, *, asks: bool) -> Status:
    """A job's status as a task; `asks`: whether the client can be asked for input."""
    if isinstance(job.phase, Ended):
        if job.phase.end.reason is Reason.KILLED:
            return Status.CANCELLED
        return Status.FAILED if job.phase.end.reason is Reason.LOST else Status.COMPLETED
    return Status.INPUT_REQUIRED if asks and question_of(job) is not None else Status.WORKING


SCHEMA: Json = {
    "type": "object",
    "properties": {"text": {"type": "string", "title": "Input", "description": "one line, as it would be typed"}},
    "required": ["text"],
}
"""The form of an answer to a prompt."""


class Question(Struct, frozen=True):
    """What a waiting job asks."""

    key: str
    """Another for every question of a job, so that an answer is for one of them alone."""
    prompt: str
    at: int = 0
    """The byte of the job's input that the answer begins at."""
    schema: Json = field(default_factory=lambda: SCHEMA)
    put: Posed | None = None
    """The job put it; otherwise it is a program's own prompt."""


def question_of(job: Job) -> Question | None:
    """What a job waits for; nothing while input is on its way to it, and nothing that no client may be asked.

    Nor is a guess: a user who declines would end the input of a program that does not ask.
    """
    posed = questions.of(job)
    if not isinstance(job.phase, Running) or posed is None or posed.question.secret or questions.is_guess(job):
        return None
    if posed.typed_at is None:
        return Question(posed.id, posed.question.text, 0, questions.schema(posed.question), posed)
    prompt = None if job.facts is None else job.facts.waiting
    return Question(f"input-{posed.typed_at}", prompt or "", posed.typed_at)


def line_of(response: object) -> str | None:
    """What an answer says to the job, as a line; `None` if the client did not answer."""
    answer = cast("Json", response) if isinstance(response, dict) else {}
    if answer.get("action") != "accept":
        return None
    content: object = answer.get("content")
    said: object = cast("Json", content).get("text") if isinstance(content, dict) else None
    return f"{said if isinstance(said, str) else json.dumps(content)}\n"


def described(job: Job, *, asks: bool) -> Json:
    """What both generations say of a task."""
    phase = job.phase
    changed = job.created_at
    if isinstance(phase, Begun):
        changed = phase.ended_at if isinstance(phase, Ended) else phase.started_at
    return {
        "taskId": job.id,
        "status": str(status_of(job, asks=asks)),
        "statusMessage": job_line(job),
        "createdAt": stamp(job.created_at),
        "lastUpdatedAt": stamp(changed),
    }


Tell = Callable[[Call, Job], Awaitable[Answer]]


class Tasks:
    """What can be done with tasks."""

    def __init__(self, jobs: Jobs, told: Tell = runs.told_end) -> None:
        """`told`: the answer that the call would have had."""
        self._jobs = jobs
        self._told = told

    async def settled(self, job: Job) -> Job:
        """The job, after the moment in which it may end, or ask, so soon that no task is needed."""
        return (await self._jobs.wait([job.id], until=Until(input=True), timeout=AT_ONCE)).jobs[0]

    async def result(self, call: Call, job: Job) -> Answer:
        """What the call would have been answered. Raises BideError where nobody can know."""
        if isinstance(job.phase, Ended) and job.phase.end.reason is Reason.LOST:
            raise InternalError(detail=job_line(job))
        return await self._told(call, job)

    def questions(self, job: Job) -> tuple[Question, ...]:
        """What the job asks now."""
        found = question_of(job)
        return () if found is None else (found,)

    async def answer(self, call: Call, job: Job, responses: Mapping[str, object]) -> None:
        """Give a job the answer to what it asks; an answer to anything else is ignored. No answer closes its input."""
        for question in self.questions(job):
            if question.key not in responses:
                continue
            if question.put is not None:
                await questions.take(call, question.put, responses[question.key])
                continue
            said = line_of(responses[question.key])
            try:
                if said is None:
                    await self._jobs.send(job.id, eof=True)
                else:
                    await self._jobs.send(job.id, data=said.encode(), at=question.at)
            except (JobEnded, NoStdin):
                return

    async def cancel(self, own: Own, job: Job) -> Job:
        """End the job with its whole tree, unless it is over."""
        if isinstance(job.phase, Ended):
            return job
        return (await self._jobs.kill(job.id, by=own.owner)).job

    async def page(self, own: Own, before: str | None) -> tuple[tuple[Job, ...], str | None]:
        """The owner's jobs, newest first, and where the next page begins."""
        found = await self._jobs.list(Filter(owner=own.owner), limit=PAGE, before=before)
        return found.jobs, found.next


async def known(own: Own, ref: object) -> Job:
    """The job of a task. Raises BideError."""
    if not isinstance(ref, str):
        raise BideError(detail="'taskId' must be a string")
    return await own.job(ref)
