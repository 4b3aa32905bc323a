"""How far a request came, step by step: each has a number that only grows, over attempts and over daemons.

The numbers are made of what is on disk (the attempt, and how much was written), so that nothing has to be kept for them.
Pure; a step says what kind of thing happened, and never a word of what was said.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from bide.model.llm.answer import Answer, Status
from bide.model.llm.forms import answer_from_json, answer_to_json
from bide.model.phase import Ended, Queued

KEPT = 64
"""How many steps of an attempt are told, the newest ones."""
SHOWN = 32
"""How many are told at once unless more are asked for."""
_ATTEMPT = 1 << 32
"""More than an attempt can have: its steps are numbered by the bytes it wrote."""
_QUEUED, _STARTED = 1, 2


class Progress(StrEnum):
    """How far a request is, as far as its output tells."""

    QUEUED = "queued"
    STARTING = "starting"
    """It runs and has said nothing that can be read."""
    THINKING = "thinking"
    """It has told of its conversation or model, and of nothing else."""
    WORKING = "working"
    """It uses tools."""
    ANSWERING = "answering"
    """It says something."""
    FINISHING = "finishing"
    """It has said all, and has not left yet."""
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    ORPHANED = "orphaned"


class Mark(Struct, frozen=True):
    """Where in its output a CLI said something that tells how far it is."""

    at: int
    phase: Progress


class Step(Struct, frozen=True):
    """One step of a request."""

    seq: int
    phase: Progress
    bytes: int
    """How much had been written by then."""


class Watched(Struct, frozen=True):
    """What `watch` answers."""

    answer: Answer
    steps: tuple[Step, ...] = ()
    """Those that were asked for, the oldest first."""
    last: int = 0
    """The number of the newest one that there is."""
    phase: Progress = Progress.QUEUED
    """That of the newest one."""
    more: bool = False
    """There are others after these."""
    structured: bool = True
    """The output tells of more than that there is some."""


def waits_after(after: int, attempt: int) -> int:
    """Steps up to this number are no news: what was seen, and that it was asked for and started."""
    return max(after, (attempt - 1) * _ATTEMPT + _STARTED)


def steps_of(answer: Answer, marks: Sequence[Mark]) -> list[Step]:
    """All steps of the last attempt so far, the oldest first."""
    job = answer.job
    before = (_attempt(answer) - 1) * _ATTEMPT
    found = [Step(before + _QUEUED, Progress.QUEUED, 0)]
    if not isinstance(job.phase, Queued) and job.phase.started_at is not None:
        found.append(Step(before + _STARTED, Progress.STARTING, 0))
    found += [Step(before + _STARTED + mark.at, mark.phase, mark.at) for mark in marks]
    if isinstance(job.phase, Ended) and answer.status is not Status.RUNNING:
        size = job.phase.end.out.size
        found.append(Step(before + _STARTED + size + 1, Progress(str(answer.status)), size))
    return found[-KEPT:]


def watched(answer: Answer, marks: Sequence[Mark], after: int, limit: int, *, structured: bool) -> Watched:
    """The steps after a number, at most so many."""
    found = steps_of(answer, marks)
    new = [step for step in found if step.seq > after]
    newest = found[-1]
    return Watched(answer, tuple(new[:limit]), newest.seq, newest.phase, len(new) > limit, structured)


def _attempt(answer: Answer) -> int:
    return 1 if answer.job.spec.ask is None else answer.job.spec.ask.attempt


def watched_to_json(found: Watched) -> dict[str, Any]:
    """As the doors send it."""
    steps = [{**asdict(step), "phase": str(step.phase)} for step in found.steps]
    rest = {name: getattr(found, name) for name in ("last", "more", "structured")}
    return {"answer": answer_to_json(found.answer), "steps": steps, "phase": str(found.phase), **rest}


def watched_from_json(body: dict[str, Any]) -> Watched:
    """As it was sent."""
    steps = tuple(Step(one["seq"], Progress(one["phase"]), one["bytes"]) for one in body["steps"])
    rest = {name: body[name] for name in ("last", "more", "structured")}
    return Watched(answer_from_json(body["answer"]), steps, phase=Progress(body["phase"]), **rest)
