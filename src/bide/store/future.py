"""What a write is answered with: a future as the standard library's, less what no write needs.

Nobody can cancel a write, and hardly ever does a thread wait for one. A future that is ready for both has a condition of
its own, and costs a job's two writes more than their places in the queue do (docs/decisions/027-futures-of-our-own.md).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")

_LOCK = threading.Lock()
"""Of all futures: it is held for as long as it takes to look at one."""


class Future(Generic[T]):
    """Settled once, by the writing thread; looked at and heard by anybody."""

    __slots__ = ("_callbacks", "_done", "_failure", "_result")

    _result: T

    def __init__(self) -> None:
        """Not settled."""
        self._done = False
        self._failure: Exception | None = None
        self._callbacks: list[Callable[[Future[T]], object]] = []

    def set_result(self, result: T) -> None:
        """The write is done, and this came of it."""
        self._result = result
        self._settle()

    def set_exception(self, failure: Exception) -> None:
        """The write is not done."""
        self._failure = failure
        self._settle()

    def _settle(self) -> None:
        with _LOCK:
            self._done = True
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            self._tell(callback)

    def _tell(self, callback: Callable[[Future[T]], object]) -> None:
        try:
            callback(self)
        except Exception:
            log.exception("something went wrong after a write; going on")

    def add_done_callback(self, callback: Callable[[Future[T]], object]) -> None:
        """Call this when it is settled, in the writing thread; at once if it is."""
        with _LOCK:
            if not self._done:
                self._callbacks.append(callback)
                return
        self._tell(callback)

    def done(self) -> bool:
        """Whether it is settled."""
        return self._done

    def exception(self) -> Exception | None:
        """Why the write was not done; `None` if it was. Waits until it is settled."""
        if not self._done:
            settled = threading.Event()
            self.add_done_callback(lambda _: settled.set())
            settled.wait()
        return self._failure

    def result(self) -> T:
        """What came of the write, or what stood in its way. Waits until it is settled."""
        failure = self.exception()
        if failure is not None:
            raise failure
        return self._result
