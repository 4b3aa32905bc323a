"""A home whose daemon, keepers and clients can be killed: what crash tests do to it, and how they look at it."""

import os
import secrets
import signal
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.crash import tally
from tests.crash.patience import PATIENCE, until
from tests.crash.world import World

from bide.client.blocking import Link
from bide.client.start import try_connect
from bide.keeper import folder, launch
from bide.model.errors import DaemonUnavailable

Json = dict[str, Any]

ENV = {"PATH": os.environ["PATH"]}
"""The whole environment of a job here."""
_CHUNK = 1 << 20


class Place:
    """One home."""

    def __init__(self, path: Path, **env: str) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.home = path / "home"
        self.world = World(path, **env)
        self.daemon = 0
        self._lock = threading.RLock()

    def close(self) -> None:
        self.world.close()
        tally.write()

    # What dies.

    def start(self) -> None:
        """Return when a daemon answers."""
        deadline = time.monotonic() + PATIENCE
        with self._lock:
            while not self._answers():
                assert time.monotonic() < deadline, "no daemon comes up"
                if not self.daemon or self.world.status(self.daemon) is not None:
                    self.daemon = self.world.start(self.command)
                until(lambda: self._answers() or self.world.status(self.daemon) is not None)

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-P", "-m", "bide.daemon", "--home", str(self.home)]

    def _answers(self) -> bool:
        try:
            sock = try_connect(str(self.home))
        except DaemonUnavailable:
            return False
        if sock is not None:
            sock.close()
        return sock is not None

    def kill_daemon(self) -> None:
        """Nothing is waited for but its end."""
        with self._lock:
            if self.daemon:
                self.world.kill(self.daemon)
                tally.count("kills of the daemon")

    def restart(self) -> None:
        self.kill_daemon()
        self.start()

    def keeper(self, job: str) -> int | None:
        """The pid of the job's keeper, if it has one at this moment."""
        return launch.holder(str(self.where(job)))

    def kill_keeper(self, job: str, number: int = signal.SIGKILL) -> bool:
        """Signal the keeper that holds the job's lock, and no other process; False if there is none."""
        found = launch.live_keeper(str(self.where(job)))
        if found is None:
            return False
        try:
            signal.pidfd_send_signal(found[1], number)
        except ProcessLookupError:
            return False
        finally:
            os.close(found[1])
        if number == signal.SIGKILL:
            tally.count("kills of keepers")
        return True

    # What is asked.

    def call(self, method: str, path: str, body: Json | None = None, **query: str | int) -> Json:
        """An answer, from the next daemon if this one dies meanwhile."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                with closing(Link(str(self.home), starts=False)) as link:
                    return link.call(method, path, body, query)
            except DaemonUnavailable:
                assert time.monotonic() < deadline
                self.start()

    def submit(self, argv: Sequence[str] | str, **options: Any) -> str:
        """The id of a new job that runs; the same key gives the same job."""
        command = argv if isinstance(argv, str) else list(argv)
        body: Json = {"command": command, "cwd": str(self.path), "base_env": ENV, "background": True}
        body |= {"key": secrets.token_hex(8), **options}
        ran = self.call("POST", "/v1/jobs", body)
        if not ran["joined"]:
            tally.count("jobs")
        return ran["job"]["id"]

    def job(self, job: str) -> Json:
        return self.call("GET", f"/v1/jobs/{job}")

    def ends(self, jobs: Sequence[str], within: float = PATIENCE) -> list[Json]:
        """The jobs, once all are over."""
        body: Json = {"jobs": list(jobs), "mode": "all", "timeout_ms": int(within * 1000)}
        waited = self.call("POST", "/v1/wait", body)
        running = [job["id"] for job in waited["jobs"] if job["phase"] != "ended"]
        assert not running, f"{len(running)} still run: {running[:5]}"
        return waited["jobs"]

    def end(self, job: str, within: float = PATIENCE) -> Json:
        return self.ends([job], within)[0]

    def send(self, job: str, text: str = "", *, eof: bool = False) -> None:
        self.call("POST", f"/v1/jobs/{job}/send", {"text": text, "eof": eof})

    def output(self, job: str, stream: str = "out") -> bytes:
        """All that a stream holds, joined from successive reads."""
        joined, path = b"", f"/v1/jobs/{job}/output"
        with closing(Link(str(self.home), starts=False)) as link:
            while data := link.raw(
                "GET", path, query={"stream": stream, "offset": len(joined), "limit": _CHUNK}
            ).take():
                joined += data
        tally.count("bytes", len(joined))
        return joined

    # What is on disk.

    def where(self, job: str) -> Path:
        found = self.home / "jobs" / job
        return found if found.exists() else self.home / "new" / job

    def started(self, job: str) -> folder.Started:
        found = folder.read_started(str(self.where(job)))
        assert found is not None
        return found
