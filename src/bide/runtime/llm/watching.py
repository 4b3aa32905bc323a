"""Waiting until a request gets further: its output is read as it comes, and nothing of it is kept."""

from __future__ import annotations

from datetime import timedelta

import anyio
import anyio.lowlevel
import anyio.to_thread

from bide.kinds.llm import known
from bide.kinds.llm.base import Reader
from bide.kinds.llm.lines import Lines
from bide.model.errors import BadRequest
from bide.model.llm.answer import Status
from bide.model.llm.steps import KEPT, Watched, waits_after, watched
from bide.model.output import Stream
from bide.model.phase import Queued
from bide.runtime.core import Core
from bide.runtime.hub import heard
from bide.runtime.live import Live
from bide.runtime.llm import answers
from bide.runtime.llm.retrying import Retrying
from bide.runtime.reading import slice_at, watching

_PIECE = 256 * 1024


async def watch(core: Core, retrying: Retrying, job: str, *, after: int, limit: int, wait: timedelta) -> Watched:
    """The steps after one; waited for, if there are none and it goes on."""
    if after < 0 or not 1 <= limit <= KEPT:
        raise BadRequest(detail=f"steps are told after a number of 0 or more, 1 to {KEPT} at once")
    until = anyio.current_time() + wait.total_seconds()
    while True:
        answer = await retrying.answer(core.with_facts(core.find(job)))
        facts, live = answers.facts_of(answer.job), core.live(answer.job)
        reader = known.named(facts.cli).reader(facts.format)
        at = await anyio.to_thread.run_sync(answers.feed, core, answer.job, reader)
        found = watched(answer, reader.marks, after, limit, structured=isinstance(reader, Lines))
        seen = waits_after(after, facts.attempt)
        news = found.last > seen or found.more
        if news or live is None or answer.status is not Status.RUNNING or anyio.current_time() >= until:
            return found
        with anyio.move_on_at(until):
            await _further(core, live, reader, at)


async def _further(core: Core, live: Live, reader: Reader, at: int) -> None:
    """Return when the output tells of another step, or the job started or is over."""
    last, waited = reader.marks[-1:], isinstance(live.job.phase, Queued)
    with watching(live):
        while not live.ended and reader.marks[-1:] == last:
            with heard([live.output, live.changed]) as alarm:
                if waited is not isinstance(live.job.phase, Queued):
                    return
                piece = slice_at(core, live.job, Stream.OUT, at, _PIECE)
                reader.feed(piece.data)
                at = piece.next
                if not piece.data and not live.ended:
                    await alarm.wait()
            await anyio.lowlevel.checkpoint()
