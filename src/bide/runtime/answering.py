"""Answers that are not a row: typed into a program's own prompt, or given by the command of the settings."""

from __future__ import annotations

import json
import os
from datetime import timedelta

from msgspec.structs import replace

from bide.keeper import told
from bide.model.errors import BideError, QuestionClosed
from bide.model.job import Job
from bide.model.output import Stream
from bide.model.phase import Ended
from bide.model.question import Posed, Question, State, Value, Via
from bide.model.questionforms import posed_to_json
from bide.model.request import Request
from bide.model.until import Until
from bide.model.waiting import Mode
from bide.runtime import ending, prompts, starting, waiting
from bide.runtime.consumers import OWN
from bide.runtime.core import Core, now, size_of
from bide.runtime.reading import tail

_COMMAND_SECONDS = timedelta(minutes=5)
_ANSWER_MAX = 64 * 1024


def _line(job: Job, value: Value) -> bytes:
    return str(value).encode("utf-8", "replace") + (b"\r" if job.spec.pty else b"\n")


async def type_in(core: Core, posed: Posed, value: Value | None, via: Via, key: str | None) -> Posed:
    """Type an answer as a line, where the prompt was shown and nowhere else; `None` ends the input."""
    job = core.find(posed.job)
    if size_of(core.home.job(job.id), "in") != posed.typed_at:
        raise QuestionClosed(question=posed.id, how="something else was typed")
    await ending.send(core, job.id, b"" if value is None else _line(job, value), None, eof=value is None, key=key)
    core.asking.changed.ring()
    state = State.DENIED if value is None else State.ANSWERED
    return replace(posed, state=state, via=via, closed_at=now())


def typed_before(core: Core, ref: str, key: str | None) -> Posed:
    """The prompt of this id, which is shown no longer, if it was answered with this key. Raises QuestionClosed."""
    job, _, at = ref.partition(prompts.MARK)
    path = core.home.job(core.find(job).id)
    if key is not None and at.isdecimal() and told.place(path, key, b"") == int(at):
        return Posed(ref, job, Question("(answered)"), now(), typed_at=int(at), state=State.ANSWERED)
    raise QuestionClosed(question=ref, how="it is asked no longer")


async def by_command(core: Core, command: str | tuple[str, ...], posed: Posed) -> Value | None:
    """What a program answers, such as one that asks a cheaper model; `None` if that is nothing usable.

    It is a job of bide's own, found again by its key instead of being run twice.
    """
    request = Request.of(
        command,
        cwd="/",
        base_env=dict(os.environ),
        owner=OWN,
        label="question",
        key=f"question {posed.id}",
        stdin=True,
        background=True,
    )
    try:
        job = (await starting.run(core, request)).job
        if not isinstance(job.phase, Ended):
            asked = json.dumps(posed_to_json(posed)).encode()
            await ending.send(core, job.id, asked, None, eof=True, at=0)
        (job,) = (await waiting.wait(core, [job.id], Mode.ALL, Until(), _COMMAND_SECONDS)).jobs
    except (BideError, OSError):
        return None
    if not isinstance(job.phase, Ended) or not job.phase.end.success:
        return None
    try:
        value: object = json.loads(tail(core, job, Stream.OUT, _ANSWER_MAX).data)
    except ValueError:
        return None
    return value if isinstance(value, str | bool) else None
