"""The routes of questions, asked by a plain HTTP client."""

import pytest
from tests.support.http import Http
from tests.web.asking import asking


def test_a_question_is_put_listed_answered_and_waited_for(http: Http) -> None:
    posed = asking(http)
    assert http.ask("GET", f"/v1/questions?job={posed['job']}") == (200, {"questions": [posed]})
    path = f"/v1/questions/{posed['id']}"
    status, answered = http.ask("POST", f"{path}/answer", {"text": "yes", "via": "person", "by": "me"})
    assert (status, answered["state"], answered["value"], answered["by"]) == (200, "answered", True, "me")
    assert http.ask("POST", f"{path}/wait", {}) == (200, answered) == http.ask("GET", path)
    assert http.ask("DELETE", path) == (200, answered)
    status, body = http.ask("POST", f"{path}/answer", {"value": False})
    assert (status, body["error"]["code"]) == (409, "question_closed")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "an answer has one of 'value', 'text' (its words) or 'deny'"),
        ({"value": True, "deny": True}, "an answer has one of"),
        ({"value": 1}, "field 'value' of 'answer' cannot be 1"),
        ({"value": "yes"}, "it must be true or false, not 'yes'"),
        ({"text": "perhaps"}, "say yes or no, not 'perhaps'"),
        ({"value": True, "via": "nobody"}, "field 'via' of 'answer' cannot be 'nobody'"),
    ],
)
def test_an_answer_that_cannot_be_meant_is_refused_and_the_question_stays_open(
    http: Http, body: object, said: str
) -> None:
    posed = asking(http)
    status, answer = http.ask("POST", f"/v1/questions/{posed['id']}/answer", body)
    assert (status, answer["error"]["code"], said in answer["error"]["message"]) == (400, "bad_request", True), answer
    assert http.ask("GET", f"/v1/questions/{posed['id']}") == (200, posed)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"job": "x"}, "a question needs 'job', whose it is, and 'question'"),
        ({"job": "x", "question": {"text": ""}}, "a question has a text of 1 to 4096 characters"),
        ({"job": "x", "question": {"text": "a", "type": "number"}}, "field 'type' of 'question' cannot be 'number'"),
        ({"job": "x", "question": {"text": "a", "type": "select"}}, "a select needs options"),
        ({"job": "x", "question": {"text": "a"}, "policy": "hope"}, "field 'policy' of 'pose' cannot be 'hope'"),
    ],
)
def test_a_question_that_cannot_be_meant_is_refused(http: Http, body: object, said: str) -> None:
    status, answer = http.ask("POST", "/v1/questions", body)
    assert (status, said in answer["error"]["message"]) == (400, True), answer
