"""`bide` as a person or a script has it: a real process with a home of its own."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support import processes

PATIENCE = 20.0
BIDE = (sys.executable, "-P", "-m", "bide")


class Shell:
    """A place to type commands in, with one home."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home = home
        self.folder = folder
        self.env = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS")}
        self.env |= {"BIDE_HOME": str(home), "TERM": "xterm"}

    def command(self, *words: str | Path) -> list[str]:
        """What `bide WORDS` is to the system."""
        return [*BIDE, *map(str, words)]

    def __call__(self, *words: str | Path, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
        """Run `bide WORDS` to its end, in a pipe."""
        return subprocess.run(
            self.command(*words),
            input=stdin,
            capture_output=True,
            env=self.env | env,
            cwd=self.folder,
            timeout=PATIENCE,
            check=False,
        )

    def out(self, *words: str | Path) -> str:
        """What a command that must succeed prints."""
        done = self(*words)
        assert done.returncode == 0, done
        return done.stdout.decode()

    def json(self, *words: str | Path) -> Any:
        """What a command answers with --json, whatever its status."""
        return json.loads(self(*words, "--json").stdout)

    def background(self, script: str, *options: str) -> str:
        """The id of a new job in the background."""
        return self.out("run", "--bg", *options, "-c", script).strip()

    @contextmanager
    def started(self, *words: str) -> Generator[subprocess.Popen[bytes]]:
        """A command that goes on while the test does something else."""
        pipe = subprocess.PIPE
        command = self.command(*words)
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=self.env, cwd=self.folder) as process:
            try:
                yield process
            finally:
                process.kill()

    @contextmanager
    def terminal(self, *words: str, columns: int = 80) -> Generator["Terminal"]:
        """A command on a terminal."""
        ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (24, columns))
        process = subprocess.Popen(
            self.command(*words), stdin=theirs, stdout=theirs, stderr=theirs, env=self.env, cwd=self.folder
        )
        os.close(theirs)
        terminal = Terminal(process, ours)
        try:
            yield terminal
        finally:
            process.kill()
            process.wait()
            os.close(ours)

    def close(self) -> None:
        """End everything in the home."""
        self("daemon", "stop", "--kill")
        for pid in processes.of_folder(self.home):
            processes.end(pid)


class Terminal:
    """The other side of a command's terminal."""

    def __init__(self, process: subprocess.Popen[bytes], fd: int) -> None:
        self.process = process
        self.seen = b""
        self._fd = fd

    def until(self, text: bytes) -> bytes:
        """Everything seen so far, once this has appeared."""
        while text not in self.seen:
            assert self._read(), self.seen
        return self.seen

    def type(self, text: bytes) -> None:
        os.write(self._fd, text)

    @property
    def echoes(self) -> bool:
        """Whether it shows what is typed."""
        return bool(termios.tcgetattr(self._fd)[3] & termios.ECHO)

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def end(self) -> int:
        """The exit status, once everything was seen."""
        while self._read():
            pass
        return self.process.wait(PATIENCE)

    def _read(self) -> bool:
        assert select.select([self._fd], [], [], PATIENCE)[0], self.seen
        try:
            data = os.read(self._fd, 65536)
        except OSError:
            return False
        self.seen += data
        return bool(data)
