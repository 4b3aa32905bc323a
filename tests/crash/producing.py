"""Jobs that can be checked: every byte of their output, their end, and that they ran once."""

import fcntl
import os
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.crash import tally
from tests.crash.place import Json, Place

LETTERS = b"abcdefghijklmnopqrstuvwxyz"
KINDS: dict[str, dict[str, bool]] = {
    "plain": {},
    "merged": {"merge": True},
    "stdin": {"stdin": True},
    "pty": {"pty": True},
}
"""The ways a job can be wired."""


@dataclass(frozen=True, slots=True)
class Producer:
    """A job that writes numbered lines to both streams and ends as it is told."""

    program: Path
    marker: Path
    lines: int = 20
    pause_us: int = 0
    width: int = 40
    end: str = "exit:7"
    gate: Path | None = None

    @property
    def argv(self) -> list[str]:
        gate = "-" if self.gate is None else str(self.gate)
        return [str(self.program), str(self.marker), gate, *map(str, (self.lines, self.pause_us, self.width)), self.end]

    def line(self, stream: str, number: int) -> bytes:
        head = b"%s %08d " % (stream.encode(), number)
        turned = (number + len(head)) % 26
        body = (LETTERS * (self.width // 26 + 2))[turned : turned + self.width - 1 - len(head)]
        return head + body + b"\n"

    def expected(self, stream: str, kind: str = "plain") -> bytes:
        """What a stream must hold at the end."""
        one = kind in ("merged", "pty")
        if one and stream == "err":
            return b""
        names = ("out", "err") if one else (stream,)
        joined = b"".join(self.line(name, number) for number in range(1, self.lines + 1) for name in names)
        return joined.replace(b"\n", b"\r\n") if kind == "pty" else joined

    @property
    def code(self) -> int | None:
        return int(self.end.removeprefix("exit:")) if self.end.startswith("exit") else None

    @property
    def signal(self) -> int | None:
        return int(self.end.removeprefix("signal:")) if self.end.startswith("signal") else None

    @property
    def ran(self) -> int:
        return self.marker.exists() + self.marker.with_name(f"{self.marker.name}.again").exists()

    def check_output(self, place: Place, job: str, kind: str = "plain") -> None:
        for stream in ("out", "err"):
            same_bytes(place.output(job, stream), self.expected(stream, kind))

    def check_end(self, job: Json) -> None:
        assert (job["exit_code"], job["signal"]) == (self.code, self.signal), job
        assert job["reason"] == ("exited" if self.signal is None else "signaled"), job

    def check(self, place: Place, job: Json, kind: str = "plain") -> None:
        """It ran once, to its true end, and every byte is there once."""
        self.check_end(job)
        assert self.ran == 1
        self.check_output(place, job["id"], kind)
        tally.count("jobs checked")


def same_bytes(found: bytes, expected: bytes) -> None:
    """The same, or where they part; a whole difference would be too long to read."""
    if found == expected:
        return
    at = next(
        (i for i, (a, b) in enumerate(zip(found, expected, strict=False)) if a != b), min(len(found), len(expected))
    )
    raise AssertionError(
        f"{len(found)} bytes, not {len(expected)}; at {at}: {found[at : at + 60]!r}, not {expected[at : at + 60]!r}"
    )


class Gate:
    """What producers wait at before they end, for as long as it is closed or this process lives."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_EX)

    def open(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1


class Producers:
    """Makes producers, each with its marker."""

    def __init__(self, program: Path, path: Path) -> None:
        self._program = program
        self._path = path
        self._made = 0

    def make(self, **options: Any) -> Producer:
        self._made += 1
        return Producer(self._program, self._path / f"ran-{self._made}", **options)

    def mixed(self, number: int, **options: Any) -> list[Producer]:
        """Many, with all kinds of ends."""
        ends = [f"exit:{random.randrange(256)}" for _ in range(5)] + ["exit:0", "signal:9", "signal:15", "signal:6"]
        return [self.make(end=random.choice(ends), **options) for _ in range(number)]


def check_all(place: Place, jobs: Sequence[Json], producers: Iterable[Producer], kind: str = "plain") -> None:
    """All of them, in the same order."""
    for job, producer in zip(jobs, producers, strict=True):
        producer.check(place, job, kind)
