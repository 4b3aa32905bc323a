"""Numbers that cannot be meant, in every query and body: refused by the name of the field, with no traceback."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.support.http import Http

from bide.client.start import ensure_daemon

JOB = {"command": "sleep 1000", "stdin": True, "background": True}
QUERIES = {
    "v1/jobs": ["limit"],
    "v1/jobs/{job}/output": ["offset", "limit", "tail", "follow_ms"],
    "v1/jobs/{job}/output?grep=x": ["offset", "limit"],
    "v1/jobs/{job}/follow": ["out", "err", "tail"],
    "v1/events": ["after"],
    "v1/questions": ["timeout_ms"],
    "v1/asks/{job}/steps": ["after", "limit", "wait_ms"],
    "v1/llm/approvals": ["limit"],
}
SPEC = {"command": ["true"], "background": True}
LIMITS = ("timeout_ms", "idle_ms", "output_bytes", "memory_bytes", "cpus", "pids", "grace_ms")
BODIES: dict[str, list[tuple[dict[str, Any], str]]] = {
    "v1/jobs": [
        *[({**SPEC, "limits": {name: None}}, f"limits.{name}") for name in LIMITS],
        (SPEC, "umask"),
        (SPEC, "deadline_ms"),
        (SPEC, "ttl_ms"),
        ({**SPEC, "dedup": {"policy": "reuse_recent", "window_ms": None}}, "dedup.window_ms"),
        *[
            ({**SPEC, "name": "s", "service": {name: None}}, f"service.{name}")
            for name in ("port", "restarts", "ready_timeout_ms")
        ],
        ({**SPEC, "name": "s", "service": {"ready": {"port": None}}}, "service.ready.port"),
    ],
    "v1/wait": [
        ({"jobs": ["{job}"]}, "timeout_ms"),
        ({"jobs": ["{job}"], "until": {"port": None}, "timeout_ms": 0}, "until.port"),
        ({"jobs": ["{job}"], "until": {"quiet_seconds": None}, "timeout_ms": 0}, "until.quiet_seconds"),
    ],
    "v1/jobs/{job}/send": [({}, "signal"), ({"text": "x"}, "at")],
    "v1/jobs/{job}/kill": [({}, "signal"), ({}, "grace_ms")],
    "v1/services/{job}/restart": [({}, "grace_ms")],
    "v1/groups/g": [({}, "limit")],
    "v1/gc": [({"dry_run": True}, "older_than_ms")],
    "v1/outbox/c/pull": [({}, "limit"), ({}, "room"), ({}, "timeout_ms")],
    "v1/questions": [
        ({"job": "{job}", "question": {"text": "?"}}, "timeout_ms"),
        ({"job": "{job}", "question": {"text": "?"}}, "asker"),
    ],
}
SAID = {
    "output_bytes": "output",
    "memory_bytes": "memory",
    "quiet_seconds": "quiet",
    "ttl_ms": "time to live",
    "older_than_ms": "an age",
    "v1/outbox/c/pull limit": "1 to 2000 notices",
    "v1/outbox/c/pull room": "100000 characters",
    "v1/services/{job}/restart grace_ms": "'grace_ms'",
    "ready_timeout_ms": "time for a service to be ready",
    "restarts": "restarts",
}
"""Words of the sentence where it is not the name of the field."""
NEGATIVE = (-1, -(2**53))
ABSURD = (2**63, 10**30, 1e308)


@pytest.fixture
def http(daemons_home: Path) -> Iterator[Http]:
    ensure_daemon(str(daemons_home))
    found = Http(daemons_home)
    yield found
    found.close()
    assert "Traceback" not in (daemons_home / "daemon.log").read_text()


@pytest.fixture
def job(http: Http) -> Iterator[str]:
    found = str(http.ask("POST", "/v1/jobs", JOB)[1]["job"]["id"])
    yield found
    http.ask("POST", f"/v1/jobs/{found}/kill", {"signal": 9, "grace_ms": 0})


def filled(template: Any, job: str) -> Any:
    return json.loads(json.dumps(template).replace("{job}", job))


def with_number(body: dict[str, Any], field: str, number: float) -> dict[str, Any]:
    found = json.loads(json.dumps(body))
    *within, last = field.split(".")
    place = found
    for name in within:
        place = place[name]
    place[last] = number
    return found


@pytest.mark.parametrize("path", QUERIES)
def test_a_negative_or_absurd_number_in_a_query_is_refused_by_its_name(http: Http, job: str, path: str) -> None:
    for name in QUERIES[path]:
        target = f"/{path.format(job=job)}"
        for number in (*NEGATIVE, 2**63, 10**30, "1e3", "nan", "٣", ""):
            query = f"{'&' if '?' in target else '?'}{name}={quote(str(number))}"
            status, answer = http.ask("GET", target + query)
            assert (status, name in answer["error"]["message"]) == (400, True), (name, number, answer)


@pytest.mark.parametrize("path", BODIES)
def test_a_negative_or_absurd_number_in_a_body_is_refused_by_its_name(http: Http, job: str, path: str) -> None:
    for template, field in BODIES[path]:
        name = field.rpartition(".")[2]
        said = SAID.get(f"{path} {name}", SAID.get(name, name.removesuffix("_ms")))
        for number in (*NEGATIVE, *ABSURD):
            status, answer = http.ask(
                "POST", f"/{path.format(job=job)}", with_number(filled(template, job), field, number)
            )
            assert status == 400, (field, number, answer)
            assert said in answer["error"]["message"] or "9007199254740992" in answer["error"]["message"]
