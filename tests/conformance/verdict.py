"""Holds a run of the suite against the list of scenarios that cannot apply."""

import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

Run = tuple[str, str]
"""The name of a run of the suite, and a scenario in it."""


class Outcome(StrEnum):
    """How a scenario went."""

    PASSED = "passed"
    FAILED = "failed"
    EMPTY = "checked nothing"


class Result(msgspec.Struct, frozen=True):
    """What one scenario came to."""

    outcome: Outcome
    failed: frozenset[str] = frozenset()
    """The checks that failed."""

    def __str__(self) -> str:
        """As a line of the report has it."""
        return f"{self.outcome}: {', '.join(sorted(self.failed))}" if self.failed else str(self.outcome)


class Excused(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A scenario that cannot pass, how exactly it does not, and the reason."""

    outcome: Outcome
    why: str
    failed: frozenset[str] = frozenset()

    @property
    def result(self) -> Result:
        """What the scenario must come to."""
        return Result(self.outcome, self.failed)


class Listed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """exceptions.toml."""

    scenarios: dict[str, Excused]
    warnings: dict[str, str]


def read(text: bytes) -> Listed:
    """Read the list. Raises msgspec.ValidationError for one that says less or more than it should."""
    return msgspec.toml.decode(text, type=Listed)


def result(checks: Iterable[Mapping[str, Any]]) -> Result:
    """Return what a scenario came to. One failed check fails it; a scenario without a successful check has not passed."""
    found = list(checks)
    failed = frozenset(str(check["id"]) for check in found if check["status"] == "FAILURE")
    if failed:
        return Result(Outcome.FAILED, failed)
    return Result(Outcome.PASSED if any(check["status"] == "SUCCESS" for check in found) else Outcome.EMPTY)


def failures(checks: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the lines that explain why a scenario failed."""
    return [
        f"    {check['id']}: {json.dumps(check.get('errorMessage', ''))[:500]}"
        for check in checks
        if check["status"] == "FAILURE"
    ]


def warnings(checks: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the checks that found something short of what should be."""
    return {str(check["id"]) for check in checks if check["status"] == "WARNING"}


def disagreements(warned: Iterable[str], listed: Iterable[str]) -> list[str]:
    """Return where the warnings and the list of known ones differ."""
    found, known = set(warned), set(listed)
    return [
        *(f"{check} warns, and is not listed" for check in sorted(found - known)),
        *(f"{check} is listed and does not warn; take it off the list" for check in sorted(known - found)),
    ]


def status_complaints(run: str, status: int, results: Iterable[Result]) -> list[str]:
    """Return what is wrong with the exit status of the suite: 1 says that a scenario failed, and nothing else is expected."""
    failed = any(one.outcome is Outcome.FAILED for one in results)
    return [] if status == 0 or (status == 1 and failed) else [f"the suite ({run}) exits with {status}: see its output"]


def complaints(results: Mapping[Run, Result], listed: Mapping[str, Excused]) -> list[str]:
    """Return what is wrong: a scenario that neither passes nor does exactly what is listed, and a list that is out of date."""
    wrong = [
        f"{scenario} ({run}) {how}, and {'another outcome' if scenario in listed else 'nothing'} is listed"
        for (run, scenario), how in sorted(results.items(), key=lambda item: item[0])
        if how.outcome is not Outcome.PASSED and (scenario not in listed or how != listed[scenario].result)
    ]
    passing = {
        scenario
        for scenario in listed
        if {how.outcome for (_, name), how in results.items() if name == scenario} == {Outcome.PASSED}
    }
    wrong += [f"{scenario} is listed and passes; take it off the list" for scenario in sorted(passing)]
    unknown = listed.keys() - {scenario for _, scenario in results}
    return [*wrong, *(f"{scenario} is listed and there is no such scenario" for scenario in sorted(unknown))]
