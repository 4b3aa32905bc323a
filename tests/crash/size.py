"""How much the crash tests do: a little in the suite, all there is time for under scripts/torture."""

import os
import random
import time
from collections.abc import Iterator

TORTURE = "BIDE_TORTURE" in os.environ
SECONDS = float(os.environ.get("TORTURE_SECONDS", "600"))


class Time:
    """The time of a whole torture, shared out among its tests: what one of them leaves goes to those that follow."""

    def __init__(self) -> None:
        self._end = time.monotonic() + SECONDS
        self._tests = 1
        self._until = self._end

    def begin(self, tests: int) -> None:
        """Share out the time among so many tests, from now on."""
        self._end = time.monotonic() + SECONDS
        self._tests = tests

    def next(self) -> bool:
        """Begin the next test; False if there is no time for it."""
        now = time.monotonic()
        self._until = now + (self._end - now) / max(self._tests, 1)
        self._tests -= 1
        return now < self._end

    def is_up(self) -> bool:
        """Whether the test has had its share."""
        return time.monotonic() > self._until


TIME = Time()
SEEDS = int(os.environ.get("BIDE_SEEDS", "300" if TORTURE else "6"))
"""In how many ways the index is damaged; all of them, whatever time it takes, where that was asked for."""


def seeds() -> Iterator[int]:
    """Seeds for so many ways."""
    chosen = random.sample(range(1_000_000), SEEDS)
    return iter(chosen) if "BIDE_SEEDS" in os.environ else _in_time(chosen)


def rounds() -> Iterator[int]:
    """One, or as many as there is time for."""
    return _in_time(range(1_000_000) if TORTURE else range(1))


def points(total: int, sample: int) -> Iterator[int]:
    """Which of so many system calls to be killed at: some, or all, in no order, so that a lack of time favours none."""
    return _in_time(random.sample(range(1, total + 1), total if TORTURE else min(max(sample // 3, 4), total)))


def _in_time(numbers: range | list[int]) -> Iterator[int]:
    for number in numbers:
        yield number
        if TORTURE and TIME.is_up():
            return
