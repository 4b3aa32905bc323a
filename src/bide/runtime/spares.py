"""Spare keepers: made ahead, each in a folder of its own, so that a job that comes finds one waiting.

Nothing depends on them: without one, a job has its keeper made as it comes. docs/keeper.md says how one is given a job.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable

from bide.keeper import folder, launch
from bide.runtime.hub import Hub

PREFIX = "spare-"
"""How the folder of a spare is called in `new`."""
_PAUSE = 0.01
_LEAVE_SECONDS = 2.0


class Spares:
    """The spare keepers of one runtime, the oldest first."""

    def __init__(self, new: str, hub: Hub, ask: Callable[[int, str], None], wanted: int) -> None:
        """`ask(number, new)` has them made; as many as are `wanted` are kept once there has been a job."""
        self._new = new
        self._hub = hub
        self._ask = ask
        self._wanted = wanted
        self._asked = 0
        self._due = False
        self._waiting: dict[str, int] = {}
        """Their pidfds, by folder."""

    def made(self, path: str, fd: int) -> None:
        """The nursery has made one that was asked for; without a pidfd it could not, or nobody could watch it."""
        self._asked -= 1
        if fd >= 0:
            self._waiting[path] = fd

    def take(self, path: str) -> int | None:
        """Have a spare's folder moved to this path; the pidfd of the keeper in it, or `None` if no spare is ready."""
        try:
            for spare in list(self._waiting):
                with contextlib.suppress(OSError):
                    os.rename(spare, path)
                    return self._waiting.pop(spare)
                self._look_at(spare)
            return None
        finally:
            self._refill()

    def _look_at(self, spare: str) -> None:
        """It has no folder to give away: it is being made, or something befell it."""
        unready = f"{spare}.new"
        if launch.is_over(self._waiting[spare]) or not os.path.exists(unready):
            launch.discard(self._waiting.pop(spare))
            folder.remove(unready)

    def _refill(self) -> None:
        """Once half of them are used, have the others made, a moment later: those who wait for a job come first."""
        if not self._due and (len(self._waiting) + self._asked) * 2 <= self._wanted > 0:
            self._due = True
            self._hub.call_later(_PAUSE, self._fill)

    def _fill(self) -> None:
        self._due = False
        missing = self._wanted - len(self._waiting) - self._asked
        with contextlib.suppress(OSError):
            self._ask(missing, self._new)
            self._asked += missing

    def forget(self) -> None:
        """Their nursery is gone, so they leave by themselves."""
        deadline = time.monotonic() + _LEAVE_SECONDS
        for fd in self._waiting.values():
            launch.is_over(fd, deadline - time.monotonic())
            os.close(fd)
        self._waiting.clear()
        self._asked = 0
