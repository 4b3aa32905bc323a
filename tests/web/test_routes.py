"""The routes of docs/http.md, asked by a plain HTTP client."""

import base64
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.http import Http, frames

from bide.model.errors import ERRORS
from bide.version import VERSION
from bide.web.routes import ROUTES, STATUSES

JOB_FIELDS = (
    "id name kind phase exit_code signal reason by label owner session started_at ended_at duration_ms usage "
    "command argv cwd stdin pty merge fence limits enforced key created_at pid waiting alive input stalled status error errno "
    "output missing_bytes taken_over escaped survivors background turn lifetime ttl_ms service parent fingerprint paused queue "
    "ports ready ready_at successor gave_up seen output_dropped_at notify ask"
)


def run(http: Http, command: object, **options: object) -> Any:
    status, body = http.ask("POST", "/v1/jobs", {"command": command, **options})
    assert status == 200, body
    return body["job"]


def refusal(http: Http, method: str, path: str, body: object = None) -> tuple[int, str, str]:
    status, answer = http.ask(method, path, body)
    assert set(answer) == {"error"}
    assert set(answer["error"]) == {"code", "message", "facts"}
    return status, answer["error"]["code"], answer["error"]["message"]


def test_every_error_code_has_a_status() -> None:
    assert set(STATUSES) == set(ERRORS)


def test_every_route_is_documented() -> None:
    documented = Path("docs/http.md").read_text(encoding="utf-8")
    for method, path in ROUTES:
        names = {"groups": "{group}", "sessions": "{session}", "owners": "{owner}", "conversations": "{conversation}"}
        names |= {"outbox": "{consumer}", "carriers": "{carrier}", "questions": "{question}"}
        of = names.get(path.split("/")[1], "{job}")
        assert f"`{method} /{path.replace('*', of, 1).replace('*', '{job}')}`" in documented


def test_the_daemon_says_who_it_is(http: Http, daemon: Path) -> None:
    status, body = http.ask("GET", "/v1/daemon")
    assert status == 200
    assert (body["home"], body["version"]) == (str(daemon), VERSION)
    assert body["socket"] == str(daemon / "bide.sock")
    assert body["pid"] == int((daemon / "lock").read_text())
    assert {"started_at", "running", "queued", "python", "keeper"} <= set(body)


def test_a_run_is_answered_with_the_job_and_the_tails(http: Http) -> None:
    status, body = http.ask("POST", "/v1/jobs", {"command": "echo out; printf '\\xff' >&2; exit 3"})
    assert status == 200
    assert set(body) == {"job", "joined", "deferred", "out", "err"}
    assert set(body["job"]) == set(JOB_FIELDS.split())
    assert (body["job"]["phase"], body["job"]["exit_code"], body["job"]["status"]) == ("ended", 3, 3)
    assert {"text": "out\n", "offset": 0, "next": 4, "size": 4, "head": 0}.items() <= body["out"].items()
    assert body["err"]["text"] == "\ufffd"
    assert base64.b64decode(body["err"]["base64"]) == b"\xff"


def test_a_job_is_got_listed_waited_for_and_forgotten(http: Http) -> None:
    job = run(http, ["sh", "-c", "exit 1"], label="routes", name="r1")
    assert http.ask("GET", f"/v1/jobs/{job['id']}") == (200, job)
    assert http.ask("GET", "/v1/jobs/r1") == (200, job)
    status, page = http.ask("GET", "/v1/jobs?label=routes&phase=ended&limit=5&since=2026-01-01T00:00:00Z")
    assert (status, page) == (200, {"jobs": [job], "next": None})
    status, waited = http.ask("POST", "/v1/wait", {"jobs": ["r1"], "mode": "any", "timeout_ms": 5000})
    assert (status, waited["met"], waited["timed_out"], waited["jobs"]) == (200, "ended", False, [job])
    assert http.ask("DELETE", "/v1/jobs/r1") == (200, {})
    assert refusal(http, "GET", f"/v1/jobs/{job['id']}")[:2] == (410, "job_forgotten")


def test_bytes_are_answered_as_they_are_with_their_place_in_headers(http: Http) -> None:
    job = run(http, r"printf '0\x00\xff345'")["id"]
    answer = http.raw("GET", f"/v1/jobs/{job}/output?offset=1&limit=3")
    assert answer.read() == b"\x00\xff3"
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    place = {name: answer.headers[f"Bide-{name}"] for name in ("Offset", "Next", "Size", "Head", "Ended")}
    assert place == {"Offset": "1", "Next": "4", "Size": "6", "Head": "0", "Ended": "1"}


def test_matches_are_answered_as_json(http: Http) -> None:
    job = run(http, "seq 20 >&2")["id"]
    status, body = http.ask("GET", f"/v1/jobs/{job}/output?stream=err&grep=%5E1.%24")
    assert status == 200
    assert [match["line"] for match in body["matches"]] == [str(number) for number in range(10, 20)]
    assert {"next", "size", "head", "ended"} <= set(body)


def test_input_and_its_end_are_sent_as_text_or_base64(http: Http) -> None:
    job = run(http, "cat", stdin=True, background=True)["id"]
    assert http.ask("POST", f"/v1/jobs/{job}/send", {"text": "caf\u00e9 "})[0] == 200
    assert http.ask("POST", f"/v1/jobs/{job}/send", {"base64": "/wA=", "eof": True})[0] == 200
    http.ask("POST", "/v1/wait", {"jobs": [job]})
    assert http.raw("GET", f"/v1/jobs/{job}/output").read() == "caf\u00e9 ".encode() + b"\xff\x00"


def test_a_kill_says_what_it_did(http: Http) -> None:
    job = run(http, "sleep 1000", background=True)["id"]
    status, body = http.ask("POST", f"/v1/jobs/{job}/kill", {"signal": 9, "grace_ms": 0, "by": "a test"})
    assert status == 200
    assert (body["signalled"], body["verified_empty"], body["survivors"], body["already_ended"]) == (1, True, [], False)
    assert (body["job"]["reason"], body["job"]["by"], body["job"]["signal"]) == ("killed", "a test", 9)


def test_a_streamed_run_is_the_job_its_bytes_and_its_end(http: Http) -> None:
    http.request("POST", "/v1/jobs?follow=1", json.dumps({"command": "printf out; printf err >&2; exit 7"}))
    answer = http.getresponse()
    assert answer.headers["Content-Type"] == "application/vnd.bide.frames"
    found = frames(answer.read())
    events = [json.loads(payload) for kind, payload in found if kind == 0]
    assert [event["event"] for event in events] == ["job", "ended"]
    assert events[1]["job"]["exit_code"] == 7
    assert b"".join(payload for kind, payload in found if kind == 1) == b"out"
    assert b"".join(payload for kind, payload in found if kind == 2) == b"err"
    assert (found[0][0], found[-1][0]) == (0, 0)


def test_a_job_is_followed_from_offsets_or_its_last_lines(http: Http) -> None:
    job = run(http, "seq 5; echo e >&2")["id"]
    offsets = frames(http.raw("GET", f"/v1/jobs/{job}/follow?out=4&err=99").read())
    assert [payload for kind, payload in offsets if kind] == [b"3\n4\n5\n"]
    lines = frames(http.raw("GET", f"/v1/jobs/{job}/follow?tail=1").read())
    assert sorted(payload for kind, payload in lines if kind) == [b"5\n", b"e\n"]


def test_a_follower_is_told_what_was_dropped_and_that_the_job_asks(http: Http) -> None:
    dropped = run(http, "seq -f %09.0f 100000", limits={"output_bytes": 65536})["id"]
    found = frames(http.raw("GET", f"/v1/jobs/{dropped}/follow").read())
    events = [json.loads(payload) for kind, payload in found if kind == 0]
    (event,) = [event for event in events if event["event"] == "dropped"]
    assert (event["stream"], event["from"]) == ("out", 0)
    assert sum(len(payload) for kind, payload in found if kind == 1) == 1_000_000 - event["to"]

    asks = run(http, "printf 'Name? '; head -n 1 > /dev/null", stdin=True, background=True)["id"]
    answer = http.raw("GET", f"/v1/jobs/{asks}/follow")
    read = b""
    while b'"event":"waiting"' not in read:
        read += answer.read(1)
    with closing(Http(http.home)) as other:
        other.ask("POST", f"/v1/jobs/{asks}/send", {"text": "Ada\n"})
    events = [json.loads(payload) for kind, payload in frames(read + answer.read()) if kind == 0]
    assert {"event": "waiting", "prompt": "Name? "} in events
    assert events[-1]["event"] == "ended"


def test_events_are_server_sent_events(http: Http) -> None:
    job = run(http, "true")["id"]
    answer = http.raw("GET", f"/v1/events?after=0&job={job}")
    assert answer.headers["Content-Type"] == "text/event-stream"
    data: list[Any] = []
    number = 0
    while not data or data[-1]["what"] != "ended":
        line = answer.readline().decode().strip()
        if line.startswith("id: "):
            number = int(line[4:])
        elif line.startswith("data: "):
            data.append(json.loads(line[6:]))
            assert data[-1]["seq"] == number
    assert {event["job"] for event in data} == {job}
    assert data[0]["what"] == "queued"


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code", "message"),
    [
        ("GET", "/", None, 400, "bad_request", "no route GET /; docs/http.md lists them"),
        ("GET", "/v2/jobs", None, 400, "bad_request", "no route GET /v2/jobs; docs/http.md lists them"),
        ("PUT", "/v1/jobs", {}, 400, "bad_request", "/v1/jobs takes GET or POST, not PUT"),
        ("POST", "/v1/jobs", [], 400, "bad_request", "the request cannot be read: the body must be a JSON object"),
        ("POST", "/v1/jobs", {"command": "x", "when": 1}, 400, "bad_request", "'run' has no field 'when'"),
        ("POST", "/v1/jobs", {"command": "x", "cwd": "/no"}, 400, "folder_not_found", "no folder '/no' to run in"),
        ("GET", "/v1/jobs/nobody", None, 404, "job_not_found", "no job 'nobody' here"),
        ("GET", "/v1/jobs/..%2F..%2Fetc", None, 404, "job_not_found", "no job '../../etc' here"),
        ("GET", "/v1/jobs?colour=red", None, 400, "bad_request", "'list' has no filter 'colour'; known are phase"),
        (
            "GET",
            "/v1/jobs?limit=many",
            None,
            400,
            "bad_request",
            "'limit' must be a whole number from 0 on, of at most 15 digits, not 'many'",
        ),
        ("GET", "/v1/jobs?limit=0", None, 400, "bad_request", "a limit is a number from 1 to 1000, not 0"),
        ("GET", "/v1/jobs?since=soon", None, 400, "bad_request", "'since' must be a time as in ISO 8601, not 'soon'"),
        ("GET", "/v1/jobs/x/output?stream=in", None, 400, "bad_request", "there is no stream 'in'; use 'out' or 'err'"),
        ("GET", "/v1/jobs/x/output?offset=1e3", None, 400, "bad_request", "'offset' must be a whole number"),
        (
            "POST",
            "/v1/jobs/x/send",
            {"signal": "TERM"},
            400,
            "bad_request",
            "field 'signal' of 'send' cannot be 'TERM'",
        ),
        ("POST", "/v1/jobs/x/send", {"base64": "!"}, 400, "bad_request", "field 'base64' of 'send' cannot be decoded"),
        ("POST", "/v1/jobs/x/kill", {"grace": 1}, 400, "bad_request", "'kill' has no field 'grace'; known are signal"),
        ("POST", "/v1/jobs/x/kill", {}, 404, "job_not_found", "no job 'x' here"),
        ("POST", "/v1/wait", {"jobs": []}, 400, "bad_request", "wait needs at least one job"),
        ("POST", "/v1/daemon/stop", {"kill": "yes"}, 400, "bad_request", "field 'kill' of 'stop' cannot be 'yes'"),
        ("GET", "/v1/events?job=nobody", None, 404, "job_not_found", "no job 'nobody' here"),
    ],
)
def test_what_cannot_be_meant_has_a_status_a_code_and_a_sentence(
    http: Http, method: str, path: str, body: object, status: int, code: str, message: str
) -> None:
    found = refusal(http, method, path, body)
    assert found[:2] == (status, code)
    assert found[2].startswith(message)
    assert http.ask("GET", "/v1/daemon")[0] == 200


def test_gc_says_what_went(http: Http) -> None:
    job = run(http, "echo hello", owner="gc-1")
    status, body = http.ask("POST", "/v1/gc", {"older_than_ms": 0, "owner": "gc-1"})
    assert status == 200
    assert body["gone"] == [{"id": job["id"], "name": None, "bytes": 6, "seen": True}]
    assert {"dry_run", "forgotten", "dropped", "freed_bytes", "held_bytes", "kept", "unseen", "alive"} <= set(body)
    assert refusal(http, "GET", f"/v1/jobs/{job['id']}")[:2] == (410, "job_forgotten")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"all": True}, "'gc' has no field 'all'"),
        ({"dry_run": "yes"}, "field 'dry_run' of 'gc' cannot be 'yes'"),
        ({"older_than_ms": -1}, "an age is from 0"),
        ({"owner": "gc-1"}, "'owner' goes with 'older_than_ms'"),
        ({"older_than_ms": 1, "owner": "no such"}, "cannot be an owner"),
    ],
)
def test_a_gc_that_cannot_be_meant_is_refused(http: Http, body: object, said: str) -> None:
    status, code, message = refusal(http, "POST", "/v1/gc", body)
    assert (status, code) == (400, "bad_request")
    assert said in message


def test_an_owner_attends_as_long_as_the_connection_lasts(daemon: Path) -> None:
    with closing(Http(daemon)) as http:
        answer = http.raw("GET", "/v1/owners/agent%2F1/attend")
        assert answer.status == 200
        assert json.loads(answer.readline()) == {"attending": "agent/1"}
        answer.close()


def test_nobody_attends_for_what_is_no_owner(http: Http) -> None:
    assert refusal(http, "GET", "/v1/owners/no%20such/attend")[:2] == (400, "bad_request")
