"""Ctrl-C without losing a byte: it is felt only where nothing is half done."""

import select
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType


class Interrupts:
    """While entered, SIGINT raises KeyboardInterrupt only in `poll`; a second one before that, anywhere.

    A SIGINT that is ignored stays ignored, as in a background job of a script.
    """

    def __init__(self) -> None:
        """Not installed yet."""
        self._pending = False
        self._may_raise = False
        self._before = signal.getsignal(signal.SIGINT)

    def __enter__(self) -> "Interrupts":
        """Take SIGINT over."""
        if self._before is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._arrived)
        return self

    def __exit__(self, *_: object) -> None:
        """Give it back."""
        signal.signal(signal.SIGINT, self._before)

    def poll(self, fds: list[int], seconds: float | None = None) -> list[int]:
        """The descriptors that can be read, after at most this long; raises KeyboardInterrupt."""
        poller = select.poll()
        for fd in fds:
            poller.register(fd, select.POLLIN)
        self._may_raise = True
        try:
            if self._pending:
                self._pending = False
                raise KeyboardInterrupt
            ready = poller.poll(None if seconds is None else max(0, int(seconds * 1000) + 1))
        finally:
            self._may_raise = False
        return [fd for fd, _ in ready]

    def _arrived(self, _number: int, _frame: "FrameType | None") -> None:
        if self._may_raise or self._pending:
            self._may_raise = self._pending = False
            raise KeyboardInterrupt
        self._pending = True
