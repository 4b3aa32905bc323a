"""A job in words: what is said must be so."""

from typing import Any

import pytest
from tests.cli.shell import Shell

from bide import Reason
from bide.cli.details import details
from bide.model.words import called, ended_how, missing, short_status, succeeded

Job = dict[str, Any]

ENDED: Job = {
    "id": "j1",
    "name": None,
    "phase": "ended",
    "reason": "exited",
    "exit_code": 0,
    "signal": None,
    "by": "",
    "error": "",
    "duration_ms": 1500,
    "limits": {"timeout_ms": 10_000, "idle_ms": 2_000, "output_bytes": 65_536, "memory_bytes": 64 << 20},
}


@pytest.mark.parametrize(
    ("facts", "short", "sentence"),
    [
        ({}, "exit 0", "exited with 0"),
        ({"exit_code": 3}, "exit 3", "exited with 3"),
        ({"reason": "signaled", "signal": 11, "exit_code": None}, "SIGSEGV", "was ended by SIGSEGV"),
        ({"reason": "signaled", "signal": 250, "exit_code": None}, "signal 250", "was ended by signal 250"),
        ({"reason": "killed", "by": "agent-1"}, "killed", "was killed by agent-1"),
        ({"reason": "killed"}, "killed", "was killed by user"),
        ({"reason": "timed_out"}, "timed out", "timed out after 10.0s"),
        ({"reason": "timed_out", "limits": {}}, "timed out", "timed out after 1.5s"),
        ({"reason": "idle"}, "idle", "was ended after 2.0s without output"),
        ({"reason": "overflow"}, "overflow", "was ended because it wrote more than 64 KiB"),
        ({"reason": "oom"}, "out of memory", "ran out of memory (limit 64 MiB)"),
        ({"reason": "oom", "limits": {}}, "out of memory", "ran out of memory"),
        ({"reason": "spawn_failed", "error": "no such program"}, "not started", "could not start: no such program"),
        ({"reason": "lost", "error": "nobody saw it"}, "lost", "is lost: nobody saw it"),
    ],
)
def test_an_end_is_told_as_it_was(facts: Job, short: str, sentence: str) -> None:
    job = ENDED | facts
    assert short_status(job) == short
    assert ended_how(job) == sentence
    assert succeeded(job) == (sentence == "exited with 0")


def test_only_what_is_lost_is_said_to_be() -> None:
    for reason in Reason:
        assert ("lost" in ended_how(ENDED | {"reason": str(reason)})) == (reason is Reason.LOST)
    assert ended_how(ENDED | {"reason": "a new one"}) == "ended: a new one"


def test_a_job_that_goes_on_is_told_so() -> None:
    assert short_status({"phase": "queued"}) == "queued"
    assert short_status({"phase": "running", "waiting": None}) == "running"
    assert short_status({"phase": "running", "waiting": {"prompt": ""}}) == "waiting"
    assert not succeeded({"phase": "running"})


def test_a_name_stands_beside_the_id() -> None:
    assert called({"id": "j1", "name": None}) == "j1"
    assert called({"id": "j1", "name": "build"}) == "j1 (build)"


def test_missing_bytes_are_said() -> None:
    assert missing({"missing_bytes": 0}) is None
    assert missing({"missing_bytes": 2048}) == "2 KiB of its output could not be kept (disk full)"


def test_trouble_is_among_the_details(bide: Shell) -> None:
    job = bide.background("true")
    bide("wait", job)
    trouble = {"stalled": True, "taken_over": 2, "missing_bytes": 10, "usage": None}
    trouble |= {"output": {"out": {"head": 5, "size": 9}, "err": {"head": 0, "size": 0}}}
    page = dict(details(bide.json("show", job) | trouble))
    assert page["stalled"].startswith("the disk is full")
    assert page["keeper"] == "replaced 2 times"
    assert page["missing"].startswith("10 B")
    assert page["stdout"] == "9 B, the first 5 B dropped"
    assert "used" not in page
