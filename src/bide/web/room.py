"""Memory for large answers on their way to peers: a budget that all connections of a server share."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field

import anyio

SMALL = 64 * 1024
"""An answer of up to this many bytes needs no room."""
_BYTES = 32 * 1024 * 1024
SEARCHES = 32
"""So many searches are under way, or found what was not sent yet: each has up to a megabyte of it."""
_PATIENCE = 2.0
"""So many seconds a peer may read nothing while others wait for the room that its answer takes."""


@dataclass(slots=True, eq=False)
class Place:
    """The room that one answer takes."""

    size: int
    cut: Callable[[], None]
    moved_at: float = field(default_factory=time.monotonic)

    def rests(self) -> None:
        """Note that the peer is to read nothing before something moves."""
        self.moved_at = math.inf

    def moved(self) -> None:
        """Note that the peer has read something."""
        self.moved_at = time.monotonic()


class Room:
    """So many bytes at once; who finds no room waits for it, first come, first served."""

    def __init__(self, size: int = _BYTES) -> None:
        """Begin with all of it free."""
        self._free = size
        self._taken: list[Place] = []
        self._freed = anyio.Event()
        self._line = anyio.Lock()

    def is_free(self, size: int) -> bool:
        """Return whether so much can be had at once."""
        return size <= self._free and not self._line.locked()

    @contextlib.asynccontextmanager
    async def of(self, size: int, cut: Callable[[], None]) -> AsyncGenerator[Place]:
        """Have this much room while inside. `cut` hangs up on the peer: for one that reads nothing while others wait."""
        async with self._line:
            while size > self._free and self._taken:
                self._freed = anyio.Event()
                with anyio.move_on_after(_PATIENCE):
                    await self._freed.wait()
                self._cut()
        place = Place(size, cut)
        self._free -= size
        self._taken.append(place)
        try:
            yield place
        finally:
            self._taken.remove(place)
            self._free += size
            self._freed.set()

    def _cut(self) -> None:
        due = time.monotonic() - _PATIENCE
        for place in tuple(self._taken):
            if place.moved_at < due:
                place.cut()
