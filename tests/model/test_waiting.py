"""When a wait is over, and which waits cannot be meant."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from bide import End, Ended, Job, JobId, Mode, Queued, Reason, Running, Spec, Until
from bide.model.answers import wait_from_json
from bide.model.errors import BadRequest
from bide.model.phase import Phase
from bide.model.waiting import check_wait, is_over

AT = datetime(2026, 5, 1, tzinfo=UTC)
QUEUED = Queued()
RUNNING = Running(AT, 7)
ENDED = Ended(AT, End(Reason.EXITED, exit_code=0))


def job(phase: Phase) -> Job:
    return Job(JobId("j0123456789"), Spec(("true",), "true", "/"), AT, phase=phase)


@pytest.mark.parametrize(
    ("phases", "any_", "all_"),
    [
        ([QUEUED], False, False),
        ([RUNNING], False, False),
        ([ENDED], True, True),
        ([RUNNING, ENDED], True, False),
        ([ENDED, QUEUED, ENDED], True, False),
        ([ENDED, ENDED], True, True),
    ],
)
def test_a_wait_is_over_when_any_or_all_have_ended(phases: list[Phase], any_: bool, all_: bool) -> None:
    jobs = [job(phase) for phase in phases]
    assert is_over(jobs, Mode.ANY) is any_
    assert is_over(jobs, Mode.ALL) is all_


@pytest.mark.parametrize(
    ("jobs", "until", "sentence"),
    [
        ([], Until(), "wait needs at least one job; give an id or a name"),
        (["x"], Until(port=0), "port 0 is out of range; use 1 to 65535"),
        (["x"], Until(port=70000), "port 70000 is out of range"),
        (["x"], Until(http="https://x"), "'https://x' is not an http:// URL"),
        (["x"], Until(http="http://"), "'http://' is not an http:// URL"),
        (["x"], Until(http="http://x:port/"), "'http://x:port/' is not an http:// URL"),
        (["x"], Until(http="http://x/\r\nHost: y"), "is not an http:// URL"),
        (["x"], Until(quiet_seconds=0), "quiet must be longer than 0 seconds"),
    ],
)
def test_a_wait_that_cannot_be_meant_is_refused(jobs: list[str], until: Until, sentence: str) -> None:
    with pytest.raises(BadRequest, match=re.escape(sentence)):
        check_wait(jobs, until)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"jobs": "x"}, "field 'jobs' of 'wait' cannot be 'x'; it is a list of text"),
        ({"jobs": [1]}, "field 'jobs' of 'wait' cannot be [1]"),
        ({"jobs": ["x"], "mode": "most"}, "field 'mode' of 'wait' cannot be 'most'"),
        ({"jobs": ["x"], "until": {"moon": 1}}, "'until' has no field 'moon'; known are log, port, http"),
        ({"jobs": ["x"], "until": {"port": "80"}}, "field 'port' of 'until' cannot be '80'"),
        ({"jobs": ["x"], "until": {"log": 5}}, "field 'log' of 'until' cannot be 5"),
        ({"jobs": ["x"], "until": ["log"]}, "field 'until' of 'wait' cannot be ['log']"),
        ({"jobs": ["x"], "timeout_ms": "1"}, "field 'timeout_ms' of 'wait' cannot be '1'"),
    ],
)
def test_a_wait_on_the_wire_that_cannot_be_read_is_refused(body: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadRequest, match=re.escape(sentence)):
        wait_from_json(body)
