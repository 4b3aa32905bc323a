"""Questions: what answers them, who may, and what holds when nobody can."""

from typing import Any

import pytest

from bide.model.errors import BadRequest
from bide.model.question import (
    Form,
    Policy,
    Question,
    Value,
    Via,
    by_policy,
    fault,
    has_answerer,
    is_secret,
    refused,
    spoken,
)

_BOOLEAN = Question("Go on?", Form.BOOLEAN)
_SELECT = Question("Which?", Form.SELECT, ("red", "blue"))
_TEXT = Question("Name?")


@pytest.mark.parametrize(
    ("question", "value", "fits"),
    [
        (_BOOLEAN, True, True),
        (_BOOLEAN, "yes", False),
        (_BOOLEAN, 1, False),
        (_SELECT, "blue", True),
        (_SELECT, "green", False),
        (_SELECT, None, False),
        (_TEXT, "", True),
        (_TEXT, 5, False),
    ],
)
def test_110_an_answer_has_the_form_of_its_question(question: Question, value: object, fits: bool) -> None:
    assert (fault(question, value) is None) is fits


@pytest.mark.parametrize(
    ("question", "auto", "defaults"),
    [
        (_BOOLEAN, True, None),
        (Question("Go on?", Form.BOOLEAN, default=False), False, False),
        (_SELECT, "red", None),
        (Question("Which?", Form.SELECT, ("red", "blue"), "blue"), "blue", "blue"),
        (_TEXT, None, None),
        (Question("Name?", default="me"), "me", "me"),
        (Question("Sign?", Form.BOOLEAN, default=True, exclusive=True), None, None),
        (Question("Password:", default="x", secret=True), None, None),
    ],
)
def test_145_nobody_to_answer_and_the_policy_decides(question: Question, auto: object, defaults: object) -> None:
    assert by_policy(question, Policy.AUTO) == auto
    assert by_policy(question, Policy.DEFAULTS) == defaults
    assert by_policy(question, Policy.DENY) is None


@pytest.mark.parametrize(
    ("prompt", "secret"),
    [
        ("[sudo] password for me: ", True),
        ("Enter passphrase for key '/k': ", True),
        ("PIN:", True),
        ("API token: ", True),
        ("Continue? [y/N] ", False),
        ("Spinning up… name: ", False),
    ],
)
def test_a_prompt_for_a_password_is_known(prompt: str, secret: bool) -> None:
    assert is_secret(prompt) is secret


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"text": " "}, "a text of 1 to 4096 characters"),
        ({"text": "x" * 5000}, "a text of 1 to 4096 characters"),
        ({"text": "x", "form": Form.SELECT, "options": ("a",) * 101}, "at most 100 options"),
        ({"text": "x", "form": Form.SELECT}, "needs options"),
        ({"text": "x", "options": ("a",)}, "other questions have none"),
        ({"text": "x", "form": Form.BOOLEAN, "default": "yes"}, "must answer it"),
    ],
)
def test_a_question_that_cannot_be_meant_is_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadRequest, match=sentence):
        Question(**given)


_EXCLUSIVE = Question("Deploy?", Form.BOOLEAN, exclusive=True)
_SECRET = Question("Password:", secret=True)
_ALL = ("person", "client", "assistant")


@pytest.mark.parametrize(
    ("question", "ask", "taken"),
    [
        (_TEXT, _ALL, {"person", "client", "assistant", "command", "policy"}),
        (_TEXT, ("person",), {"person", "command", "policy"}),
        (_TEXT, (), {"command", "policy"}),
        (_EXCLUSIVE, _ALL, {"person", "client", "policy"}),
        (_EXCLUSIVE, ("assistant",), {"policy"}),
        (_SECRET, _ALL, {"person", "policy"}),
        (_SECRET, ("client", "assistant"), {"policy"}),
    ],
)
def test_141_145_who_may_answer(question: Question, ask: tuple[str, ...], taken: set[str]) -> None:
    assert {str(via) for via in Via if refused(question, via, ask) is None} == taken
    assert has_answerer(question, ask) is bool(taken & {"person", "client", "assistant"})


@pytest.mark.parametrize(
    ("question", "said", "value"),
    [(_BOOLEAN, " Yes ", True), (_BOOLEAN, "n", False), (_SELECT, "red", "red"), (_TEXT, "yes", "yes")],
)
def test_an_answer_in_words_is_what_it_says(question: Question, said: str, value: Value) -> None:
    assert spoken(question, said) == value
    with pytest.raises(BadRequest, match="say yes or no, not 'perhaps'"):
        spoken(_BOOLEAN, "perhaps")
