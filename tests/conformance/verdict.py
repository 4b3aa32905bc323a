"""What a run of the suite comes to, held against the list of scenarios that cannot apply."""

import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any


class Outcome(StrEnum):
    """How a scenario went."""

    PASSED = "passed"
    FAILED = "failed"
    EMPTY = "checked nothing"


def outcome(checks: Iterable[Mapping[str, Any]]) -> Outcome:
    """One failure is enough; and what checked nothing has not passed."""
    found = {str(check["status"]) for check in checks}
    if "FAILURE" in found:
        return Outcome.FAILED
    return Outcome.PASSED if "SUCCESS" in found else Outcome.EMPTY


def failures(checks: Iterable[Mapping[str, Any]]) -> list[str]:
    """What to read when a scenario failed."""
    return [
        f"    {check['id']}: {json.dumps(check.get('errorMessage', ''))[:500]}"
        for check in checks
        if check["status"] == "FAILURE"
    ]


def warnings(checks: Iterable[Mapping[str, Any]]) -> set[str]:
    """The checks that found something short of what should be."""
    return {str(check["id"]) for check in checks if check["status"] == "WARNING"}


def disagreements(warned: Iterable[str], listed: Iterable[str]) -> list[str]:
    """Where warnings and the list of those that are known are not the same."""
    found, known = set(warned), set(listed)
    return [
        *(f"{check} warns, and is not listed" for check in sorted(found - known)),
        *(f"{check} is listed and does not warn; take it off the list" for check in sorted(known - found)),
    ]


def complaints(results: Mapping[tuple[str, str], Outcome], listed: Iterable[str]) -> list[str]:
    """What is wrong: an unlisted scenario that did not pass, a listed one that did, and one that was not run at all."""
    known = set(listed)
    wrong = [
        f"{scenario} ({run}) {how}, and is not listed"
        for (run, scenario), how in sorted(results.items())
        if how is not Outcome.PASSED and scenario not in known
    ]
    passing = {
        scenario
        for scenario in known
        if {how for (_, name), how in results.items() if name == scenario} == {Outcome.PASSED}
    }
    wrong += [f"{scenario} is listed and passes; take it off the list" for scenario in sorted(passing)]
    unknown = known - {scenario for _, scenario in results}
    return [*wrong, *(f"{scenario} is listed and there is no such scenario" for scenario in sorted(unknown))]
