"""From a record to an end: never a success that was none, and one sentence where there is something to say."""

from datetime import timedelta
from errno import EACCES, EMFILE, ENOENT
from typing import Any

import pytest
from tests.keeper.test_folder import AT, ID

from bide import Job, Limits, Reason, Spec
from bide.keeper import ends
from bide.model.phase import Descendant, Kept, Usage

LIMITS = Limits(timeout=timedelta(seconds=1.5), idle=timedelta(minutes=1), output_bytes=7, memory_bytes=9)
JOB = Job(ID, Spec(("prog", "x"), "prog x", "/there", limits=LIMITS, enforced=(("memory", "cgroup v1"),)), AT)

OLD = {
    "cpu_ms": 0,
    "peak": 0,
    "read": 0,
    "written": 0,
    "processes": 0,
    "sampled": 0,
    "taken_over": 0,
    "memory_source": None,
}
"""The usage that a keeper wrote before it knew that figures can be unknown."""


def end(**facts: Any) -> Any:
    record = ends.record_of(Reason.EXITED, error="", now_ms=1777593600000)
    return ends.ended(JOB, record | facts)


@pytest.mark.parametrize("reason", list(Reason))
def test_a_code_of_0_is_kept_for_those_who_exited_by_themselves(reason: Reason) -> None:
    """Checklist 256."""
    found = end(reason=str(reason), code=0).end
    assert found.exit_code == (0 if reason is Reason.EXITED else None)
    assert found.success is (reason is Reason.EXITED)


def test_a_code_above_0_is_kept_whatever_the_reason_but_for_a_program_that_never_ran() -> None:
    assert end(reason="killed", code=3).end.exit_code == 3
    assert end(reason="spawn_failed", code=127).end.exit_code is None


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"reason": "exited", "code": 1}, ""),
        ({"reason": "killed", "signal": 15}, ""),
        ({"reason": "timed_out"}, "it ran longer than 1.5 s"),
        ({"reason": "idle"}, "it wrote nothing for 60 s"),
        ({"reason": "overflow"}, "it wrote more than 7 bytes"),
        ({"reason": "oom"}, "it went over its memory limit of 9 bytes (cgroup v1)"),
        ({"reason": "lost"}, "its keeper and the daemon were both gone when it ended, so nobody saw how"),
        ({"reason": "lost", "error": "the machine restarted while it ran"}, "the machine restarted while it ran"),
        (
            {"reason": "spawn_failed", "errno": ENOENT, "stage": "exec"},
            "no command 'prog' was found; check the spelling and PATH",
        ),
        (
            {"reason": "spawn_failed", "errno": ENOENT, "stage": "interpreter"},
            "'prog' exists, but its interpreter does not; correct its first line (#!), or install what it names",
        ),
        (
            {"reason": "spawn_failed", "errno": EACCES, "stage": "exec"},
            "could not execute 'prog': Permission denied; it must be a program, or a script that may be executed (chmod +x)",
        ),
        (
            {"reason": "spawn_failed", "errno": ENOENT, "stage": "cwd"},
            "could not enter the folder '/there': No such file or directory",
        ),
        (
            {"reason": "spawn_failed", "errno": EMFILE, "stage": "pipe"},
            "could not be started (pipe): Too many open files",
        ),
    ],
)
def test_each_end_says_in_one_sentence_what_there_is_to_say(facts: dict[str, Any], sentence: str) -> None:
    assert end(**facts).end.error == sentence


def test_every_fact_of_a_record_is_in_the_end() -> None:
    found = end(
        code=3,
        by="caf\u00c3\u00a9",
        duration_ms=1500,
        started_wall=1777593590000,
        pid=77,
        out_head=4096,
        out_size=9000,
        err_size=5,
        missing=6,
        taken_over=2,
        cpu_ms=10,
        peak=11,
        read=12,
        written=13,
        memory_source="cgroup",
        left=[{"pid": 8, "start_ticks": 9, "command": "sleep"}],
    )
    assert (found.pid, found.ended_at, found.started_at) == (77, AT, AT - timedelta(seconds=10))
    assert found.end.by == "caf\u00e9"
    assert found.end.duration == timedelta(seconds=1.5)
    assert (found.end.out, found.end.err) == (Kept(4096, 9000), Kept(0, 5))
    assert (found.end.missing_bytes, found.end.taken_over) == (6, 2)
    assert found.end.survivors == (Descendant(8, 9, "sleep"),)
    usage = found.end.usage
    assert (usage.cpu_ms, usage.memory_peak_bytes, usage.read_bytes, usage.written_bytes) == (10, 11, 12, 13)
    assert (usage.memory_source, usage.sampled) == ("cgroup", True)


def test_figures_that_nobody_took_are_unknown_and_not_zero() -> None:
    """Also in records of earlier versions, which have zeros."""
    for facts in ({"reason": "lost"}, {"reason": "killed"}, {"reason": "lost", **OLD}):
        usage = end(**facts).end.usage
        assert (usage.cpu_ms, usage.memory_peak_bytes, usage.read_bytes, usage.written_bytes) == (None,) * 4
    assert ends.usage(OLD, live=True) == Usage(sampled=True)


def test_of_a_lost_job_the_last_sample_counts() -> None:
    page: dict[str, Any] = {"cpu_ms": 5, "peak": 6, "read": 7, "written": 8, "memory_source": "sampled", "sampled": 1}
    record = ends.record_of(Reason.LOST, error="", now_ms=1777593600000, live=page)
    usage = ends.ended(JOB, record).end.usage
    assert (usage.cpu_ms, usage.memory_peak_bytes, usage.read_bytes, usage.written_bytes) == (5, 6, 7, 8)
    assert (usage.memory_source, usage.sampled) == ("sampled", True)


def test_a_program_that_never_ran_was_never_started() -> None:
    assert end(reason="spawn_failed", errno=ENOENT, stage="exec").started_at is None
