"""The stand-in for the keeper (killat.c), which kills keepers at a system call chosen by the test."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.crash import tally
from tests.crash.patience import until
from tests.crash.size import points

from bide.keeper import launch

NEVER = 1_000_000


class Killer:
    """Kills keepers as planned."""

    def __init__(self, program: Path, folder: Path) -> None:
        folder.mkdir()
        self.program = folder / "bide-keeper"
        shutil.copy(program, self.program)
        (folder / "keeper").symlink_to(launch.KEEPER)
        (folder / "plan").mkdir()
        self._plan = folder / "plan"
        self._log = folder / "log"

    def plan(self, *calls: int) -> None:
        """Kill the next keeper at its nth system call, and the ones after it likewise; 0 means not at all."""
        self._log.unlink(missing_ok=True)
        for number, call in enumerate(calls, start=1):
            fresh = self._plan / "fresh"
            fresh.write_text(str(call))
            fresh.rename(self._plan / str(number))

    def forget(self) -> None:
        """Kill nobody, whatever was planned."""
        for planned in self._plan.iterdir():
            planned.unlink()

    def said(self) -> list[list[str]]:
        """What became of them so far: `killed CALL NUMBER`, then `ended CALLS STATUS`."""
        if not self._log.exists():
            return []
        lines = [line.split() for line in self._log.read_text().splitlines()]
        for words in lines:
            if words[0] == "refused":
                pytest.skip(f"processes may not be traced here: {os.strerror(int(words[1]))}")
        return lines

    def killed(self) -> bool:
        return any(words[0] == "killed" for words in self.said())

    def points(self, sample: int) -> Iterator[int]:
        """The system calls of one that was left alone at which to be killed: some, or all (size.py).

        Ask for the next one when the last was tried. A process may make fewer calls than the one that was counted, on
        a busy machine far fewer: a point that killed nobody is followed by an earlier one. A sweep that kills nobody
        proves nothing: most points must have killed.
        """
        tried = kills = 0
        for point in points(self.total(), sample):
            tried += 1
            for call in (point, point // 2, point // 4):
                yield max(call, 1)
                if self.killed():
                    kills += 1
                    tally.count("kills at a system call")
                    break
        assert kills * 2 >= tried, f"{kills} of {tried} points killed somebody"

    def total(self) -> int:
        """How many system calls one that was left alone made."""
        return int(until(lambda: [words for words in self.said() if words[0] == "ended"])[0][1])
