"""Processes that not even KILL ends, for a test: frozen by a cgroup v1 freezer until they are thawed."""

import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.support import processes
from tests.support.patience import PATIENCE

ROOT = Path("/sys/fs/cgroup/freezer")


class Freezer:
    """A control group whose processes do nothing until it is closed, not even end."""

    def __init__(self) -> None:
        self._path = ROOT / f"bide-test-{secrets.token_hex(4)}"
        self._path.mkdir()

    def freeze(self, *pids: int) -> None:
        """Freeze these; returns when they are."""
        for pid in pids:
            (self._path / "tasks").write_text(str(pid))
        (self._path / "freezer.state").write_text("FROZEN")
        _until(lambda: (self._path / "freezer.state").read_text() == "FROZEN\n")

    def thaw(self) -> None:
        """Let them go on: what was killed meanwhile ends."""
        (self._path / "freezer.state").write_text("THAWED")

    def close(self) -> None:
        """Thaw, end what is left, and remove the group."""
        self.thaw()
        for pid in (self._path / "tasks").read_text().split():
            processes.end(int(pid))
        _until(lambda: not (self._path / "tasks").read_text())
        self._path.rmdir()


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)
