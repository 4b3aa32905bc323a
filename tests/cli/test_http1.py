import json

import pytest

from bide.client.http1 import Answer, Frames, quote, request
from bide.model.errors import InternalError, JobNotFound


def answered(*pieces: bytes) -> Answer:
    answer = Answer()
    for piece in pieces:
        answer.feed(piece)
    return answer


def test_a_request_without_a_body_is_its_head() -> None:
    assert request("GET", "/v1/daemon") == b"GET /v1/daemon HTTP/1.1\r\nHost: bide\r\n\r\n"


def test_a_request_carries_its_body_and_its_length() -> None:
    head, _, body = request("POST", "/v1/wait", {"jobs": ["ä"]}).partition(b"\r\n\r\n")
    assert json.loads(body) == {"jobs": ["ä"]}
    assert b"Content-Length: %d" % len(body) in head


def test_a_query_leaves_out_what_is_none_and_quotes_the_rest() -> None:
    wanted = b"GET /v1/jobs?a=1&c=x%20%26%2Fy HTTP/1.1"
    assert request("GET", "/v1/jobs", query={"a": 1, "b": None, "c": "x &/y"}).startswith(wanted)


def test_a_path_segment_is_quoted_also_where_it_is_no_utf_8() -> None:
    assert quote("a/b?é\udc80") == "a%2Fb%3F%C3%A9%80"


def test_an_answer_is_complete_when_its_length_has_come() -> None:
    data = b'HTTP/1.1 200 OK\r\nContent-Length: 8\r\nBide-Next: 7\r\n\r\n{"a": 1}'
    for cut in range(len(data)):
        answer = answered(data[:cut])
        assert not answer.complete
        answer.feed(data[cut:])
        assert answer.complete
        assert answer.keeps_alive
        assert answer.headers["bide-next"] == "7"
        assert answer.json() == {"a": 1}


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    answer = answered(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nab", b"cd")
    assert answer.has_head
    assert answer.length is None
    assert not answer.complete
    assert answer.take() == b"abcd"
    assert answer.take() == b""


def test_a_connection_that_closes_is_not_kept() -> None:
    assert not answered(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").keeps_alive


def test_an_error_is_raised_as_what_it_is() -> None:
    body = json.dumps({"error": JobNotFound(job="x").to_json()}).encode()
    answer = answered(b"HTTP/1.1 404 Not Found\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    with pytest.raises(JobNotFound, match="no job 'x'"):
        answer.json()


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"x" * 70_000,
    ],
)
def test_what_is_not_http_is_refused(data: bytes) -> None:
    with pytest.raises(InternalError):
        answered(data)


@pytest.mark.parametrize("body", [b"[1]", b"nonsense", b""])
def test_a_body_that_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(InternalError, match="answer is not"):
        answered(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body).json()


def test_an_error_status_without_an_error_is_a_fault() -> None:
    with pytest.raises(InternalError, match="answered 500"):
        answered(b"HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\n{}").json()


def test_frames_are_cut_wherever_the_bytes_are() -> None:
    data = b"\x00\x00\x00\x00\x02{}" + b"\x01\x00\x00\x00\x03abc" + b"\x02\x00\x00\x00\x00"
    wanted = [(0, b"{}"), (1, b"abc"), (2, b"")]
    for cut in range(len(data) + 1):
        frames = Frames()
        assert frames.feed(data[:cut]) + frames.feed(data[cut:]) == wanted
