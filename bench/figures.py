"""Figures: what was measured, what it stands beside, and whether it is where it should be."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table."""

    row: str
    what: str
    against: str
    """The peer or the limit, in words."""
    unit: str
    reach: float
    at_most: bool
    """Whether `reach` is the largest ratio allowed; otherwise it is the smallest."""
    ours: float | None = None
    theirs: float | None = None
    ratio: float | None = None
    """`None`: not measured, and the note says why."""
    note: str = ""

    @property
    def verdict(self) -> str:
        """`ok`, `short`, or `-` if it was not measured."""
        if self.ratio is None:
            return "-"
        good = self.ratio <= self.reach if self.at_most else self.ratio >= self.reach
        return "ok" if good else "short"

    def to_json(self) -> dict[str, Any]:
        """All of it, with the verdict."""
        return asdict(self) | {"verdict": self.verdict}


@dataclass(slots=True)
class Pairs:
    """Samples of ours and of the peer, taken in turn so that noise meets both."""

    ours: list[float] = field(default_factory=list[float])
    theirs: list[float] = field(default_factory=list[float])

    def add(self, ours: float, theirs: float) -> None:
        """One sample of each."""
        self.ours.append(ours)
        self.theirs.append(theirs)

    @property
    def medians(self) -> tuple[float, float]:
        """Ours and theirs."""
        return statistics.median(self.ours), statistics.median(self.theirs)

    @property
    def ratio_of_medians(self) -> float:
        """For many short samples."""
        ours, theirs = self.medians
        return ours / theirs

    @property
    def median_of_ratios(self) -> float:
        """For a few long rounds: each is compared with its neighbour in time."""
        return statistics.median(ours / theirs for ours, theirs in zip(self.ours, self.theirs, strict=True))


def rounds(most: int, *, seconds: float, least: int = 3) -> Iterator[int]:
    """Count rounds, fewer of them when the machine is so busy that they take longer than `seconds`."""
    began = time.monotonic()
    for number in range(most):
        if number >= least and time.monotonic() - began > seconds:
            return
        yield number
