"""What an LLM's command line answered, as far as its output says."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum

from msgspec import Struct, field

from bide.model.job import Job
from bide.model.llm.approval import Decision
from bide.model.phase import Ended, Reason


class Fault(StrEnum):
    """What kind of failure it was, where that can be told."""

    NONE = ""
    LOGIN = "login"
    """Nobody is logged in, or no longer."""
    USAGE_LIMIT = "usage_limit"
    """The account's limit is reached, or the provider wants fewer requests."""
    MODEL = "unknown_model"
    """The CLI, or its service, does not know the model that was asked for."""
    TRANSIENT = "transient"
    """The connection failed; asking again may help."""
    TIMEOUT = "timeout"
    IDLE = "idle_timeout"
    OVERFLOW = "overflow"
    QUEUED = "queue_timeout"
    """Its turn did not come in the time that it may wait."""
    SPAWN = "spawn_error"
    CLI = "cli_error"
    """Anything else that the CLI says is wrong."""


class Status(StrEnum):
    """Where a request is, in one word."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    ORPHANED = "orphaned"


class Note(Struct, frozen=True):
    """Something that a caller should know, and that is no failure."""

    code: str
    message: str
    figures: Mapping[str, int] = field(default_factory=dict[str, int])
    """What a program would look for in the message."""


class Tokens(Struct, frozen=True):
    """What a request used."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


class Reading(Struct, frozen=True):
    """What was read from the output of a CLI."""

    text: str = ""
    conversation: str | None = None
    model: str | None = None
    tokens: Tokens = Tokens()
    cost_usd: float | None = None
    turns: int | None = None
    tools: Mapping[str, int] = field(default_factory=dict[str, int])
    """How often each tool was used."""
    error: str = ""
    """What the CLI says went wrong."""
    final: bool = False
    """The CLI said that this is all."""
    skipped: int = 0
    """Lines that could not be read."""


class Answer(Struct, frozen=True):
    """A request as it is now, and what it brought."""

    job: Job
    cli: str
    correlation_id: str
    status: Status
    reading: Reading = Reading()
    exit_code: int | None = None
    """As a shell would show it: 124 timed out, 125 idle, 126 too much output, 127 not found; `None` while it runs."""
    fault: Fault = Fault.NONE
    error: str = ""
    """One sentence: what went wrong, and what to do."""
    notes: tuple[Note, ...] = ()

    @property
    def text(self) -> str:
        """What the model answered."""
        return self.reading.text


class Asked(Struct, frozen=True):
    """What `ask` answers."""

    answer: Answer
    joined: bool = False
    """An equal request runs, or was answered lately: this is its job."""
    deferred: bool = False
    """The deadline passed first; it goes on."""
    deadline: timedelta | None = None
    """How long the answer was waited for; `None` for as long as it takes."""
    approval: Decision | None = None
    """What the gate decided, if it was asked."""

    @property
    def job(self) -> Job:
        """The job that it is."""
        return self.answer.job


LINGERED = "lingered after its result"
"""Who ended a CLI that said all it had to say and did not leave."""
WAITED = "waited too long for its turn"
"""Who ended a request that never started."""


def status_of(job: Job, reading: Reading) -> Status:
    """The gateway's word for a job. One that was ended because it lingered is what its result says."""
    if not isinstance(job.phase, Ended):
        return Status.RUNNING
    end = job.phase.end
    if end.reason is Reason.KILLED:
        if end.by == LINGERED and reading.final:
            return Status.FAILED if reading.error else Status.COMPLETED
        return Status.FAILED if end.by == WAITED else Status.CANCELED
    if end.reason is Reason.LOST:
        return Status.ORPHANED
    return Status.COMPLETED if end.success else Status.FAILED


def code_of(job: Job) -> int | None:
    """The exit code as the gateway says it: `None` for what a signal ended, or nobody knows."""
    if not isinstance(job.phase, Ended):
        return None
    end = job.phase.end
    if end.reason in (Reason.TIMED_OUT, Reason.IDLE, Reason.OVERFLOW, Reason.SPAWN_FAILED, Reason.EXITED):
        return end.status
    return None


def notes_of(job: Job, reading: Reading) -> tuple[Note, ...]:
    """Where the exit code and the output disagree, and other things that are easily overlooked."""
    if not isinstance(job.phase, Ended):
        return ()
    end, found = job.phase.end, list[Note]()
    lingered = end.reason is Reason.KILLED and end.by == LINGERED and reading.final
    if lingered:
        found.append(Note("lingered", "The CLI said its result and did not leave, so it was ended; the result stands."))
    if end.success and not reading.text.strip():
        found.append(Note("empty_output", "The CLI left with 0 and said nothing. That is no answer and no agreement."))
    if end.success and reading.error:
        found.append(Note("result_is_error", f"The CLI left with 0, and its result is an error: {reading.error}"))
    if reading.final and not reading.error and not end.success and not lingered and end.reason is Reason.EXITED:
        found.append(Note("exit_disagrees", f"The CLI said its result and left with {end.exit_code}; look at stderr."))
    if reading.skipped:
        found.append(Note("unreadable_output", f"{_lines(reading.skipped)} of the output could not be read."))
    return tuple(found)


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"
