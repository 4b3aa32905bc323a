"""Where everything that can wake the runtime arrives: ends of keepers, their notes, commits of the store.

One epoll, one task. No polling; a timer only for what failed and is tried again.
"""

from __future__ import annotations

import heapq
import logging
import os
import select
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from itertools import count
from typing import TypeVar

import anyio

log = logging.getLogger(__name__)

T = TypeVar("T")


class Bell:
    """Wakes everybody who waits for a change, once each."""

    def __init__(self) -> None:
        """Nobody waits yet."""
        self._events: set[anyio.Event] = set()

    def ring(self) -> None:
        """Wake all who wait now."""
        events, self._events = self._events, set()
        for event in events:
            event.set()

    def tell(self, event: anyio.Event) -> None:
        """Set this event at the next ring."""
        self._events.add(event)

    def leave(self, event: anyio.Event) -> None:
        """No longer set this event."""
        self._events.discard(event)


class Hub:
    """Descriptors and what to do when they are readable."""

    def __init__(self) -> None:
        """Ready to watch; `run` serves it."""
        self._epoll = select.epoll()
        self._handlers: dict[int, Callable[[], None]] = {}
        self._due: deque[Callable[[], None]] = deque()
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.watch(self._wake, self._run_due)

    def watch(self, fd: int, handler: Callable[[], None]) -> None:
        """Call the handler whenever the descriptor is readable."""
        self._handlers[fd] = handler
        self._epoll.register(fd, select.EPOLLIN)

    def unwatch(self, fd: int) -> None:
        """Stop watching; the descriptor stays open."""
        if self._handlers.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def call_soon(self, function: Callable[[], None]) -> None:
        """Run a function in the event loop; callable from any thread."""
        self._due.append(function)
        os.eventfd_write(self._wake, 1)

    def call_later(self, seconds: float, function: Callable[[], None]) -> None:
        """Run a function in the event loop, after a while."""
        heapq.heappush(self._later, (time.monotonic() + seconds, next(self._order), function))
        os.eventfd_write(self._wake, 1)

    def _run_due(self) -> None:
        os.eventfd_read(self._wake)
        while self._due:
            _guarded(self._due.popleft())

    async def settled(self, future: Future[T]) -> T:
        """The result of a write, once it is committed."""
        if not future.done():
            event = anyio.Event()
            future.add_done_callback(lambda _: self.call_soon(event.set))
            await event.wait()
        return future.result()

    async def run(self) -> None:
        """Serve for ever."""
        while True:
            await self._readable()
            while self._later and self._later[0][0] <= time.monotonic():
                _guarded(heapq.heappop(self._later)[2])
            ready = [(fd, self._handlers.get(fd)) for fd, _ in self._epoll.poll(0)]
            for fd, handler in ready:
                # One handler may close what the next event was about, and the number may be another descriptor's by now.
                if handler is not None and self._handlers.get(fd) is handler:
                    _guarded(handler)

    async def _readable(self) -> None:
        if not self._later:
            await anyio.wait_readable(self._epoll.fileno())
            return
        with anyio.move_on_after(self._later[0][0] - time.monotonic()):
            await anyio.wait_readable(self._epoll.fileno())

    def close(self) -> None:
        """Let go of the descriptors."""
        self._epoll.close()
        os.close(self._wake)


def _guarded(function: Callable[[], None]) -> None:
    """One job's trouble is not the others'."""
    try:
        function()
    except Exception:
        log.exception("something went wrong; going on")
