"""Where everything that can wake the runtime arrives: ends of keepers, their notes, commits of the store.

The event loop's own readers, without a task between: they cost a fraction of waiting in one. No polling; a timer only
for what failed and is tried again.
"""

from __future__ import annotations

import asyncio  # noqa: TID251 - see docs/decisions/005-anyio.md
import logging
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from time import perf_counter as now
from typing import Any, Protocol, TypeVar

from bide.stalls import LIMIT, METER

log = logging.getLogger(__name__)

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Settling(Protocol[T_co]):
    """What the disk does for us in another thread: a write of the store, or of a file."""

    def done(self) -> bool:
        """Whether it is over."""
        ...

    def add_done_callback(self, callback: Callable[[Any], object], /) -> None:
        """Call this when it is."""
        ...

    def result(self) -> T_co:
        """What came of it."""
        ...


class Bell:
    """Wakes everybody who waits for a change, once each."""

    __slots__ = ("_alarms",)

    def __init__(self) -> None:
        """Nobody waits yet."""
        self._alarms: set[Alarm] = set()

    def ring(self) -> None:
        """Wake all who wait now."""
        if self._alarms:
            alarms, self._alarms = self._alarms, set()
            for alarm in alarms:
                alarm.set()

    def tell(self, alarm: Alarm) -> None:
        """Set this alarm at the next ring."""
        self._alarms.add(alarm)

    def leave(self, alarm: Alarm) -> None:
        """No longer set this alarm."""
        self._alarms.discard(alarm)


class Alarm:
    """What one task waits for: the loop's own future, which costs half of an event, and its time limit a third of a scope."""

    __slots__ = ("_future", "_loop")

    def __init__(self) -> None:
        """Not set yet; made where an event loop runs."""
        self._loop = asyncio.get_running_loop()
        self._future: asyncio.Future[None] = self._loop.create_future()

    def set(self) -> None:
        """Wake who waits for it."""
        if not self._future.done():
            self._future.set_result(None)

    async def wait(self, seconds: float | None = None) -> None:
        """Return when it is set, or the time is up."""
        timer = None if seconds is None else self._loop.call_later(seconds, self.set)
        try:
            await self._future
        finally:
            if timer is not None:
                timer.cancel()


class _Hearing:
    """A class rather than a generator: every wait enters one, and it costs a third."""

    __slots__ = ("_alarm", "_bells")

    def __init__(self, bells: Sequence[Bell]) -> None:
        self._bells = bells
        self._alarm = Alarm()

    def __enter__(self) -> Alarm:
        for bell in self._bells:
            bell.tell(self._alarm)
        return self._alarm

    def __exit__(self, *_: object) -> None:
        for bell in self._bells:
            bell.leave(self._alarm)


def heard(bells: Sequence[Bell]) -> _Hearing:
    """While inside, an alarm that the next ring of any bell sets: take it before looking, and no ring is missed."""
    return _Hearing(bells)


class Hub:
    """Descriptors and what to do when they are readable, until it is closed."""

    def __init__(self) -> None:
        """Made where an event loop runs."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._watched: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._elsewhere: deque[Callable[[], None]] = deque()
        self._called = False
        self._closed = False

    def watch(self, fd: int, handler: Callable[[], None]) -> None:
        """Call the handler whenever the descriptor is readable."""
        self._watched.add(fd)
        self._loop.add_reader(fd, self._do, handler)

    def unwatch(self, fd: int) -> None:
        """Stop watching; the descriptor stays open."""
        if fd in self._watched:
            self._watched.discard(fd)
            self._loop.remove_reader(fd)

    def call_soon(self, function: Callable[[], None]) -> None:
        """Run a function in the event loop; callable from any thread."""
        if threading.get_ident() == self._thread:
            self._loop.call_soon(self._do, function)
        else:
            # What other threads ask for meanwhile is done together: to wake the loop costs more than to do it.
            self._elsewhere.append(function)
            if not self._called:
                self._called = True
                with suppress(RuntimeError):  # the loop is gone, and with it whoever would hear of this
                    self._loop.call_soon_threadsafe(self._do_all)

    def call_later(self, seconds: float, function: Callable[[], None]) -> Callable[[], None]:
        """Run a function in the event loop, after a while by a monotonic clock; what is answered takes it back."""
        return self._loop.call_later(seconds, self._do, function).cancel

    def spawn(self, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Do something beside everything else; it is cancelled when the runtime ends."""
        task = self._loop.create_task(self._work(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
        try:
            await work()
        except Exception:
            log.exception("something went wrong in the background; going on")

    async def quit(self) -> None:
        """End what was spawned, and return when it is over."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def settled(self, future: Settling[T]) -> T:
        """The result of a write, once it is committed."""
        if not future.done():
            alarm = Alarm()
            future.add_done_callback(lambda _: self.call_soon(alarm.set))
            await alarm.wait()
        return future.result()

    def close(self) -> None:
        """Watch nothing more, and do nothing that is still due."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        for fd in list(self._watched):
            self.unwatch(fd)

    def _do_all(self) -> None:
        self._called = False  # before the first is taken: who comes after the last calls again
        while self._elsewhere:
            self._do(self._elsewhere.popleft())

    def _do(self, function: Callable[[], None]) -> None:
        """One job's trouble is not the others'."""
        if self._closed:
            return
        began = now()
        try:
            function()
        except Exception:
            log.exception("something went wrong; going on")
        took = now() - began
        METER.step("runtime" if took < LIMIT else f"runtime: {getattr(function, '__qualname__', function)}", took)
