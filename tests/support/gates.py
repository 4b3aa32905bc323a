"""A gate: what a job of a test waits at, so that `running` is a fact and not a guess."""

import os
from pathlib import Path


class Gate:
    """A FIFO that a job reads a line from; it never sees its end before the test's."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)

    @property
    def wait(self) -> str:
        """Shell words that wait for the gate; the line that opened it is then in $line."""
        return f"read -r line < '{self.path}'"

    def open(self, line: str = "") -> None:
        """Let one job through."""
        os.write(self._fd, f"{line}\n".encode())

    def close(self) -> None:
        """Give it up."""
        os.close(self._fd)
