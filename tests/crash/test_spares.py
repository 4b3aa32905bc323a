"""Keepers made ahead: killed at every system call, with their nursery, with their daemon, and while they wait."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.crash import processes
from tests.crash.killer import NEVER, Killer
from tests.crash.patience import until
from tests.crash.place import Place
from tests.crash.producing import Producers
from tests.crash.sweeping import sweep_daemon
from tests.support.processes import spares


@pytest.fixture
def traced(killer: Killer, tmp_path: Path) -> Iterator[Place]:
    """A home in which one keeper is made ahead, under a tracer."""
    found = Place(tmp_path, BIDE_KEEPER=str(killer.program), BIDE_SPARES="1")
    found.start()
    yield found
    found.close()


def warm(place: Place) -> list[int]:
    """The spares that wait; one at least."""
    if not place.spares:
        place.end(place.submit(["true"]))
    return until(lambda: place.spares)


def nothing_spare_is_left(place: Place) -> bool:
    return not spares(place.home) and not list((place.home / "new").glob("spare-*"))


def test_a_spare_may_die_at_every_system_call(traced: Place, killer: Killer, producers: Producers) -> None:
    """From the fork to the end of the job that it is given; the job before it has the spare that was there."""

    def once(point: int) -> None:
        warm(traced)
        killer.plan(point)
        first, second = producers.make(), producers.make()
        before = traced.submit(first.argv)
        until(lambda: traced.spares or killer.killed())
        job = traced.submit(second.argv)
        first.check(traced, traced.end(before))
        second.check(traced, traced.end(job))

    once(NEVER)
    for point in killer.points(30):
        once(point)


def test_the_daemon_may_die_at_every_system_call_of_a_submit_to_a_spare(
    traced: Place, killer: Killer, producers: Producers
) -> None:
    def once() -> None:
        made = producers.make()
        made.check(traced, traced.end(traced.submit(made.argv, key=made.marker.name)))

    sweep_daemon(traced, killer, 8, once, before=lambda: warm(traced))


def test_a_spare_that_is_killed_costs_no_job(place: Place, producers: Producers) -> None:
    for _ in range(3):
        for spare in warm(place):
            os.kill(spare, signal.SIGKILL)
        made = producers.mixed(3)
        for one in made:
            one.check(place, place.end(place.submit(one.argv)))


def test_a_spare_whose_folder_vanishes_costs_no_job(place: Place, producers: Producers) -> None:
    warm(place)
    for folder in (place.home / "new").glob("spare-*"):
        shutil.rmtree(folder, ignore_errors=True)  # one that is still being made changes its name
    made = producers.mixed(3)
    for one in made:
        one.check(place, place.end(place.submit(one.argv)))
    warm(place)


def test_spares_leave_with_their_nursery_and_others_come(place: Place, producers: Producers) -> None:
    waiting = warm(place)
    place.kill_nursery()
    until(lambda: nothing_spare_is_left(place))
    until(lambda: {processes.state(spare) for spare in waiting} <= {"", "Z"})
    made = producers.make()
    made.check(place, place.end(place.submit(made.argv)))
    warm(place)


def test_spares_leave_with_their_daemon(place: Place) -> None:
    warm(place)
    place.kill_daemon()
    until(lambda: nothing_spare_is_left(place))


def test_what_a_killed_spare_left_goes_when_a_daemon_starts(place: Place) -> None:
    waiting = warm(place)
    for spare in waiting:
        os.kill(spare, signal.SIGSTOP)
    place.kill_daemon()
    for spare in waiting:
        os.kill(spare, signal.SIGKILL)
    place.start()
    until(lambda: nothing_spare_is_left(place))


def test_what_is_left_of_a_dead_daemon_says_what_it_is(place: Place) -> None:
    """Keepers go on with their jobs; the nursery that forked them and the spares do not, and none passes for another."""
    warm(place)
    (nursery,) = processes.children_of(place.daemon)
    job = place.submit(["sleep", "1000"])
    until(lambda: place.keeper(job))
    keeper, spare = place.keeper(job), warm(place)[0]
    assert keeper is not None
    assert processes.words(nursery)[0] == b"bide-keeper: makes the keepers of bide's jobs"
    assert processes.words(keeper)[0] == f"bide-keeper: {job}".encode()
    assert processes.words(spare)[0] == b"bide-keeper: spare"
    place.kill_daemon()
    until(lambda: not processes.words(nursery) and not processes.words(spare))
    assert processes.words(keeper)[0] == f"bide-keeper: {job}".encode()
