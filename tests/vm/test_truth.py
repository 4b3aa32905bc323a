"""The judge of what is on record after a power cut finds every kind of lie."""

import random

import pytest
from tests.vm import asks, truth
from tests.vm.asks import Ask, Json


def _ask() -> Ask:
    ask = asks.short("token", random.Random(1))
    ask.id = "j1"
    return ask


def _job(ask: Ask, **changed: object) -> Json:
    sizes = {"out": {"head": 0, "size": len(ask.out)}, "err": {"head": 0, "size": len(ask.err)}}
    job: Json = {
        "id": "j1", "label": "token", "command": ask.script, "key": None, "phase": "ended", "reason": "exited",
        "exit_code": ask.code, "signal": None, "status": ask.code, "by": "", "error": "", "ended_at": "then", "started_at": "before",
        "duration_ms": 5, "missing_bytes": 0, "output": sizes,
    }  # fmt: skip
    return job | changed


def test_the_truth_has_no_fault() -> None:
    ask = _ask()
    ask.end = _job(ask)
    assert not list(truth.faults(ask, _job(ask), ask.out, ask.err))


def test_a_request_that_was_not_answered_may_be_unknown() -> None:
    ask = _ask()
    ask.id = None
    assert not list(truth.faults(ask, None, b"", b""))


def test_a_lost_job_may_have_part_of_its_output() -> None:
    ask = _ask()
    job = _job(ask, reason="lost", exit_code=None, status=255)
    assert not list(truth.faults(ask, job, ask.out[:7], b""))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"id": "j2"}, "j1 was given out and is now j2"),
        ({"command": "other"}, "not what was asked for"),
        ({"exit_code": 9}, "exited with 9"),
        ({"reason": "lost", "exit_code": 0, "status": 0}, "is lost, with exit code 0"),
        ({"reason": "signaled", "exit_code": None}, "ended as signaled"),
        ({"reason": "killed", "exit_code": None}, "ended as killed"),
        ({"phase": "running"}, "runs, on a machine that was restarted"),
        ({"duration_ms": 6}, "duration_ms was reported as 5 and is now 6"),
    ],
)
def test_a_record_that_cannot_be_true_is_a_fault(changed: Json, said: str) -> None:
    ask = _ask()
    ask.end = _job(ask)
    found = list(truth.faults(ask, _job(ask, **changed), ask.out, ask.err))
    assert any(said in fault for fault in found), found


def test_a_job_that_vanished_is_a_fault() -> None:
    assert list(truth.faults(_ask(), None, b"", b"")) == ["j1 was given out and is not known"]


def test_output_that_is_cut_or_invented_is_a_fault() -> None:
    ask = _ask()
    cut = list(truth.faults(ask, _job(ask), ask.out[:-1], ask.err))
    assert any("passes as complete" in fault for fault in cut)
    assert not list(truth.faults(ask, _job(ask, missing_bytes=None), ask.out[:-1], ask.err))
    zeros = list(truth.faults(ask, _job(ask, reason="lost", exit_code=None, status=255), b"tok\0\0", b""))
    assert any("never written" in fault for fault in zeros)
    ask.end = _job(ask)
    reported = list(truth.faults(ask, _job(ask, missing_bytes=None), ask.out[:-1], ask.err))
    assert any("that was reported" in fault for fault in reported)
