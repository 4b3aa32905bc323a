"""A home whose daemon, keepers and clients can be killed: what crash tests do to it, and how they look at it."""

import os
import secrets
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from tests.crash import processes, tally
from tests.crash.patience import PATIENCE, until
from tests.crash.world import World

from bide.client.blocking import Link
from bide.client.start import try_connect
from bide.keeper import folder, launch
from bide.model.errors import DaemonUnavailable

Json = dict[str, Any]
T = TypeVar("T")

ENV = {"PATH": os.environ["PATH"]}
"""The whole environment of a job here."""
_CHUNK = 1 << 20
_LOOK_AGAIN = 0.03


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
            while not self.answers():
                assert time.monotonic() < deadline, "no daemon comes up"
                if not self._is_up():
                    self.daemon = self.world.start(self.command)
                until(lambda: self.answers() or not self._is_up())

    def _is_up(self) -> bool:
        """Whether the daemon's process is there; a client may have started it."""
        return bool(self.daemon) and processes.state(self.daemon) not in ("", "Z")

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-P", "-m", "bide.daemon", "--home", str(self.home)]

    def answers(self) -> bool:
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

    def kill_keeper(self, job: str, number: int = signal.SIGKILL) -> int:
        """Signal the keeper that holds the job's lock, and no other process; its pid, or 0 if there is none."""
        found = launch.live_keeper(str(self.where(job)))
        if found is None:
            return 0
        try:
            signal.pidfd_send_signal(found[1], number)
        except ProcessLookupError:
            return 0
        finally:
            os.close(found[1])
        if number == signal.SIGKILL:
            tally.count("kills of keepers")
        return found[0]

    def kill_nursery(self) -> None:
        """The one child of the daemon that makes keepers."""
        (nursery,) = [pid for pid in processes.children_of(self.daemon) if b"-N" in processes.words(pid)]
        os.kill(nursery, signal.SIGKILL)
        tally.count("kills of the nursery")

    # What is asked.

    def _asked(self, ask: Callable[[Link], T]) -> T:
        """An answer, from the next daemon if this one dies meanwhile: the client waits for one, which is started here."""
        deadline = time.monotonic() + PATIENCE
        with self._revived():
            while True:
                try:
                    with closing(Link(str(self.home), starts=False)) as link:
                        return ask(link)
                except DaemonUnavailable:
                    assert time.monotonic() < deadline
                    self.start()

    @contextmanager
    def _revived(self) -> Generator[None]:
        """While inside, a daemon that dies is followed by another."""
        over = threading.Event()

        def revive() -> None:
            while not over.wait(_LOOK_AGAIN):
                if not self._is_up():
                    with suppress(AssertionError):  # who asks says that no daemon came up
                        self.start()

        reviver = threading.Thread(target=revive)
        reviver.start()
        try:
            yield
        finally:
            over.set()
            reviver.join()

    def call(self, method: str, path: str, body: Json | None = None, **query: str | int) -> Json:
        return self._asked(lambda link: link.call(method, path, body, query))

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
        joined = b""
        while data := self.follow(job, len(joined), stream=stream, limit=_CHUNK):
            joined += data
        tally.count("bytes", len(joined))
        return joined

    def follow(self, job: str, offset: int, **query: str | int) -> bytes:
        """What comes after an offset; with `follow_ms`, as soon as it comes."""
        path = f"/v1/jobs/{job}/output"
        return self._asked(lambda link: link.raw("GET", path, query={"offset": offset, **query}).take())

    # What is on disk.

    @property
    def spares(self) -> list[int]:
        """The keepers that wait for a job."""
        found = [path for path in (self.home / "new").glob("spare-*") if not path.name.endswith(".new")]
        return [pid for path in found if (pid := launch.holder(str(path)))]

    def where(self, job: str) -> Path:
        found = self.home / "jobs" / job
        return found if found.exists() else self.home / "new" / job

    def started(self, job: str) -> folder.Started:
        found = folder.read_started(str(self.where(job)))
        assert found is not None
        return found

    def live(self, job: str) -> Json:
        """The keeper's page about the job."""
        return {"taken_over": 0, "reason": "", **folder.read_live(str(self.where(job)))}

    def size(self, job: str, stream: str = "out") -> int:
        """How many bytes of a stream are in its file."""
        try:
            return (self.where(job) / stream).stat().st_size
        except FileNotFoundError:
            return 0

    def holds_input(self, job: str) -> bool:
        """Whether the daemon has the input that it hands to the job's next keeper."""
        return str(self.where(job) / "in") in processes.files(self.daemon)

    def holds_pipes(self, job: str) -> bool:
        """Whether the daemon has the pipes that it hands to the job's next keeper."""
        return str(self.where(job) / "out.p") in processes.files(self.daemon)
