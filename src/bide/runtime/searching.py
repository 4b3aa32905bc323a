"""Searching output for an expression: in threads, a slice of time each, so that no search keeps others waiting."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread
from anyio import CapacityLimiter

from bide.model.expression import Expression
from bide.stalls import METER

THREADS = 2
"""How many searches run at once."""
_SLICE_SECONDS = 0.25

Found = TypeVar("Found")
Due = Callable[[], bool]
"""Return true when a slice of time is over."""


class Searches:
    """The threads that searches share: first come, first served, a slice at a time."""

    def __init__(self) -> None:
        """Start no thread yet."""
        self._threads = CapacityLimiter(THREADS)

    async def compiled(self, words: str) -> Expression:
        """Return an expression, ready to be looked for. Raises BadRequest."""
        return await anyio.to_thread.run_sync(_compiled, words, limiter=self._threads)

    async def through(self, look: Callable[[Due], Found | None]) -> Found:
        """Call a function, a slice of time after the other, until it finds something; it returns `None` when its time is due."""
        while True:
            found = await anyio.to_thread.run_sync(_slice, look, limiter=self._threads)
            if found is not None:
                return found


def _compiled(words: str) -> Expression:
    began = time.thread_time()
    try:
        return Expression(words)
    finally:
        # RE2 keeps the interpreter meanwhile: the loop could not go on.
        METER.beside("compiling an expression", time.thread_time() - began)


def _slice(look: Callable[[Due], Found | None]) -> Found | None:
    due = time.monotonic() + _SLICE_SECONDS
    return look(lambda: time.monotonic() >= due)
