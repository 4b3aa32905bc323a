"""A request that waits too long for its turn is given up, where that is wanted."""

from __future__ import annotations

import logging
import signal
from datetime import timedelta

from bide.model.errors import BideError
from bide.model.llm.answer import WAITED
from bide.model.phase import Queued
from bide.runtime import ending
from bide.runtime.core import Core, now
from bide.runtime.live import Live
from bide.runtime.readiness import until

log = logging.getLogger(__name__)


def watch(core: Core, live: Live, most: timedelta) -> None:
    """See to it that a request waits for its turn no longer than this; another attempt waits for its own time."""
    facts = live.job.spec.ask
    if most and facts is not None and facts.retry_of is None and isinstance(live.job.phase, Queued):
        core.spawn(lambda: _watch(core, live, most))


async def _watch(core: Core, live: Live, most: timedelta) -> None:
    left = most - (now() - live.job.created_at)
    await until(live, lambda: not isinstance(live.job.phase, Queued), left.total_seconds())
    if isinstance(live.job.phase, Queued) and live.held:
        try:
            await ending.kill(core, live.job.id, signal.SIGTERM, live.job.spec.limits.grace, WAITED)
        except (BideError, OSError) as error:
            log.warning("%s waits too long and could not be given up: %s", live.job.id, error)
