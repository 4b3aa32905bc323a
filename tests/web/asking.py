"""Jobs that ask, for the tests of both doors: the routes and the page."""

from typing import Any

from tests.support.http import Http


def asking(http: Http, **question: object) -> Any:
    """A question of a job of its own: yes or no, unless told."""
    _, body = http.ask("POST", "/v1/jobs", {"command": "sleep 60", "background": True})
    given = {"job": body["job"]["id"], "question": {"text": "Go on?", "type": "boolean", **question}}
    status, posed = http.ask("POST", "/v1/questions", given)
    assert status == 200, posed
    return posed
