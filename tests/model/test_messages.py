"""Everything is the same after the wire."""

from datetime import UTC, datetime, timedelta

import pytest

from bide import (
    End,
    Ended,
    Job,
    JobId,
    Limits,
    Match,
    OnOutputCap,
    Queued,
    Reason,
    Running,
    Slice,
    Spec,
    Stream,
    Usage,
    Waited,
)
from bide.model import errors
from bide.model.answers import (
    event_from_json,
    event_to_json,
    slice_from_json,
    slice_to_json,
    waited_from_json,
    waited_to_json,
)
from bide.model.errors import ERRORS, InternalError
from bide.model.event import Event
from bide.model.job import Facts
from bide.model.messages import job_from_json, job_to_json
from bide.model.phase import Descendant, Kept
from bide.model.question import Form, Policy, Posed, Question, State, Via

AT = datetime(2026, 5, 1, 12, 30, 15, 123000, tzinfo=UTC)
ID = JobId("j0123456789")
_SELECT = Question("Which?", Form.SELECT, ("a", "b"), "a", exclusive=True, secret=True)
POSED = Posed("q0123456789", ID, _SELECT, AT, Policy.AUTO, AT, None, State.ANSWERED, "b", Via.PERSON, "me", "why", AT)
PROMPT = Posed(f"{ID}:input:0", ID, Question("Name?"), AT, typed_at=0)
LEFT = (Descendant(7, 12345, "sleep"),)
USAGE = Usage(1, 2, "cgroup", 3, 4, sampled=True, processes=5)
SPEC = Spec(("/bin/sh", "-c", "x"), "x", "/tmp")
FULL = Spec(
    ("a", "\udcff"),
    "a",
    "/",
    kind="shell",
    stdin=True,
    pty=True,
    merge=True,
    fence=False,
    limits=Limits(
        timedelta(seconds=1),
        None,
        idle_needs_no_cpu=True,
        output_bytes=9,
        on_output_cap=OnOutputCap.KILL,
        cpus=0.5,
        pids=11,
        grace=timedelta(0),
    ),
    enforced=(("cpu", "none"), ("memory", "cgroup v1")),
)
END = End(
    Reason.OOM,
    signal=9,
    by="limit",
    error="it went over",
    errno=0,
    duration=timedelta(milliseconds=1500),
    usage=USAGE,
    out=Kept(4096, 9000),
    err=Kept(0, 5),
    missing_bytes=6,
    taken_over=1,
    survivors=LEFT,
)


@pytest.mark.parametrize(
    "job",
    [
        Job(ID, SPEC, AT),
        Job(ID, FULL, AT, name="n", owner="o", label="l", session="s", key="k"),
        Job(ID, SPEC, AT, phase=Running(AT, 7)),
        Job(ID, SPEC, AT, phase=Running(AT, 7), facts=Facts("Name? ", USAGE, Kept(0, 6), Kept(1, 2), stalled=True)),
        Job(ID, SPEC, AT, phase=Running(AT, 7), facts=Facts(waiting="")),
        Job(ID, SPEC, AT, phase=Running(AT, 7), facts=Facts(waiting="Which?", question=POSED)),
        Job(ID, SPEC, AT, phase=Running(AT, 7), facts=Facts(waiting="Name? ", question=PROMPT)),
        Job(ID, SPEC, AT, phase=Running(AT, 7), facts=Facts(waiting="Name? ", question=PROMPT, unsure=True)),
        Job(ID, SPEC, AT, phase=Ended(AT, END, AT, 7)),
        Job(ID, SPEC, AT, phase=Ended(AT, END, AT, 7), facts=Facts(alive=LEFT)),
        Job(ID, SPEC, AT, phase=Ended(AT, End(Reason.SPAWN_FAILED, errno=2))),
    ],
)
def test_a_job_is_the_same_after_the_wire(job: Job) -> None:
    assert job_from_json(job_to_json(job)) == job


def test_a_jobs_fixed_points_are_in_its_flat_form() -> None:
    names = "id name kind phase exit_code signal reason by label owner session started_at ended_at duration_ms usage"
    for phase in (Queued(), Running(AT, 7), Ended(AT, END, AT, 7)):
        assert set(names.split()) <= set(job_to_json(Job(ID, SPEC, AT, phase=phase)))


@pytest.mark.parametrize(
    "found",
    [
        Slice(Stream.OUT, b"plain\n", 0, 6, 6, 0, ended=True),
        Slice(Stream.ERR, b"\xff\x00\xfe", 10, 13, 99, 5, ended=False),
        Slice(Stream.OUT, "\ufffd é".encode(), 0, 6, 6, 0, ended=False),
        Slice(Stream.OUT, b"a\xff\n", 3, 9, 9, 0, ended=True, matches=(Match(Stream.OUT, 3, b"a\xff"),)),
    ],
)
def test_a_slice_is_the_same_after_the_wire_whatever_its_bytes(found: Slice) -> None:
    assert slice_from_json(slice_to_json(found)) == found


@pytest.mark.parametrize("match", [None, Match(Stream.ERR, 5, b"ready"), Match(Stream.OUT, 0, b"\xff\x00 ready")])
def test_a_wait_is_answered_the_same_after_the_wire(match: Match | None) -> None:
    waited = Waited((Job(ID, SPEC, AT),), "log", match)
    assert waited_from_json(waited_to_json(waited)) == waited


def test_an_event_is_the_same_after_the_wire() -> None:
    event = Event(9, AT, ID, "ended", "killed")
    assert event_from_json(event_to_json(event)) == event


FACTS = {
    "question": "q0000000000",
    "how": "it was answered by me",
    "what": "pause",
    "cli": "claude",
    "limits": "--memory",
    "advice": "run bide elsewhere",
    "failures": "5",
    "seconds": "60",
    "door": "mcp",
    "most": "100",
    "error": "refused",
    "cwd": "/x",
    "home": "/h",
    "detail": "why",
    "job": "j1",
    "owner": "me",
    "at": "then",
    "why": "as asked",
    "name": "n",
    "pid": "7",
    "reason": "killed",
    "path": "p",
    "found": "9",
    "known": "1",
    "session": "work",
    "conversation": "c",
    "operation": "claude_request",
    "policy": "strict",
    "score": "3",
    "reasons": "it would act",
    "waiting": "3",
    "port": "80",
    "holder": "process 7",
    "most_mib": "64",
    "line": "5",
}


@pytest.mark.parametrize("code", ERRORS)
def test_an_error_keeps_its_class_its_facts_and_its_sentence_over_the_wire(code: str) -> None:
    error = ERRORS[code](**FACTS)
    back = errors.from_json(error.to_json())
    assert type(back) is type(error)
    assert back.facts == FACTS
    assert str(back) == str(error)
    assert "{" not in str(error)


def test_an_error_of_a_newer_daemon_is_told_with_its_own_sentence() -> None:
    back = errors.from_json({"code": "moon_full", "message": "the moon is full", "facts": {}})
    assert isinstance(back, InternalError)
    assert "the moon is full" in str(back)
