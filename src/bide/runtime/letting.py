"""Letting go of queued jobs: on disk first, by a thread, since a sync takes its time; then their keepers are asked for."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from bide.keeper import holding, launch
from bide.runtime.keeping import Keeping
from bide.runtime.live import Live

log = logging.getLogger(__name__)


class Letting:
    """The thread, and what follows."""

    def __init__(self, keeping: Keeping) -> None:
        """Started when it is first needed."""
        self._keeping = keeping
        self._thread: ThreadPoolExecutor | None = None

    def go(self, live: Live, failed: Callable[[BaseException], None]) -> None:
        """Have a job started that waited for its turn; `failed` is called with the error if that is not possible now."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "bide-queue")
        groups = self._keeping.groups
        done = self._thread.submit(holding.let_go, live.path, launch.boot_identity(), live.job, groups)
        done.add_done_callback(lambda done: self._keeping.hub.call_soon(lambda: self._begin(live, done, failed)))

    def _begin(self, live: Live, done: Future[None], failed: Callable[[BaseException], None]) -> None:
        error = done.exception()
        try:
            if error is None:
                live.open_escrow()
        except OSError as full:
            error = full
        if error is None or isinstance(error, FileNotFoundError):
            self._keeping.recover(live)
        else:
            log.warning("%s cannot start now (%s); it is tried again", live.job.id, error)
            failed(error)

    def close(self) -> None:
        """Finish what was begun; who was let go and not yet started is started by the next runtime."""
        if self._thread is not None:
            self._thread.shutdown()
            self._thread = None
