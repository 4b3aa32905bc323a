"""A world of its own for a test: every process it starts is below one that acts as init, and ends with it."""

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.crash.patience import PATIENCE, until

INIT = Path(__file__).with_name("init.py")


class World:
    """Starts processes, knows which are over, and leaves none behind."""

    def __init__(self, folder: Path, **env: str) -> None:
        self.said = folder / "said"
        self.env = {**os.environ, **env}
        self._statuses: dict[int, int] = {}
        self._answers: list[int] = []
        self._heard = b""
        self._lock = threading.RLock()
        words = [sys.executable, "-I", "-S", str(INIT)]
        self._init = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._init.stdout is not None
        os.set_blocking(self._init.stdout.fileno(), False)

    def start(self, argv: Sequence[str], **env: str) -> int:
        """The pid of a new process."""
        order = {"argv": list(argv), "env": self.env | env, "said": str(self.said)}
        with self._lock:
            assert self._init.stdin is not None
            self._init.stdin.write(json.dumps(order).encode() + b"\n")
            self._init.stdin.flush()
            deadline = time.monotonic() + PATIENCE
            while not self._answers:
                assert time.monotonic() < deadline, "init does not answer"
                self._listen(0.05)
            return self._answers.pop()

    def status(self, pid: int) -> int | None:
        """How a process that was started here ended; `None` while it runs."""
        with self._lock:
            self._listen(0)
            return self._statuses.get(pid)

    def end_of(self, pid: int, within: float = PATIENCE) -> int:
        """How a process ended, once it has."""
        until(lambda: self.status(pid) is not None, within)
        return self._statuses[pid]

    def signal(self, pid: int, number: int) -> None:
        """Signal a process that was started here, unless it is over."""
        with self._lock:
            if self.status(pid) is None:
                with suppress(ProcessLookupError):  # whoever it fell to has collected it since
                    os.kill(pid, number)

    def kill(self, pid: int) -> None:
        """End a process that was started here as a crash would."""
        self.signal(pid, signal.SIGKILL)
        self.end_of(pid)

    def close(self) -> None:
        """End everything."""
        with self._lock:
            self._init.communicate(timeout=PATIENCE)

    def _listen(self, seconds: float) -> None:
        assert self._init.stdout is not None
        select.select([self._init.stdout], [], [], seconds)
        self._heard += self._init.stdout.read() or b""
        *lines, self._heard = self._heard.split(b"\n")
        for line in lines:
            facts: dict[str, int] = json.loads(line)
            if "status" in facts:
                self._statuses[facts["pid"]] = facts["status"]
            else:
                self._answers.append(facts["pid"])
