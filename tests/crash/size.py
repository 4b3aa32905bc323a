"""How much the crash tests do: a little in the suite, all there is time for under scripts/torture."""

import os
import random
import time
from collections.abc import Iterator

TORTURE = "BIDE_TORTURE" in os.environ
SECONDS = float(os.environ.get("TORTURE_SECONDS", "600")) / 25
"""What one test may take under torture; there are about as many that go on as long as they may."""


def rounds() -> Iterator[int]:
    """One, or as many as there is time for."""
    return _in_time(range(1_000_000) if TORTURE else range(1))


def points(total: int, sample: int) -> Iterator[int]:
    """Which of so many system calls to be killed at: some, or all, in no order, so that a lack of time favours none."""
    return _in_time(random.sample(range(1, total + 1), total if TORTURE else min(max(sample // 3, 4), total)))


def _in_time(numbers: range | list[int]) -> Iterator[int]:
    deadline = time.monotonic() + SECONDS
    for number in numbers:
        yield number
        if TORTURE and time.monotonic() > deadline:
            return
