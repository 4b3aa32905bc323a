"""Where everything that can wake the runtime arrives: ends of keepers, their notes, commits of the store.

One epoll, one task. No polling, no timers.
"""

from __future__ import annotations

import os
import select
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

import anyio

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

    def _run_due(self) -> None:
        os.eventfd_read(self._wake)
        while self._due:
            self._due.popleft()()

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
            await anyio.wait_readable(self._epoll.fileno())
            for fd, _ in self._epoll.poll(0):
                handler = self._handlers.get(fd)
                if handler is not None:
                    handler()

    def close(self) -> None:
        """Let go of the descriptors."""
        self._epoll.close()
        os.close(self._wake)
