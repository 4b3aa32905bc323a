"""kill -9 of the daemon, of clients, and of both, at random instants."""

import random
import sys
import threading

import pytest
from tests.crash.patience import pause, until
from tests.crash.place import Place
from tests.crash.producing import Gate, Producers, check_all
from tests.crash.size import rounds

from bide.model.errors import JobForgotten


def test_every_job_goes_on_and_ends_truly_while_daemons_die(place: Place, producers: Producers, torture: int) -> None:
    for _ in rounds():
        made = producers.mixed(torture, lines=150, pause_us=10_000)
        jobs = [place.submit(one.argv) for one in made]
        for _ in range(5):
            pause(random.uniform(0, 0.4))
            place.restart()
        check_all(place, place.ends(jobs), made)


def test_jobs_that_end_while_no_daemon_is_there_have_their_true_ends(
    place: Place, producers: Producers, gate: Gate, torture: int
) -> None:
    made = producers.mixed(torture, gate=gate.path)
    jobs = [place.submit(one.argv) for one in made]
    place.kill_daemon()
    gate.open()
    until(lambda: all((place.where(job) / "end").exists() for job in jobs))
    place.start()
    check_all(place, place.ends(jobs), made)


def test_what_is_asked_for_again_with_its_key_runs_once_while_daemons_die(
    place: Place, producers: Producers, torture: int
) -> None:
    for _ in rounds():
        made = producers.mixed(torture, lines=5)
        over = threading.Event()
        killing = threading.Thread(target=keep_killing, args=(place, over))
        killing.start()
        try:
            jobs = [place.submit(one.argv, key=one.marker.name) for one in made]
        finally:
            over.set()
            killing.join()
        assert len(set(jobs)) == len(made)
        check_all(place, place.ends(jobs), made)


def keep_killing(place: Place, over: threading.Event) -> None:
    while not over.is_set():
        pause(random.uniform(0, 0.5))
        place.restart()


@pytest.mark.parametrize("daemon_too", [False, True], ids=["client", "client and daemon"])
def test_a_job_outlives_the_client_that_waits_for_it(
    place: Place, producers: Producers, gate: Gate, *, daemon_too: bool
) -> None:
    made = producers.make(gate=gate.path)
    client = place.world.start(
        [sys.executable, "-P", "-m", "bide", "run", "--name", "kept", "--", *made.argv], BIDE_HOME=str(place.home)
    )
    until(lambda: made.ran == 1)
    if daemon_too:
        place.kill_daemon()
    place.world.kill(client)
    place.start()
    gate.open()
    made.check(place, place.end("kept"))


def test_a_job_is_forgotten_for_good_although_the_daemon_died_meanwhile(place: Place, producers: Producers) -> None:
    made = producers.mixed(2)
    jobs = [place.submit(one.argv) for one in made]
    ended = place.ends(jobs)
    place.call("DELETE", f"/v1/jobs/{jobs[0]}")
    place.kill_daemon()
    new = place.home / "new"
    place.where(jobs[0]).mkdir()  # as if it had died before the folder was removed
    (new / "forget-1").write_text(f'["{jobs[0]}"]')
    (new / "forget-2").write_text(f'["{jobs[1]}"]')  # or before the row was
    place.start()
    with pytest.raises(JobForgotten):
        place.job(jobs[0])
    made[1].check(place, ended[1])
    assert list(new.iterdir()) == []
