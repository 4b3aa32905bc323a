"""What is due to whom, in what order, and what a flag filters: tables of cases."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from bide.model.job import Job, JobId, Spec
from bide.model.notice import (
    LEASE,
    Delivery,
    Level,
    State,
    gathered_for,
    in_order,
    is_due,
    notice,
    notice_of_end,
    pause_after,
    superseded,
)
from bide.model.notify import Notify, What, is_wanted
from bide.model.pacing import BATCH_BYTES, BURST, Pace, last_lines
from bide.model.phase import End, Ended, Reason, Running

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)
JOB = Job(JobId("j1"), Spec(argv=("true",), command="true", cwd="/"), NOW, owner="ann")
RUNNING = JOB.at(Running(NOW, 7))


def ended(reason: Reason = Reason.EXITED, code: int | None = 0, by: str = "") -> Job:
    return JOB.at(Ended(NOW, End(reason, exit_code=code, by=by)))


@pytest.mark.parametrize(
    ("job", "what", "level"),
    [
        (ended(), What.ENDED, Level.INFO),
        (ended(code=1), What.FAILED, Level.ERROR),
        (ended(Reason.TIMED_OUT, None), What.FAILED, Level.ERROR),
        (ended(Reason.LOST, None), What.FAILED, Level.CRITICAL),
        (ended(Reason.KILLED, None, by="ann"), What.KILLED, Level.INFO),
        (ended(Reason.KILLED, None, by="bob"), What.FAILED, Level.ERROR),
        (ended(Reason.KILLED, None, by="restart"), What.KILLED, Level.INFO),
    ],
)
def test_an_end_is_news_of_a_kind_and_a_level(job: Job, what: What, level: Level) -> None:
    found = notice_of_end(job)
    assert (found.what, found.level, found.id) == (what, level, "j1:end")


@pytest.mark.parametrize(
    ("what", "wanted"),
    [
        (What.ENDED, True),
        (What.FAILED, True),
        (What.WAITING, True),
        (What.READY, True),
        (What.STALLED, True),
        (What.OUTPUT, False),
        (What.ERROR, False),
        (What.KILLED, False),
    ],
)
def test_132_what_is_told_where_nobody_says_otherwise(what: What, *, wanted: bool) -> None:
    assert is_wanted(what, []) is wanted


def test_the_first_who_says_something_decides() -> None:
    assert not is_wanted(What.ENDED, [Notify(on_success=False), Notify(on_success=True)])
    assert is_wanted(What.OUTPUT, [Notify(), Notify(on_content=True)])
    assert is_wanted(What.FAILED, [Notify(on_success=False)])


@pytest.mark.parametrize(
    ("delivery", "due"),
    [
        ({}, True),
        ({"next_at": NOW + timedelta(seconds=1)}, False),
        ({"next_at": NOW}, True),
        ({"state": State.CARRIED, "carried_at": NOW - timedelta(seconds=1)}, False),
        ({"state": State.CARRIED, "carried_at": NOW - LEASE}, True),
        ({"state": State.DONE}, False),
        ({"state": State.DROPPED}, False),
    ],
)
def test_what_is_due(delivery: dict[str, object], *, due: bool) -> None:
    one = Delivery(notice(JOB, What.READY, NOW), "ann")
    assert is_due(replace(one, **delivery), NOW) is due


def test_the_most_severe_comes_first_and_then_the_oldest() -> None:
    found = [
        Delivery(notice(JOB, What.READY, NOW), "ann"),
        Delivery(notice_of_end(ended(code=1)), "ann"),
        Delivery(notice(JOB, What.WAITING, NOW, place=4), "ann"),
        Delivery(notice(JOB, What.WAITING, NOW - timedelta(seconds=1), place=2), "ann"),
        Delivery(notice_of_end(replace(ended(Reason.LOST, None), id=JobId("j2"))), "ann"),
    ]
    assert [one.notice.id for one in in_order(found)] == [
        "j2:end",
        "j1:end",
        "j1:waiting:2",
        "j1:waiting:4",
        "j1:ready",
    ]


@pytest.mark.parametrize(
    ("what", "job", "waiting", "is_old"),
    [
        (What.WAITING, RUNNING, True, False),
        (What.WAITING, RUNNING, False, True),
        (What.WAITING, ended(), False, True),
        (What.READY, RUNNING, False, False),
        (What.READY, ended(), False, True),
        (What.OUTPUT, ended(), False, True),
        (What.ENDED, ended(), False, False),
        (What.FAILED, ended(code=1), False, False),
    ],
)
def test_what_is_no_news_any_more(what: What, job: Job, *, waiting: bool, is_old: bool) -> None:
    assert superseded(what, job, waiting=waiting) is is_old


def test_41_pauses_double_from_500_ms_to_30_s_with_jitter() -> None:
    pauses = [pause_after(tries, 0).total_seconds() for tries in range(1, 10)]
    assert pauses == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    assert pause_after(1, 0.999) < timedelta(milliseconds=700)
    assert pause_after(50, 1) == timedelta(seconds=30)


@pytest.mark.parametrize(("tries", "seconds"), [((0,), 1), ((0, 0), 1), ((1,), 0), ((0, 2), 0)])
def test_41_what_a_sink_did_not_accept_is_not_gathered_for_once_more(tries: tuple[int, ...], seconds: int) -> None:
    due = [Delivery(notice(JOB, What.READY, NOW, place=at), "sink:x", tries=one) for at, one in enumerate(tries)]
    assert gathered_for(due, timedelta(seconds=1)) == timedelta(seconds=seconds)


def test_66_output_is_told_ten_times_at_once_and_then_every_two_seconds() -> None:
    pace = Pace(0.0)
    for _ in range(BURST):
        assert pace.wait(0.0) == 0
        pace.take()
    assert pace.wait(0.0) == pytest.approx(2.0)
    assert pace.wait(1.5) == pytest.approx(0.5)
    assert pace.wait(2.0) == 0


def test_66_a_batch_has_whole_lines_up_to_3000_bytes_and_counts_what_is_left_out() -> None:
    lines = [(at * 1000, at * 1000 + 1000) for at in range(5)]
    assert last_lines(lines) == (3000, 5000, 3)
    assert last_lines([(0, BATCH_BYTES * 2)]) == (0, BATCH_BYTES * 2, 0)
    assert last_lines([(0, 10), (10, 20)]) == (0, 20, 0)
