"""How phases and ends read in the words of seed 001, and what one number says of a place in two streams."""

from datetime import UTC, datetime, timedelta

import pytest

from bide.mcpserver.toolsets import sessionwords
from bide.mcpserver.toolsets.positions import Positions
from bide.model.job import Job, JobId, Spec
from bide.model.limits import Limits
from bide.model.phase import End, Ended, Phase, Queued, Reason, Running
from bide.model.plaintext import decoded

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def job(phase: Phase) -> Job:
    limits = Limits(timeout=timedelta(milliseconds=1500))
    return Job(JobId("job-s-1"), Spec(("true",), "true", "/", limits=limits), NOW, session="s", phase=phase)


def ended(
    reason: Reason, exit_code: int | None = None, signal: int | None = None, *, by: str = "", error: str = ""
) -> Ended:
    return Ended(NOW, End(reason, exit_code, signal, by, error), NOW, 7)


@pytest.mark.parametrize(
    ("phase", "status", "code", "error"),
    [
        (Queued(), "running", None, ""),
        (Running(NOW, 7), "running", None, ""),
        (ended(Reason.EXITED, 0), "completed", 0, ""),
        (ended(Reason.EXITED, 1), "failed", 1, ""),
        (ended(Reason.SIGNALED, None, 11), "failed", 139, "Execution was ended by SIGSEGV"),
        (ended(Reason.KILLED, None, 15, by="ann"), "failed", -1, "Execution was killed by ann"),
        (ended(Reason.KILLED, 0, by="ann"), "failed", -1, "Execution was killed by ann"),
        (ended(Reason.TIMED_OUT, None, 9), "failed", -1, "Execution timed out after 1500ms"),
        (ended(Reason.IDLE, None, 15), "failed", -1, "Execution was ended after 0ms without output"),
        (ended(Reason.OVERFLOW, None, 15), "failed", -1, "Execution was ended because it wrote more than 256 MiB"),
        (ended(Reason.OOM, None, 9), "failed", -1, "Execution ran out of memory"),
        (ended(Reason.SPAWN_FAILED, error="no such file"), "failed", -1, "Execution could not start: no such file"),
        (ended(Reason.LOST, error="nobody knows"), "failed", -1, "Execution is lost: nobody knows"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Queued | Running) else None,
)
def test_each_phase_and_end_has_its_status_and_code(phase: Phase, status: str, code: int | None, error: str) -> None:
    found = job(phase)
    assert (sessionwords.status(found), sessionwords.exit_code(found), sessionwords.error(found)) == (
        status,
        code,
        error,
    )


def test_a_number_that_was_given_stands_for_its_place() -> None:
    positions = Positions()
    assert positions.give("a", (5, 3)) == 8
    assert positions.give("b", (1, 7)) == 8
    assert positions.find("a", 8, (90, 90)) == ((5, 3), True)
    assert positions.find("b", 8, (90, 90)) == ((1, 7), True)


def test_of_two_places_with_one_number_nothing_is_left_out() -> None:
    positions = Positions()
    positions.give("a", (5, 3))
    positions.give("a", (2, 6))
    assert positions.find("a", 8, (90, 90)) == ((2, 3), True)


@pytest.mark.parametrize(
    ("number", "size", "place", "certain"),
    [
        (0, (9, 9), (0, 0), True),
        (4, (9, 0), (4, 0), True),
        (4, (0, 9), (0, 4), True),
        (7, (5, 5), (2, 2), False),
        (4, (5, 5), (0, 0), False),
        (10, (5, 5), (5, 5), False),
    ],
)
def test_a_number_that_is_not_known_is_taken_as_early_as_it_can_be(
    number: int, size: tuple[int, int], place: tuple[int, int], certain: object
) -> None:
    assert Positions().find("a", number, size) == (place, certain)


def test_the_oldest_places_of_too_many_are_forgotten() -> None:
    positions = Positions(most=2)
    for number in (1, 2, 1, 3):
        positions.give("a", (number, 0))
    assert [positions.find("a", number, (9, 9))[1] for number in (1, 2, 3)] == [True, False, True]


@pytest.mark.parametrize(
    ("data", "final", "text", "rest"),
    [
        (b"plain", False, "plain", 0),
        ("é€😀".encode(), False, "é€😀", 0),
        ("a€".encode()[:-1], False, "a", 2),
        ("a😀".encode()[:-1], False, "a", 3),
        ("a€".encode()[:-1], True, "a\ufffd", 0),
        (b"\xff\xfe", False, "\ufffd\ufffd", 0),
        (b"\x80a", False, "\ufffda", 0),
    ],
)
def test_an_unfinished_character_is_left_for_later(data: bytes, final: object, text: str, rest: int) -> None:
    assert decoded(data, final=bool(final)) == (text, rest)
