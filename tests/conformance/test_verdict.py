"""The verdict over a run of the conformance suite."""

import tomllib
from pathlib import Path

import pytest
from tests.conformance.verdict import Outcome, complaints, disagreements, outcome, warnings


@pytest.mark.parametrize(
    ("statuses", "how"),
    [
        (["SUCCESS", "SUCCESS"], Outcome.PASSED),
        (["SUCCESS", "WARNING", "INFO", "SKIPPED"], Outcome.PASSED),
        (["SUCCESS", "FAILURE"], Outcome.FAILED),
        (["SKIPPED"], Outcome.EMPTY),
        ([], Outcome.EMPTY),
    ],
)
def test_one_failure_fails_a_scenario_and_nothing_checked_is_no_pass(statuses: list[str], how: Outcome) -> None:
    assert outcome({"status": status} for status in statuses) is how


@pytest.mark.parametrize(
    ("how", "listed", "said"),
    [
        (Outcome.PASSED, [], []),
        (Outcome.FAILED, ["one"], []),
        (Outcome.EMPTY, ["one"], []),
        (Outcome.FAILED, [], ["one (r) failed, and is not listed"]),
        (Outcome.EMPTY, [], ["one (r) checked nothing, and is not listed"]),
        (Outcome.PASSED, ["one"], ["one is listed and passes; take it off the list"]),
        (Outcome.PASSED, ["two"], ["two is listed and there is no such scenario"]),
    ],
)
def test_the_list_and_the_run_must_agree(how: Outcome, listed: list[str], said: list[str]) -> None:
    assert complaints({("r", "one"): how}, listed) == said


def test_warnings_and_their_list_must_agree() -> None:
    found = warnings([{"id": "a", "status": "WARNING"}, {"id": "b", "status": "SUCCESS"}])
    assert disagreements(found, ["a"]) == []
    assert disagreements(found, ["c"]) == [
        "a warns, and is not listed",
        "c is listed and does not warn; take it off the list",
    ]


def test_everything_listed_has_a_reason() -> None:
    listed = tomllib.loads((Path(__file__).parent / "exceptions.toml").read_text())
    assert {*listed} == {"scenarios", "warnings"}
    reasons = [reason for some in listed.values() for reason in some.values()]
    assert all(isinstance(reason, str) and len(reason) > 20 for reason in reasons)
