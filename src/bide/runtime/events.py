"""The stream of events: from the store, woken by the runtime."""

from __future__ import annotations

from collections.abc import AsyncIterator

from bide.model.event import Event
from bide.runtime.core import Core
from bide.runtime.hub import heard

_BATCH = 200


class LocalEvents:
    """Implements api.Events in this process."""

    def __init__(self, core: Core) -> None:
        """Beside the LocalJobs of the same core."""
        self._core = core

    async def newest(self) -> int:
        """See api.Events.newest."""
        return self._core.store.last_event()

    def follow(self, *, after: int | None = None, job: str | None = None) -> AsyncIterator[Event]:
        """See api.Events.follow."""
        at = self._core.store.last_event() if after is None else after
        return self._follow(at, None if job is None else self._core.find(job).id)

    async def _follow(self, at: int, wanted: str | None) -> AsyncIterator[Event]:
        while True:
            with heard([self._core.keeping.events]) as alarm:
                found = self._core.store.events(at, _BATCH, wanted)
                if not found:
                    await alarm.wait()
            for one in found:
                at = one.seq
                yield one
