"""The place of one check: a home and a folder of its own, and every way into bide from there."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seeds.mcp import Answer, Asked, Client, Json
from seeds.registry import Claims

HOSTS = Path(__file__).parent / "hosts"
BIDE = shutil.which("bide") or str(Path(sys.executable).parent / "bide")


@dataclass(frozen=True)
class Finished:
    """A command that ended."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The output as JSON."""
        return json.loads(self.out)


class Unix(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: str, timeout: float = 60) -> None:
        super().__init__("bide", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Trial:
    """What one check works with."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.folder = root / "work"
        for one in (self.folder, root / "user", root / "bin"):
            one.mkdir(parents=True, exist_ok=True)
        self.claims = Claims()
        self.clients: list[Client] = []
        kept = {name: os.environ[name] for name in ("LANG", "TERM") if name in os.environ}
        self.env = kept | {
            "PATH": f"{root / 'bin'}:{Path(BIDE).parent}:{os.environ['PATH']}",
            "HOME": str(root / "user"),
            "BIDE_HOME": str(self.home),
            "SEEDS_TRIAL": str(root),
        }

    # ------------------------------------------------------------------ saying what was seen

    def claim(self, holds: object, said: str) -> bool:
        """Record that something holds or does not; `said` is what was seen."""
        return self.claims.add(holds, said)

    def fault(self, said: str) -> None:
        """Record that the check could not go on."""
        self.claims.broken.append(said)

    def equal(self, found: object, wanted: object, what: str) -> bool:
        """Claim that two values are the same."""
        return self.claim(
            found == wanted, f"{what} {brief(found)}" + ("" if found == wanted else f", not {brief(wanted)}")
        )

    # ------------------------------------------------------------------ ways in

    def settings(self, text: str) -> None:
        """Write config.toml into the home; before the daemon starts."""
        self.home.mkdir(mode=0o700, exist_ok=True)
        (self.home / "config.toml").write_text(text)

    def client(
        self,
        tools: str,
        *args: str,
        name: str = "seeds-client",
        capabilities: Json | None = None,
        asked: Asked | None = None,
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Client:
        """Start `bide mcp` with these toolsets and open the connection."""
        made = Client(
            [BIDE, "mcp", "--tools", tools, *args],
            self.env | (env or {}),
            str(cwd or self.folder),
            name=name,
            capabilities=capabilities,
            asked=asked,
        )
        self.clients.append(made)
        return made

    def bide(
        self, *args: str, seconds: float = 60, stdin: str | None = None, env: dict[str, str] | None = None
    ) -> Finished:
        """Run the command line."""
        return self.run([BIDE, *args], seconds=seconds, stdin=stdin, env=env)

    def run(
        self, command: list[str], *, seconds: float = 60, stdin: str | None = None, env: dict[str, str] | None = None
    ) -> Finished:
        """Run a command in the check's folder and environment."""
        done = subprocess.run(
            command,
            input=(stdin or "").encode(),
            capture_output=True,
            env=self.env | (env or {}),
            cwd=self.folder,
            timeout=seconds,
            check=False,
        )
        return Finished(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))

    def http(self, method: str, path: str, body: Any = None, *, owner: str | None = None) -> tuple[int, Any]:
        """Ask the daemon over its socket; the answer is read as JSON where it is."""
        connection = Unix(str(self.home / "bide.sock"))
        headers = {"Content-Type": "application/json"} | ({"Bide-Owner": owner} if owner else {})
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            raw = response.read()
        finally:
            connection.close()
        try:
            return response.status, json.loads(raw)
        except ValueError:
            return response.status, raw

    def jobs(self) -> list[Json]:
        """List all jobs of the home as the daemon shows them; this tells nobody anything."""
        return self.http("GET", "/v1/jobs?limit=1000")[1]["jobs"]

    def ended(self, word: str, seconds: float = 20) -> Json:
        """Wait until the newest job whose command has this word is over, without anybody's being told of it."""

        def look() -> Json | None:
            found = [
                one for one in self.jobs() if word in json.dumps([one["command"], one["argv"], one["name"], one["id"]])
            ]
            return found[0] if found and found[0]["phase"] == "ended" else None

        return self.until(look, f"the end of {word}", seconds)

    def other(self, name: str) -> Trial:
        """Return a place beside this one, with a home of its own; its claims are ours."""
        made = Trial(self.root / name)
        made.claims, made.clients = self.claims, self.clients
        return made

    def host(self, name: str, *args: str, seconds: float = 50) -> Json:
        """Run a program of `hosts/` that embeds bide; it prints one line of JSON per fact, gathered here."""
        script = HOSTS / f"{name}.py"
        done = self.run([str(Path(BIDE).parent / "python"), str(script), *args], seconds=seconds)
        facts: Json = {}
        for line in done.out.splitlines():
            with suppress(ValueError):
                facts.update(json.loads(line))
        if done.code:
            facts["failed"] = done.err.strip().splitlines()[-1:] or [f"exit {done.code}"]
            facts["stderr"] = done.err[-2000:]
        return facts

    # ------------------------------------------------------------------ waiting

    def until(self, holds: Callable[[], Any], what: str = "it", seconds: float = 15) -> Any:
        """Return the first true value of `holds`; raise if it does not come in time."""
        end = time.monotonic() + seconds
        while True:
            found = holds()
            if found:
                return found
            if time.monotonic() > end:
                raise TimeoutError(f"{what} did not come within {seconds:g} s")
            time.sleep(0.05)

    def rest(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)

    def gate(self, name: str = "gate") -> Path:
        """Make a FIFO: a job that reads it runs until `open_gate`."""
        path = self.folder / name
        os.mkfifo(path)
        return path

    def open_gate(self, path: Path, text: str = "go\n") -> None:
        """Let through whatever reads the gate."""

        def write() -> None:
            with suppress(OSError):
                path.write_text(text)

        threading.Thread(target=write, daemon=True).start()

    def alive(self, words: str) -> list[int]:
        """List the processes whose command has these words."""
        found: list[int] = []
        for entry in os.listdir("/proc"):
            if entry.isdecimal() and int(entry) != os.getpid():
                with suppress(OSError):
                    line = Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    if (
                        words in line
                        and Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
                    ):
                        found.append(int(entry))
        return found

    def daemon(self) -> int:
        """Return the pid of the daemon."""
        return int(self.http("GET", "/v1/daemon")[1]["pid"])

    def close(self) -> None:
        """Disconnect every client."""
        for one in self.clients:
            with suppress(OSError, subprocess.TimeoutExpired):
                one.kill()


def brief(found: object, most: int = 120) -> str:
    """Shorten a value for the evidence."""
    text = found if isinstance(found, str) else json.dumps(found, default=str)
    text = " ".join(text.split()) if len(text) < 4000 else " ".join(text[:4000].split())
    return text if len(text) <= most else text[: most - 1] + "…"


def is_of(pid: int, mark: bytes) -> bool:
    """True if a process belongs to a check's folder, by its environment, words or working folder."""
    for file in ("environ", "cmdline"):
        with suppress(OSError):
            if mark in Path(f"/proc/{pid}/{file}").read_bytes():
                return True
    with suppress(OSError):
        return mark in os.fsencode(os.readlink(f"/proc/{pid}/cwd"))
    return False


def left(root: Path) -> list[int]:
    """List the live processes of a check's folder."""
    mark = os.fsencode(root)
    return [
        int(name)
        for name in os.listdir("/proc")
        if name.isdecimal() and int(name) != os.getpid() and is_of(int(name), mark)
    ]


def sweep(root: Path) -> list[int]:
    """Stop the daemons of a check's folder, kill whatever is left of it, remove it; return what had to be killed."""
    for home in {path.parent for path in root.glob("**/bide.sock")}:
        env = os.environ | {"BIDE_HOME": str(home)}
        with suppress(subprocess.TimeoutExpired):
            subprocess.run([BIDE, "daemon", "stop", "--kill"], env=env, capture_output=True, timeout=15, check=False)
    found = left(root)
    end = time.monotonic() + 10
    while (still := left(root)) and time.monotonic() < end:
        for pid in still:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    for folder, _, _ in os.walk(root):
        with suppress(OSError):
            os.chmod(folder, 0o700)
    shutil.rmtree(root, ignore_errors=True)
    return found


__all__ = ["Answer", "Client", "Finished", "Json", "Trial", "brief", "left", "sweep"]
