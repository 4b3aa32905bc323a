"""Connections to the daemon: kept, pipelined, broken, too large, and given up."""

import json
import os
import socket
import struct
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import pytest
from tests.support.http import Http
from tests.support.patience import PATIENCE

from bide.web.http import BODY_MAX


@contextmanager
def connected(home: Path) -> Generator[socket.socket]:
    """A bare connection."""
    with socket.socket(socket.AF_UNIX) as found:
        found.settimeout(PATIENCE)
        folder = os.open(home, os.O_PATH)
        found.connect(f"/proc/self/fd/{folder}/bide.sock")
        os.close(folder)
        yield found


@pytest.fixture
def wire(daemon: Path) -> Iterator[socket.socket]:
    """One that a test has."""
    with connected(daemon) as found:
        yield found


def memory(pid: int) -> int:
    """The memory that a process has now."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def rest(wire: socket.socket) -> bytes:
    """Everything until the daemon hangs up."""
    data = b""
    while piece := wire.recv(65536):
        data += piece
    return data


def alive(home: Path) -> bool:
    with closing(Http(home)) as http:
        return http.ask("GET", "/v1/daemon")[0] == 200


def test_a_connection_carries_many_requests(http: Http) -> None:
    http.ask("GET", "/v1/daemon")
    kept = http.sock
    for _ in range(3):
        assert http.ask("GET", "/v1/daemon")[0] == 200
        assert http.ask("GET", "/v1/jobs/nobody")[0] == 404
        assert http.sock is kept


def test_requests_sent_at_once_are_answered_in_turn(wire: socket.socket) -> None:
    head = b"GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n"
    wire.sendall(head % (b"/v1/daemon", b"") + head % (b"/v1/jobs/nobody", b""))
    wire.sendall(head % (b"/v1/daemon", b"Connection: close\r\n"))
    data = rest(wire)
    assert data.count(b"HTTP/1.1 ") == 3
    assert data.index(b"HTTP/1.1 200") < data.index(b"HTTP/1.1 404") < data.rindex(b"HTTP/1.1 200")


def test_a_request_may_come_byte_by_byte(wire: socket.socket) -> None:
    body = json.dumps({"jobs": ["nobody"]}).encode()
    head = f"POST /v1/wait HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    for byte in head + body:
        wire.send(bytes([byte]))
    assert rest(wire).startswith(b"HTTP/1.1 404 ")


def test_a_chunked_body_is_read(wire: socket.socket) -> None:
    head = b"POST /v1/wait HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    wire.sendall(head + b'9\r\n{"jobs": \r\n6\r\n["no"]\r\n1\r\n}\r\n0\r\n\r\n')
    assert b"no job 'no' here" in rest(wire)


def test_a_request_with_two_hosts_is_refused(wire: socket.socket, daemon: Path) -> None:
    wire.sendall(b"GET /v1/daemon HTTP/1.1\r\nHost: x\r\nhost: y\r\n\r\n")
    answer = rest(wire)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"a request has one Host header" in answer
    assert alive(daemon)


@pytest.mark.parametrize(
    "noise",
    [
        b"hello\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01",
        b"GET / SPDY/9\r\n\r\n",
        b"\x00" * 100,
        b"GET /v1/daemon HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
        b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
def test_what_is_not_http_is_refused_and_harms_nobody(wire: socket.socket, daemon: Path, noise: bytes) -> None:
    wire.sendall(noise)
    answer = rest(wire)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"this is not HTTP/1.1" in answer
    assert alive(daemon)


def test_a_request_that_is_too_large_is_told_so_and_the_connection_goes_on(http: Http) -> None:
    values = json.dumps({"jobs": ["x"] * 60_000})
    text = json.dumps({"command": "true", "background": True, "env": {"A": "," * 60_000}})
    for method, path, body, status, sentence in (
        ("POST", "/v1/jobs", bytes(3 * BODY_MAX), 413, f"at most {BODY_MAX} bytes"),
        ("GET", "/v1/jobs?label=" + "x" * 1_000_000, None, 400, "at most 65536 bytes together"),
        ("GET", "/v1/jobs?" + "a=1&" * 1000, None, 400, "at most 100 fields"),
        ("POST", "/v1/wait", values, 400, "more than 50000 values"),
        ("POST", "/v1/jobs", json.dumps({"command": "x" * 3_000_000}), 400, "at most 2097152 characters"),
        ("POST", "/v1/wait", json.dumps({"jobs": "x" * 100_000}), 400, "field 'jobs' of 'wait' cannot be"),
        ("POST", "/v1/jobs", text, 200, ""),
    ):
        http.request(method, path, body)
        answer = http.getresponse()
        said = answer.read().decode()
        assert (answer.status, sentence in said) == (status, True), said[:200]
        assert status == 200 or (len(said) < 1000 and json.loads(said)["error"]["code"] == "bad_request")
    assert http.ask("GET", "/v1/daemon")[0] == 200


def test_requests_that_wait_for_their_turn_are_bounded_together(wire: socket.socket, http: Http) -> None:
    _, job = http.ask("POST", "/v1/jobs", {"command": "sleep 60", "background": True})
    body = json.dumps({"jobs": [job["job"]["id"]]}).encode()
    wire.sendall(b"POST /v1/wait HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    large = b"POST /v1/wait HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (BODY_MAX // 2)
    with suppress(ConnectionError):
        for _ in range(4):
            wire.sendall(large + bytes(BODY_MAX // 2))
        rest(wire)  # the daemon hangs up long before the job ends


def test_requests_that_are_unfinished_are_bounded_together(daemon: Path, http: Http) -> None:
    pid = http.ask("GET", "/v1/daemon")[1]["pid"]
    before = memory(pid)
    head = b"POST /v1/wait HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % BODY_MAX
    with ExitStack() as stack:
        wires = [stack.enter_context(connected(daemon)) for _ in range(30)]
        for wire in wires:
            wire.sendall(head + bytes(BODY_MAX - 10))
        first = rest(wires[0])
        assert first.startswith(b"HTTP/1.1 503 ")
        assert json.loads(first.partition(b"\r\n\r\n")[2])["error"]["code"] == "too_much_at_once"
        assert memory(pid) - before < 100 * 1024 * 1024
        body = json.dumps({"jobs": ["nobody"], "mode": "any"}) + " " * (BODY_MAX // 2)
        http.request("POST", "/v1/wait", body)
        assert http.getresponse().status == 404


def test_short_headers_count_with_all_of_their_lines(http: Http) -> None:
    http.putrequest("GET", "/v1/daemon")
    for _ in range(20_000):
        http.putheader("A", "b")
    http.endheaders()
    answer = http.getresponse()
    assert answer.status == 400
    assert b"at most 65536 bytes together" in answer.read()


def test_a_request_with_too_many_headers_is_told_so(http: Http) -> None:
    http.putrequest("GET", "/v1/daemon")
    for number in range(3000):
        http.putheader("X-Same", f"value {number} that adds up")
    http.endheaders()
    answer = http.getresponse()
    assert answer.status == 400
    assert b"at most 65536 bytes together" in answer.read()


@pytest.mark.parametrize("body", [b"{", b"\xff", b"[1]", b'"x"', b"nul", b'{"command": "\\ud800"}', b"[" * 100_000])
def test_a_body_that_is_no_object_is_refused(http: Http, body: bytes) -> None:
    http.request("POST", "/v1/jobs", body)
    answer = http.getresponse()
    assert answer.status == 400
    assert json.loads(answer.read())["error"]["code"] == "bad_request"
    assert http.ask("GET", "/v1/daemon")[0] == 200


def test_a_caller_who_hangs_up_in_the_middle_leaves_the_job_alone(wire: socket.socket, http: Http) -> None:
    body = json.dumps({"command": "sleep 1000", "name": "left-alone"}).encode()
    wire.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    status = 404
    while status == 404:
        status, _ = http.ask("GET", "/v1/jobs/left-alone")
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wire.close()
    waited = http.ask("POST", "/v1/wait", {"jobs": ["left-alone"], "timeout_ms": 200})[1]
    assert waited["timed_out"]
    assert http.ask("POST", "/v1/jobs/left-alone/kill", {"signal": 9})[1]["job"]["reason"] == "killed"


def test_a_caller_who_leaves_while_an_answer_is_streamed_is_no_failure(daemon: Path, http: Http) -> None:
    job = http.ask("POST", "/v1/jobs", {"command": "yes | head -c 5000000"})[1]["job"]["id"]
    for _ in range(20):
        with connected(daemon) as wire:
            wire.sendall(f"GET /v1/jobs/{job}/follow HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert wire.recv(100_000)
    assert http.ask("GET", "/v1/daemon")[0] == 200
    log = daemon / "daemon.log"
    assert "a request failed" not in (log.read_text() if log.exists() else "")


def test_a_slow_reader_blocks_nobody_else(wire: socket.socket, http: Http, daemon: Path) -> None:
    status, body = http.ask("POST", "/v1/jobs", {"command": "head -c 30000000 /dev/zero", "name": "much"})
    assert status == 200, body
    wire.sendall(b"GET /v1/jobs/much/follow HTTP/1.1\r\nHost: x\r\n\r\n")
    assert wire.recv(10).startswith(b"HTTP/1.1")
    assert http.ask("POST", "/v1/jobs", {"command": "exit 5"})[1]["job"]["exit_code"] == 5
    total = 0
    while piece := wire.recv(1 << 20):
        total += len(piece)
    assert total > 30_000_000
    assert alive(daemon)


def test_a_hundred_idle_connections_are_harmless(daemon: Path) -> None:
    connections = [Http(daemon) for _ in range(100)]
    for http in connections:
        http.connect()
    assert alive(daemon)
    for http in connections:
        assert http.ask("GET", "/v1/daemon")[0] == 200
        http.close()
