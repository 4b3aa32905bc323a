"""Ctrl-C without losing a byte: it is felt only where nothing is half done."""

import os
import select
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType


class Interrupts:
    """While entered, SIGINT raises KeyboardInterrupt only in `poll`; a second one before that, anywhere.

    A SIGINT that is ignored stays ignored, as in a background job of a script. One that comes in the instant before `poll`
    begins to wait interrupts no system call; it is told through a pipe, or it would be felt at the next output only.
    """

    def __init__(self) -> None:
        """Not installed yet."""
        self._pending = False
        self._may_raise = False
        self._before = signal.getsignal(signal.SIGINT)
        self._told = self._tells = self._told_before = -1

    def __enter__(self) -> "Interrupts":
        """Take SIGINT over."""
        self._told, self._tells = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._before is not signal.SIG_IGN:
            self._told_before = signal.set_wakeup_fd(self._tells, warn_on_full_buffer=False)
            signal.signal(signal.SIGINT, self._arrived)
        return self

    def __exit__(self, *_: object) -> None:
        """Give it back."""
        if self._before is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._before)
            signal.set_wakeup_fd(self._told_before)
        os.close(self._told)
        os.close(self._tells)

    def poll(self, fds: list[int], seconds: float | None = None) -> list[int]:
        """The descriptors that can be read, after at most this long; raises KeyboardInterrupt."""
        poller = select.poll()
        for fd in (*fds, self._told):
            poller.register(fd, select.POLLIN)
        self._may_raise = True
        try:
            while True:
                if self._pending:
                    self._pending = False
                    raise KeyboardInterrupt
                ready = [fd for fd, _ in poller.poll(None if seconds is None else max(0, int(seconds * 1000) + 1))]
                if self._told not in ready:
                    return ready
                # Of an interrupt that was felt before, or that is felt here.
                os.read(self._told, 1024)
        finally:
            self._may_raise = False

    def _arrived(self, _number: int, _frame: "FrameType | None") -> None:
        if self._may_raise or self._pending:
            self._may_raise = self._pending = False
            raise KeyboardInterrupt
        self._pending = True
