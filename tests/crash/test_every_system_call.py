"""The keeper killed at every system call it makes, and the daemon at those of a submit.

Random kills alone miss the instants that matter; these are all of them. The suite takes a sample, scripts/torture all.
"""

import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.crash import tally
from tests.crash.patience import until
from tests.crash.place import Place
from tests.crash.producing import Gate, Producers

from bide.keeper import launch

NEVER = 1_000_000
SAMPLE = 24


class Killer:
    """Stands in for the keeper and kills it as planned."""

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

    def said(self) -> list[list[str]]:
        """What became of the keepers so far: `killed CALL NUMBER` or `ended CALLS STATUS`."""
        if not self._log.exists():
            return []
        lines = [line.split() for line in self._log.read_text().splitlines()]
        if any(words[0] == "refused" for words in lines):
            pytest.skip("processes may not be traced here")
        return lines

    def killed(self) -> bool:
        return any(words[0] == "killed" for words in self.said())

    def total(self) -> int:
        """How many system calls a keeper that was left alone made."""
        return int(until(lambda: [words for words in self.said() if words[0] == "ended"])[0][1])


@pytest.fixture
def killer(compiled: Callable[[str], Path], tmp_path: Path) -> Killer:
    return Killer(compiled("killat"), tmp_path / "killer")


@pytest.fixture
def place(killer: Killer, tmp_path: Path) -> Iterator[Place]:
    found = Place(tmp_path, BIDE_KEEPER=str(killer.program))
    found.start()
    yield found
    found.close()


def points(total: int) -> list[int]:
    """Which system calls to be killed at: all under torture, else some."""
    every = range(1, total + 1)
    return list(every) if "BIDE_TORTURE" in os.environ else sorted(random.sample(every, min(SAMPLE, total)))


def test_a_keeper_may_die_at_every_system_call(place: Place, killer: Killer, producers: Producers) -> None:
    killer.plan(NEVER)
    place.end(place.submit(producers.make().argv))
    for point in points(killer.total()):
        killer.plan(point)
        made = producers.make()
        job = place.end(place.submit(made.argv))
        made.check(place, job)
        if killer.killed():
            tally.count("kills at a system call")


def test_its_replacement_may_as_well(place: Place, killer: Killer, producers: Producers, tmp_path: Path) -> None:
    def run(call: int) -> None:
        killer.plan(0, call)
        gate = Gate(tmp_path / "gate")
        made = producers.make(gate=gate.path)
        job = place.submit(made.argv)
        first = place.keeper(job)
        place.kill_keeper(job)
        until(lambda: place.keeper(job) not in (None, first) or killer.killed())
        gate.open()
        made.check(place, place.end(job))

    run(NEVER)
    for point in points(killer.total()):
        run(point)
        if killer.killed():
            tally.count("kills at a system call")
