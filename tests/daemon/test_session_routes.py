"""Sessions over plain HTTP, as any language has it."""

import os
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.http import Http, frames

from bide.api import Jobs


@pytest.fixture
def http(daemons_home: Path) -> Iterator[Http]:
    with closing(Http(daemons_home)) as found:
        yield found


@pytest.fixture
async def session(shared_remote: Jobs) -> AsyncIterator[str]:
    """A session of the test's own."""
    name = f"s{secrets.token_hex(4)}"
    await shared_remote.sessions.start(name)
    yield name
    await shared_remote.sessions.end(name)


def test_a_session_from_start_to_end(http: Http, tmp_path: Path) -> None:
    status, started = http.ask(
        "POST", "/v1/sessions", {"id": "s", "cwd": str(tmp_path), "base_env": {"PATH": os.environ["PATH"]}}
    )
    assert (status, started["session"]["id"], started["evicted"]) == (200, "s", [])
    status, ran = http.ask("POST", "/v1/jobs", {"command": "export A=1; pwd", "session": "s"})
    assert (status, ran["job"]["id"], ran["out"]["text"]) == (200, "job-s-1", f"{tmp_path}\n")
    status, found = http.ask("POST", "/v1/sessions/s", {"unset": ["B"], "vars": {"v": None}})
    assert (status, found["env"], found["unset"], found["vars"]) == (200, {"A": "1"}, ["B"], {"v": None})
    assert [job["id"] for job in http.ask("GET", "/v1/sessions/s")[1]["jobs"]] == ["job-s-1"]
    for ref in ("job-s-1", ran["job"]["pid"]):
        assert http.ask("GET", f"/v1/sessions/s/jobs/{ref}")[1]["id"] == "job-s-1"
    assert [one["id"] for one in http.ask("GET", "/v1/sessions?owner=user")[1]["sessions"]] == ["s"]
    status, ended = http.ask("DELETE", "/v1/sessions/s?forget=1")
    assert (status, ended["killed"], ended["unverified"], ended["forgotten"]) == (200, [], [], 1)
    status, gone = http.ask("GET", "/v1/sessions/s")
    assert (status, gone["error"]["code"]) == (404, "session_not_found")


async def test_a_followed_run_is_in_the_foreground(shared_remote: Jobs, http: Http, session: str) -> None:
    http.request("POST", "/v1/jobs?follow=1", f'{{"command": "export A=1; echo out", "session": "{session}"}}')
    found = frames(http.getresponse().read())
    assert (1, b"out\n") in found
    assert (await shared_remote.sessions.get(session)).env == {"A": "1"}
    assert not (await shared_remote.get(f"job-{session}-1")).spec.background


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "says"),
    [
        ("POST", "/v1/sessions", {"name": "x"}, 400, "has no field 'name'"),
        ("POST", "/v1/sessions", {"env": {"A": 1}}, 400, "field 'env'"),
        ("POST", "/v1/sessions/SESSION", {"id": "x"}, 400, "has no field 'id'"),
        ("POST", "/v1/sessions/none", {}, 404, "no session 'none' is open"),
        ("GET", "/v1/sessions?label=x", None, 400, "no filter 'label'"),
        ("DELETE", "/v1/sessions/SESSION?forget=yes", None, 400, "'forget' is 0 or 1"),
        ("PUT", "/v1/sessions/SESSION", None, 400, "takes DELETE or GET or POST"),
        ("GET", "/v1/sessions/SESSION/jobs/none", None, 404, "no job 'none'"),
        ("GET", "/v1/sessions/SESSION/jobs", None, 400, "no route"),
    ],
)
async def test_a_wrong_request_says_what_is_wrong(
    shared_remote: Jobs, http: Http, session: str, method: str, path: str, body: object, status: int, says: str
) -> None:
    found, answer = http.ask(method, path.replace("SESSION", session), body)
    assert found == status
    assert says in answer["error"]["message"]
    assert (await shared_remote.sessions.get(session)).seq == 0
