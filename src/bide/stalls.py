"""Measures how long the event loop is held at a stretch, and by what: meanwhile nobody else is answered."""

from __future__ import annotations

import asyncio
import selectors
import time
import types
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable
from time import perf_counter as now
from typing import Any, TypeVar

from anyio.lowlevel import checkpoint
from msgspec import Struct
from msgspec.structs import replace

LIMIT = 0.02
"""So many seconds at a stretch are a stall."""
_TURN = 0.004
_KINDS_MOST = 200
_OTHER = "other work"
_THREADS = "other threads"

T = TypeVar("T")


class Stall(Struct, frozen=True):
    """The stalls of one kind of work."""

    what: str
    """A route, a method of MCP, or a part of the runtime."""
    longest_ms: float
    """The longest of them, by the clock; on a busy machine this is also time in which others ran."""
    cpu_ms: float
    """The most that one of them computed: it includes what else was done since the loop last waited."""
    times: int


class Meter:
    """The stalls of one event loop. Costs two looks at a clock for each step of what is measured."""

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self.reset()

    def reset(self) -> None:
        """Forget what was seen."""
        self.longest = 0.0
        self.longest_of = ""
        self._stalls: dict[str, Stall] = {}
        self._woke = now()
        self._cpu = time.thread_time()
        self._process = time.process_time()
        self._measured = 0.0

    def woke(self, late: float = 0.0) -> None:
        """Note that the loop begins a turn, so many seconds after it was due: another thread had the interpreter."""
        self._woke = now()
        if late > LIMIT:
            # This thread waited; what the whole process computed, others did.
            self._note(_THREADS, late, time.process_time() - self._process)

    def rests(self) -> None:
        """Note that the loop is about to wait for something to do."""
        took = now() - self._woke - self._measured
        if took > self.longest or took > LIMIT:
            self._note(_OTHER, took, time.thread_time() - self._cpu)
        self._measured = 0.0
        self._cpu = time.thread_time()
        self._process = time.process_time()

    def step(self, what: str, took: float) -> None:
        """Note how long something held the loop."""
        self._measured += took
        if took > self.longest or took > LIMIT:
            self._note(what, took, time.thread_time() - self._cpu)

    def beside(self, what: str, computed: float) -> None:
        """Note how long a thread computed without letting go of the interpreter, which the loop needs as well."""
        if computed > LIMIT:
            self._note(what, computed, computed)

    def _note(self, what: str, took: float, computed: float) -> None:
        if took > self.longest:
            self.longest, self.longest_of = took, what
        if took <= LIMIT or (what not in self._stalls and len(self._stalls) == _KINDS_MOST):
            return
        cpu = min(computed, took) * 1000
        known = self._stalls.get(what) or Stall(what, 0, 0, 0)
        self._stalls[what] = replace(
            known,
            longest_ms=round(max(known.longest_ms, took * 1000), 1),
            cpu_ms=round(max(known.cpu_ms, cpu), 1),
            times=known.times + 1,
        )

    def to_json(self) -> dict[str, Any]:
        """Return what was seen, the longest stall first."""
        stalls = sorted(self._stalls.values(), key=lambda stall: -stall.longest_ms)
        return {
            "limit_ms": LIMIT * 1000,
            "longest_ms": round(self.longest * 1000, 1),
            "longest_of": self.longest_of,
            "over_limit": [
                {"what": one.what, "longest_ms": one.longest_ms, "cpu_ms": one.cpu_ms, "times": one.times}
                for one in stalls
            ],
        }


METER = Meter()
"""That of this process: a daemon has one event loop."""


async def held(what: str, work: Coroutine[Any, Any, T]) -> T:
    """Do some work, and measure how long each of its steps holds the event loop."""
    return await _steps(what, work)


async def measured(what: str, act: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> T:
    """Do some work in a task of its own, and measure it likewise."""
    return await held(what, act(*args))


@types.coroutine
def _steps(what: str, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
    resume: Any = work.send
    given: Any = None
    while True:
        began = now()
        try:
            awaited = resume(given)
        except StopIteration as end:
            return end.value
        finally:
            METER.step(what, now() - began)
            given = None  # an error that keeps this frame would keep itself, and all that its frames hold
        try:
            given, resume = (yield awaited), work.send
        except BaseException as error:  # noqa: BLE001 - the work is told, and it decides
            given, resume = error, work.throw


class _Selector(selectors.DefaultSelector):
    """Tells the meter when the event loop waits."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for something to do."""
        METER.rests()
        began = now()
        found = super().select(timeout)
        # Nobody knows since when what was found is ready. Where nothing was, the time to wait was the timeout.
        METER.woke(0.0 if timeout is None or (found and timeout) else now() - began - timeout)
        return found


def measured_loop() -> asyncio.AbstractEventLoop:
    """Return an event loop that is measured."""
    return asyncio.SelectorEventLoop(_Selector())


async def in_turns(items: Iterable[T]) -> AsyncGenerator[T]:
    """Go through many items, and let others have the event loop every few milliseconds."""
    began = now()
    for item in items:
        yield item
        if now() - began > _TURN:
            await checkpoint()
            began = now()
