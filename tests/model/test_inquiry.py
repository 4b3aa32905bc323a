"""What is asked at the end of a turn, and what an answer decides."""

import pytest

from bide.model.arguments import fault
from bide.model.inquiry import Outstanding, decided, question, schema

_HANDLES = [
    Outstanding("check", "cargo_check", "running", 3.2499, "Compiling…"),
    Outstanding("test", "cargo_test", "waiting", 65.0, ""),
]


def test_139_the_question_has_what_there_is_to_decide_by() -> None:
    first, second = question(_HANDLES)["handles"]
    assert first == {
        "id": "check",
        "tool": "cargo_check",
        "state": "running",
        "elapsed_secs": 3.2,
        "output_preview": "Compiling…",
        "action": "wait | abort",
    }
    assert (second["state"], second["elapsed_secs"]) == ("waiting", 65.0)


@pytest.mark.parametrize(
    ("answer", "check", "test"),
    [
        ({"handles": [{"id": "check", "action": "wait"}, {"id": "test", "action": "abort"}]}, "wait", "abort"),
        ({"check": "abort", "test": "wait"}, "abort", "wait"),
        ({"handles": [{"id": "check", "action": "wait"}]}, "wait", "leave"),
        ({"handles": [{"id": "other", "action": "abort"}, "abort"]}, "leave", "leave"),
        ({"check": "explode"}, "leave", "leave"),
        ("abort everything", "leave", "leave"),
        (None, "leave", "leave"),
    ],
)
def test_139_the_answer_is_for_each_and_what_cannot_be_meant_leaves_it(answer: object, check: str, test: str) -> None:
    assert decided(_HANDLES, answer) == {"check": check, "test": test}


def test_139_the_schema_takes_these_handles_and_these_actions_only() -> None:
    taken = schema(_HANDLES)
    assert fault({"handles": [{"id": "check", "action": "wait"}]}, taken) is None
    assert fault({"handles": [{"id": "other", "action": "wait"}]}, taken) is not None
    assert fault({"handles": [{"id": "check", "action": "leave"}]}, taken) is not None
