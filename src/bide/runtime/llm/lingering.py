"""A CLI that has said its result and does not leave is ended; what it said stands.

Its output is read as it comes, for the line that is its last word; nothing is kept of it.
"""

from __future__ import annotations

import logging
import signal
from datetime import timedelta

import anyio
import anyio.lowlevel

from bide.kinds.llm import known
from bide.model.errors import BideError
from bide.model.llm.answer import LINGERED
from bide.model.output import Stream
from bide.model.phase import Queued
from bide.runtime import ending, starting
from bide.runtime.core import Core
from bide.runtime.hub import heard
from bide.runtime.live import Live
from bide.runtime.readiness import until
from bide.runtime.reading import slice_at, watching

log = logging.getLogger(__name__)

_PIECE = 256 * 1024


def watch(core: Core, live: Live, linger: timedelta) -> None:
    """See to it that this request does not outlive its result by more than this."""
    facts = live.job.spec.ask
    cli = None if facts is None else known.clis().get(facts.cli)
    if facts is not None and cli is not None and facts.format in cli.streaming:
        core.spawn(lambda: _watch(core, live, linger))


async def _watch(core: Core, live: Live, linger: timedelta) -> None:
    if live.inserted is not None:
        await starting.accepted(core, live.inserted)
        core.keeping.accepted(live)
    await until(live, lambda: not isinstance(live.job.phase, Queued))
    if not await _said_all(core, live):
        return
    await until(live, lambda: live.ended, linger.total_seconds())
    if not live.ended:
        log.info("%s said its result and lingers; it is ended", live.job.id)
        try:
            await ending.kill(core, live.job.id, signal.SIGTERM, live.job.spec.limits.grace, LINGERED)
        except (BideError, OSError) as error:
            log.warning("%s lingers and could not be ended: %s", live.job.id, error)


async def _said_all(core: Core, live: Live) -> bool:
    """Return when its last word was read, or it is over."""
    facts = live.job.spec.ask
    assert facts is not None  # noqa: S101 - watched for that
    reader, at = known.named(facts.cli).reader(facts.format), 0
    with watching(live):
        while not live.ended:
            with heard([live.output, live.changed]) as alarm:
                piece = slice_at(core, live.job, Stream.OUT, at, _PIECE)
                reader.feed(piece.data)
                at = piece.next
                if reader.final:
                    return True
                if not piece.data and not live.ended:
                    await alarm.wait()
            await anyio.lowlevel.checkpoint()
    return False
