"""The checks by number, and the result of one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NUMBERS = range(1, 270)
POLICY = "left to the rules on what agents may do"
"""The reason of the skips for tiers, permission and refusals."""

Work = Callable[[Any], None]


class Skip(Exception):
    """The behaviour cannot be checked here, for the reason given."""


@dataclass(frozen=True)
class Check:
    """One numbered behaviour and the function that tries it."""

    number: int
    says: str
    work: Work
    seconds: float = 60
    """The time limit. Checks with a long one start first."""


@dataclass
class Claims:
    """Everything a check claimed, with whether it held."""

    held: list[str] = field(default_factory=list[str])
    broken: list[str] = field(default_factory=list[str])

    def add(self, holds: object, said: str) -> bool:
        """Record a claim; `said` is what was seen."""
        (self.held if holds else self.broken).append(said)
        return bool(holds)

    @property
    def result(self) -> str:
        """Pass if all held, fail if none did, partial otherwise."""
        if not self.broken:
            return "pass" if self.held else "fail"
        return "partial" if self.held else "fail"


CHECKS: dict[int, Check] = {}


def check(number: int, *, seconds: float = 60) -> Callable[[Work], Work]:
    """Register a function as the check of a number. Its docstring is the behaviour in one line."""

    def register(work: Work) -> Work:
        if number in CHECKS:
            raise ValueError(f"two checks for {number}")
        says = (work.__doc__ or "").strip().splitlines()[0]
        CHECKS[number] = Check(number, says, work, seconds)
        return work

    return register


def skip(numbers: Iterable[int], reason: str) -> None:
    """Register skips with one reason."""
    for number in numbers:

        def work(_: Any, reason: str = reason) -> None:
            raise Skip(reason)

        CHECKS[number] = Check(number, reason, work, 10)


def load() -> dict[int, Check]:
    """Import every module of `checks/` and return what they registered."""
    folder = Path(__file__).parent / "checks"
    for module in pkgutil.iter_modules([str(folder)]):
        importlib.import_module(f"seeds.checks.{module.name}")
    return CHECKS
