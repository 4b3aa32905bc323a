"""The verdict over a run of the conformance suite."""

from pathlib import Path

import msgspec
import pytest
from tests.conformance.verdict import (
    Excused,
    Outcome,
    Result,
    complaints,
    disagreements,
    read,
    result,
    status_complaints,
    warnings,
)

PASSED, EMPTY = Result(Outcome.PASSED), Result(Outcome.EMPTY)
FAILED = Result(Outcome.FAILED, frozenset({"a"}))


@pytest.mark.parametrize(
    ("statuses", "how"),
    [
        (["SUCCESS", "SUCCESS"], PASSED),
        (["SUCCESS", "WARNING", "INFO", "SKIPPED"], PASSED),
        (["SUCCESS", "FAILURE"], Result(Outcome.FAILED, frozenset({"1"}))),
        (["SKIPPED"], EMPTY),
        ([], EMPTY),
    ],
)
def test_one_failure_fails_a_scenario_and_nothing_checked_is_no_pass(statuses: list[str], how: Result) -> None:
    assert result({"id": number, "status": status} for number, status in enumerate(statuses)) == how


@pytest.mark.parametrize(
    ("how", "listed", "said"),
    [
        (PASSED, None, []),
        (FAILED, FAILED, []),
        (EMPTY, EMPTY, []),
        (FAILED, None, ["one (r) failed: a, and nothing is listed"]),
        (EMPTY, None, ["one (r) checked nothing, and nothing is listed"]),
        (FAILED, EMPTY, ["one (r) failed: a, and another outcome is listed"]),
        (FAILED, Result(Outcome.FAILED, frozenset({"b"})), ["one (r) failed: a, and another outcome is listed"]),
        (EMPTY, FAILED, ["one (r) checked nothing, and another outcome is listed"]),
        (PASSED, EMPTY, ["one is listed and passes; take it off the list"]),
    ],
)
def test_a_scenario_passes_or_does_exactly_what_is_listed(how: Result, listed: Result | None, said: list[str]) -> None:
    known = {} if listed is None else {"one": Excused(listed.outcome, "", listed.failed)}
    assert complaints({("r", "one"): how}, known) == said


def test_a_listed_scenario_that_does_not_exist_is_wrong() -> None:
    known = {"two": Excused(Outcome.EMPTY, "")}
    assert complaints({("r", "one"): PASSED}, known) == ["two is listed and there is no such scenario"]


def test_the_exit_status_of_the_suite_counts() -> None:
    assert status_complaints("r", 0, [PASSED]) == []
    assert status_complaints("r", 1, [PASSED, FAILED]) == []
    assert status_complaints("r", 1, [PASSED, EMPTY]) == ["the suite (r) exits with 1: see its output"]
    assert status_complaints("r", -9, [FAILED]) == ["the suite (r) exits with -9: see its output"]


def test_warnings_and_their_list_must_agree() -> None:
    found = warnings([{"id": "a", "status": "WARNING"}, {"id": "b", "status": "SUCCESS"}])
    assert disagreements(found, ["a"]) == []
    assert disagreements(found, ["c"]) == [
        "a warns, and is not listed",
        "c is listed and does not warn; take it off the list",
    ]


def test_everything_listed_has_a_reason() -> None:
    listed = read((Path(__file__).parent / "exceptions.toml").read_bytes())
    reasons = [*(one.why for one in listed.scenarios.values()), *listed.warnings.values()]
    assert all(len(reason) > 20 for reason in reasons)
    with pytest.raises(msgspec.ValidationError, match="missing required field `why`"):
        read(b'[scenarios.one]\noutcome = "failed"\n[warnings]\n')
