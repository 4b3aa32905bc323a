"""Who comes back, when, and for how long it is tried. Checklist 68."""

from datetime import timedelta

import msgspec
import pytest

from bide import End, Reason, Restart, Service, Until
from bide.model.errors import BadRequest
from bide.model.service import check_service, verdict

FAILED = End(Reason.EXITED, exit_code=1)
DONE = End(Reason.EXITED, exit_code=0)
CRASHED = End(Reason.SIGNALED, signal=11)
KILLED = End(Reason.KILLED, by="user")
OTHERS = [End(reason) for reason in (Reason.TIMED_OUT, Reason.IDLE, Reason.OVERFLOW, Reason.OOM, Reason.LOST)]


@pytest.mark.parametrize("end", [FAILED, CRASHED, End(Reason.SPAWN_FAILED), *OTHERS], ids=lambda end: str(end.reason))
def test_68_a_failure_brings_back_who_is_to_come_back_on_failure(end: End) -> None:
    assert verdict(Service(restart=Restart.NO), end).next is None
    assert verdict(Service(restart=Restart.ON_FAILURE), end).next is not None
    assert verdict(Service(restart=Restart.ALWAYS), end).next is not None


def test_68_a_success_brings_back_only_who_is_always_to_come_back() -> None:
    assert verdict(Service(restart=Restart.ON_FAILURE), DONE).next is None
    assert verdict(Service(restart=Restart.ALWAYS), DONE).next is not None


def test_who_was_killed_stays_down() -> None:
    assert verdict(Service(restart=Restart.ALWAYS), KILLED).next is None


def test_68_the_pauses_double_up_to_half_a_minute_and_then_it_is_given_up() -> None:
    service: Service | None = Service(restart=Restart.ALWAYS)
    pauses: list[float] = []
    while service is not None:
        found = verdict(service, FAILED)
        if found.next is None:
            assert "10 times in a row" in found.gave_up
        else:
            pauses.append(found.pause.total_seconds())
            assert found.next.run == found.next.tries == len(pauses)
        service = found.next
    assert pauses == [0.5, 1, 2, 4, 8, 16, 30, 30, 30, 30]


def test_a_run_that_lasted_begins_the_count_anew() -> None:
    lasted = End(Reason.EXITED, exit_code=1, duration=timedelta(seconds=10))
    found = verdict(Service(restart=Restart.ON_FAILURE, run=30, tries=10), lasted)
    assert found.next is not None
    assert (found.next.run, found.next.tries, found.pause) == (31, 1, timedelta(seconds=0.5))


def test_no_restarts_are_none() -> None:
    found = verdict(Service(restart=Restart.ALWAYS, restarts=0), FAILED)
    assert found.next is None
    assert "restarts is 0" in found.gave_up


@pytest.mark.parametrize("field", sorted({*Until.__struct_fields__} - {"log", "port", "http"}))
def test_a_condition_that_nobody_watches_makes_no_service_ready(field: str) -> None:
    value = {"quiet_seconds": 1.0, "question": ("q1",), "prompt": ("j1",)}.get(field, True)
    with pytest.raises(BadRequest, match="ready by a log line, a port, a URL or a command"):
        check_service(Service(ready=msgspec.convert({field: value}, Until)))


def test_the_ports_of_a_service_are_those_of_this_machine() -> None:
    assert Service(port=1, ready=Until(port=2)).ports == (1, 2)
    assert Service(port=1, ready=Until(port=1)).ports == (1,)
    assert Service(ready=Until(http="http://localhost/")).ports == (80,)
    assert Service(ready=Until(http="http://[::1]:81/")).ports == (81,)
    assert Service(ready=Until(http="http://example.org/")).ports == ()
