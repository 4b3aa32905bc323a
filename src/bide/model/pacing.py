"""How often new output is told: a few at once, then seldom. Pure: the caller says what time it is."""

from __future__ import annotations

GATHER_SECONDS = 0.2
"""What is written within this time is told together."""
BURST = 10
EVERY_SECONDS = 2.0
BATCH_BYTES = 3000
"""Of one batch as it is told, with the line that counts what was left out."""
COUNT_BYTES = 40


class Pace:
    """Allows a burst, then one each two seconds."""

    def __init__(self, now: float) -> None:
        """The whole burst is left."""
        self._left = float(BURST)
        self._at = now

    def wait(self, now: float) -> float:
        """Seconds until the next may be told; 0 if that is now."""
        self._left = min(BURST, self._left + (now - self._at) / EVERY_SECONDS)
        self._at = now
        return 0.0 if self._left >= 1 else (1 - self._left) * EVERY_SECONDS

    def take(self) -> None:
        """One is told."""
        self._left -= 1


def last_lines(lines: list[tuple[int, int]]) -> tuple[int, int, int]:
    """Where the newest whole lines begin and end that fit into one batch, and how many before them are left out.

    Lines are given by where each begins and ends; at least one is kept.
    """
    start = len(lines) - 1
    while start and lines[-1][1] - lines[start - 1][0] <= BATCH_BYTES - COUNT_BYTES:
        start -= 1
    return lines[start][0], lines[-1][1], start
