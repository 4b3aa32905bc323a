"""A notice as it is told: what happened to the job, and some of what it wrote."""

from __future__ import annotations

import json
from typing import Any

from bide.model.job import Job
from bide.model.messages import job_to_json
from bide.model.news import batch, clean_line, extract, is_whole, quoted
from bide.model.notice import ENDS, Item, Notice
from bide.model.notify import What
from bide.model.output import Stream
from bide.model.phase import Ended
from bide.model.question import Posed
from bide.model.questionforms import question_to_json
from bide.model.units import show_duration
from bide.model.words import asked, ended_how
from bide.runtime import excerpting
from bide.runtime.core import Core, size_of
from bide.runtime.reading import kept, slice_at, tail

_ANSWER = 1024 * 1024
"""So much of an LLM's output is looked through for its answer, from the end, where that is."""
_COMMAND_MAX = 80
_WELL, _ILL = 500, 1500
"""Characters of output that the end of a job is worth: who wants more of it reads it."""
_LEAST = 40
"""Room for fewer characters is not worth looking through what a job wrote."""
_SHOWS = (*ENDS, What.ERROR, What.OUTPUT)
"""Notices that show what the job wrote."""


class Known:
    """What all notices on a job share."""

    __slots__ = ("_core", "_job", "_size", "body")

    def __init__(self, core: Core, job: Job) -> None:
        """Of what it wrote, nothing is looked at yet."""
        self._core = core
        self._job = job
        self._size: int | None = None
        self.body: dict[str, Any] = job_to_json(job) if isinstance(job.phase, Ended) else {}
        """The facts of a job that is over."""

    @property
    def size(self) -> int:
        """How much it wrote."""
        if self._size is None:
            core, job = self._core, self._job
            if isinstance(job.phase, Ended):
                self._size = sum(kept(core, job, stream).size for stream in Stream)
            else:
                self._size = sum(size_of(core.folder(job), stream) for stream in Stream)
        return self._size


async def told_of(core: Core, job: Job, notice: Notice, room: int, known: Known) -> Item:
    """The notice in words, with an extract of at most so many characters."""
    over = isinstance(job.phase, Ended) and notice.what is not What.ACTED
    body = known.body if over else {}
    # A question is put, not written; and of one that is ready or silent nothing is shown.
    shown = notice.what in _SHOWS or (notice.what is What.WAITING and not notice.detail)
    text, size, cut = "", None, False
    if over and room > 0 and (said := _answer(core, job)):
        text, size = extract(said, room), len(said)
        cut = not is_whole(said, text)
    elif notice.what in ENDS and room >= _LEAST:
        text, cut = await _output(core, job, min(room, _ILL if notice.what is What.FAILED else _WELL))
    elif room > 0 and notice.what not in ENDS:
        text = _extract(core, job, notice, room)
        cut = True
    if size is None and shown:
        size = known.size
    return Item(
        id=notice.id,
        job=job.id,
        what=str(notice.what),
        level=notice.level.name.lower(),
        at=notice.at,
        says=_says(core, notice, body),
        name=job.name,
        label=job.label,
        command=job.spec.command[:_COMMAND_MAX],
        reason=body["reason"] if over else None,
        exit_code=body["exit_code"] if over else None,
        signal=body["signal"] if over else None,
        duration_ms=body["duration_ms"] if over else None,
        extract=text,
        size=size,
        cut=True if text and size is not None and cut else None,
    )


def _says(core: Core, notice: Notice, body: dict[str, object]) -> str:
    if notice.what in ENDS:
        return ended_how(body)
    if notice.what is What.WAITING and (posed := _posed(core, notice)) is not None:
        if posed.question.for_people:
            return f"asks what only a person may answer, at a terminal: bide answer {posed.id}"
        return f"asks a question ({posed.id}), which is answered with: bide answer {posed.id} VALUE"
    if notice.what is What.STALLED:
        return f"has written nothing for {show_duration(float(notice.detail or 0) * 1000)} and goes on"
    return {
        What.WAITING: "waits for input",
        What.READY: "is ready",
        What.ACTED: notice.detail,
        What.ERROR: "wrote a line that looks like an error, and goes on",
        What.OUTPUT: "wrote more",
    }[notice.what]


def _posed(core: Core, notice: Notice) -> Posed | None:
    """The question that a notice tells of, if it is not a program's own prompt."""
    row = core.store.questions.get(notice.detail) if notice.detail else None
    return None if row is None else row.posed


def _asked(core: Core, job: Job, notice: Notice) -> str:
    """What it asks; nothing of what is for people alone, since a model may read this."""
    posed = _posed(core, notice)
    if posed is not None:
        return "" if posed.question.for_people else asked(question_to_json(posed.question))
    facts = core.with_facts(job).facts
    return "" if facts is None or facts.waiting is None else facts.waiting.replace("\n", " ")


async def _output(core: Core, job: Job, room: int) -> tuple[str, bool]:
    """Return what explains the end of a job, and whether that is less than it wrote."""
    found = await excerpting.selected(core, job, tuple(Stream), room)
    return quoted(found, room)


def _extract(core: Core, job: Job, notice: Notice, room: int) -> str:
    """Return some of what a job wrote, or asks, while it goes on."""
    if notice.what is What.ERROR:
        return clean_line(notice.detail)[:room]
    if notice.what is What.WAITING:
        return clean_line(_asked(core, job, notice))[:room]
    return _piece(core, job, notice, room) if notice.what is What.OUTPUT else ""


def _answer(core: Core, job: Job) -> bytes:
    """What an LLM answered, or what it says went wrong; nothing for another job, or where neither can be read."""
    if job.spec.ask is None:
        return b""
    from bide.kinds.llm.known import clis  # noqa: PLC0415 - a home without requests does not pay for it

    cli = clis().get(job.spec.ask.cli)
    if cli is None:
        return b""
    last = tail(core, job, Stream.OUT, _ANSWER)
    reader = cli.reader(job.spec.ask.format)
    reader.feed(last.data if last.offset == 0 else last.data.partition(b"\n")[2])
    reading = reader.finish()
    return (reading.error or reading.text).encode("utf-8", "replace")


def _piece(core: Core, job: Job, notice: Notice, room: int) -> str:
    where = json.loads(notice.detail)
    data = slice_at(core, job, Stream(where["stream"]), where["from"], where["to"] - where["from"]).data
    return batch(data, room, where["left_out"])
