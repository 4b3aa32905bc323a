"""How a job ended, and what that counts as."""

from datetime import UTC, datetime
from errno import EACCES, ENOENT, ENOEXEC

import pytest

from bide import End, Ended, Queued, Reason, Running
from bide.model.phase import MOVES, PHASE_NAMES

AT = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (End(Reason.EXITED, exit_code=0), 0),
        (End(Reason.EXITED, exit_code=124), 124),
        (End(Reason.SIGNALED, signal=11), 139),
        (End(Reason.KILLED, signal=15), 143),
        (End(Reason.KILLED, signal=9), 137),
        (End(Reason.KILLED, exit_code=3), 3),
        (End(Reason.KILLED), 143),
        (End(Reason.TIMED_OUT, signal=15), 124),
        (End(Reason.TIMED_OUT, exit_code=1), 124),
        (End(Reason.IDLE, signal=9), 125),
        (End(Reason.OVERFLOW, signal=15), 126),
        (End(Reason.OOM, signal=9), 137),
        (End(Reason.LOST), 255),
        (End(Reason.SPAWN_FAILED, errno=ENOENT), 127),
        (End(Reason.SPAWN_FAILED, errno=EACCES), 126),
        (End(Reason.SPAWN_FAILED, errno=ENOEXEC), 126),
    ],
)
def test_the_status_is_the_one_a_shell_would_show(end: End, status: int) -> None:
    assert end.status == status


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason is not Reason.EXITED])
def test_only_an_exit_with_0_is_a_success(reason: Reason) -> None:
    """Checklist 256."""
    assert End(Reason.EXITED, exit_code=0).success
    assert not End(Reason.EXITED, exit_code=1).success
    assert not End(reason, exit_code=0).success
    assert not End(reason).success
    assert End(reason).status != 0


def test_the_keeper_has_room_for_every_reason() -> None:
    """`reason` in keeper.h, with the byte that ends it."""
    assert max(len(reason) for reason in Reason) < 16


def test_a_job_moves_forward_only() -> None:
    order = [Queued, Running, Ended]
    assert set(MOVES) == set(PHASE_NAMES) == set(order)
    for phase, targets in MOVES.items():
        assert all(order.index(target) > order.index(phase) for target in targets)


def test_an_end_cannot_be_changed() -> None:
    ended = Ended(AT, End(Reason.KILLED))
    with pytest.raises(AttributeError):
        ended.end = End(Reason.EXITED, exit_code=0)  # pyright: ignore[reportAttributeAccessIssue]
