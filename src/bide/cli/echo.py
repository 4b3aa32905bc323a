"""The echo of our terminal: off while what is typed goes to a job's own terminal, which echoes it, or hides a password."""

import os
import termios


class Echo:
    """Is as it was found until `hide`, and again after `show`."""

    def __init__(self) -> None:
        """Not touched yet."""
        self._before: list[int | list[bytes | int]] | None = None

    def hide(self) -> None:
        """What is typed is no longer shown by us."""
        if self._before is None and os.isatty(0) and _is_ours():
            self._before = termios.tcgetattr(0)
            flags = termios.tcgetattr(0)
            flags[3] &= ~termios.ECHO
            termios.tcsetattr(0, termios.TCSANOW, flags)

    def show(self) -> None:
        """As it was found."""
        if self._before is not None and _is_ours():
            termios.tcsetattr(0, termios.TCSANOW, self._before)
            self._before = None


def _is_ours() -> bool:
    """Whether this command may change it: one in the background of a shell would be stopped for trying."""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return True
