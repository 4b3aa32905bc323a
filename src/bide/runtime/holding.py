"""Jobs that are to start at a time: held until then."""

from __future__ import annotations

import time
from collections.abc import Callable

from bide.runtime.hub import Hub
from bide.runtime.live import Live


def held(hub: Hub, live: Live, start: Callable[[Live], None]) -> bool:
    """Whether it is not yet time for a job; `start` is then called when it is, unless the job has ended by then."""
    at = live.job.spec.turn.at
    seconds = 0.0 if at is None else at.timestamp() - time.time()
    if seconds <= 0:
        return False

    def due() -> None:
        if live.held and not live.ended:
            live.held = False
            start(live)

    # No keeper is in its folder, so that it may be moved as soon as its row is there.
    live.held = live.entered = True
    hub.call_later(seconds, due)
    return True
