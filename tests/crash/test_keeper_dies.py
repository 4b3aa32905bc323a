"""kill -9 of keepers at random, also mixed with kills of the daemon."""

import os
import random
import time

import pytest
from tests.crash.patience import pause, until
from tests.crash.place import Json, Place
from tests.crash.producing import Gate, Producer, Producers, check_all
from tests.crash.size import rounds

from bide.keeper import launch

STATUS_BY_PIDFD = tuple(map(int, os.uname().release.split(".")[:2])) >= (6, 15)
"""Whether the kernel tells the status of a process that somebody else collected."""


def kill_some(place: Place, jobs: list[str], number: int) -> None:
    """Kill keepers, one after the other, while the daemon lives; return when all jobs have one again or are over.

    A daemon that has only just started knows a job, and holds its pipes a few milliseconds later.
    """
    until(lambda: all(place.holds_pipes(job) or (place.where(job) / "end").exists() for job in jobs))
    for _ in range(number):
        place.kill_keeper(random.choice(jobs))
        pause(random.uniform(0, 0.05))
    until(lambda: all(place.keeper(job) or (place.where(job) / "end").exists() for job in jobs))


def test_keepers_may_die_at_random_and_nothing_is_lost(place: Place, producers: Producers, torture: int) -> None:
    for _ in rounds():
        made = producers.mixed(torture, lines=150, pause_us=10_000)
        jobs: list[str] = []
        # Some at a time: on a busy machine the first are over before the last have begun.
        for at in range(0, torture, max(torture // 8, 1)):
            these = [place.submit(one.argv) for one in made[at : at + max(torture // 8, 1)]]
            kill_some(place, these, torture // 4)
            jobs += these
        ended = place.ends(jobs)
        check_all(place, ended, made)
        assert sum(job["taken_over"] for job in ended) > 0


@pytest.mark.skipif(not STATUS_BY_PIDFD, reason="needs Linux 6.15: the jobs are not below the daemon that came back")
def test_daemons_and_keepers_may_die_in_turn_and_nothing_is_lost(
    place: Place, producers: Producers, torture: int
) -> None:
    for _ in rounds():
        made = producers.mixed(torture, lines=200, pause_us=10_000)
        jobs = [place.submit(one.argv) for one in made]
        for _ in range(5):
            kill_some(place, jobs, torture // 4)
            place.restart()
        check_all(place, place.ends(jobs), made)


def test_when_both_die_at_random_only_lost_is_said_and_never_an_invented_code(
    place: Place, producers: Producers, torture: int
) -> None:
    for _ in rounds():
        made = producers.mixed(torture, lines=150, pause_us=10_000)
        jobs = [place.submit(one.argv) for one in made]
        for _ in range(5):
            place.kill_daemon()
            for job in random.sample(jobs, torture // 4):
                place.kill_keeper(job)
            place.start()
            pause(random.uniform(0, 0.2))
        for one, job in zip(made, place.ends(jobs), strict=True):
            check_known(place, one, job)


def check_known(place: Place, producer: Producer, job: Json) -> None:
    """The truth, or that it is not known; and of the output all, or what was there up to some byte, and that this is so."""
    assert producer.ran == 1
    if job["reason"] == "lost":
        assert (job["exit_code"], job["signal"]) == (None, None)
    else:
        assert (job["exit_code"], job["reason"]) == (
            producer.code,
            "exited" if producer.code is not None else "signaled",
        )
    for stream in ("out", "err"):
        expected, found = producer.expected(stream), place.output(job["id"], stream)
        assert expected.startswith(found) if job["missing_bytes"] is None else expected == found


@pytest.mark.parametrize("goes_on", [False, True], ids=["ends before the next daemon", "goes on"])
def test_an_end_that_nobody_held_the_pipes_of_says_that_output_may_be_missing(
    place: Place, producers: Producers, gate: Gate, *, goes_on: bool
) -> None:
    made = producers.make(lines=50, gate=gate.path)
    job = place.submit(made.argv)
    until(lambda: made.ran)
    leader = place.started(job)
    place.kill_daemon()
    place.kill_keeper(job)
    if goes_on:
        place.start()
        until(lambda: place.live(job)["taken_over"] == 1)
    gate.open()
    if not goes_on:
        until(lambda: not launch.is_alive(leader.pid, leader.ticks))
        place.start()
    ended = place.end(job)
    check_known(place, made, ended)
    assert ended["missing_bytes"] == (0 if goes_on else None)
    place.restart()
    for suffix in ("", "-wal", "-seal"):
        (place.home / f"bide.db{suffix}").unlink(missing_ok=True)
    assert place.job(job)["missing_bytes"] == ended["missing_bytes"]


def test_the_keeper_of_one_job_may_die_again_and_again(place: Place, producers: Producers) -> None:
    for _ in rounds():
        gate = Gate(place.home.parent / "once")
        made = producers.make(lines=300, pause_us=10_000, gate=gate.path)
        job = place.submit(made.argv)
        for number in range(30):
            until(lambda job=job, number=number: place.live(job)["taken_over"] == number)
            until(lambda job=job: place.kill_keeper(job))
        until(lambda job=job: place.live(job)["taken_over"] == 30)
        gate.open()
        ended = place.end(job)
        made.check(place, ended)
        assert ended["taken_over"] == 30


def test_what_is_still_in_the_pipe_when_keeper_and_job_are_gone_is_kept(place: Place, producers: Producers) -> None:
    for _ in rounds():
        for _ in range(20):
            made = producers.make(lines=500, width=60)
            job = place.submit(made.argv)
            place.kill_keeper(job)
            made.check(place, place.end(job))


@pytest.mark.parametrize("grace_ms", [0, 300])
def test_a_time_limit_holds_again_within_a_second(place: Place, grace_ms: int) -> None:
    deaf = ["sh", "-c", "trap '' TERM; while :; do sleep 0.02; done"]
    job = place.submit(deaf, limits={"timeout_ms": 700, "grace_ms": grace_ms})
    before = time.monotonic()
    place.kill_keeper(job)
    ended = place.end(job)
    assert (ended["reason"], ended["exit_code"], ended["signal"], ended["taken_over"]) == ("timed_out", None, 9, 1)
    assert time.monotonic() - before < 0.7 + grace_ms / 1000 + 1


def test_a_limit_that_ran_out_while_no_keeper_was_there_is_made_good_at_once(place: Place) -> None:
    job = place.submit(["sleep", "1000"], limits={"timeout_ms": 300})
    place.kill_daemon()
    place.kill_keeper(job)
    pause(0.4)
    place.start()
    ended = place.end(job)
    assert ended["reason"] == "timed_out"


def test_the_nursery_may_die(place: Place, producers: Producers, gate: Gate) -> None:
    made = producers.mixed(6, gate=gate.path)
    jobs = [place.submit(one.argv) for one in made[:3]]
    place.kill_nursery()
    jobs += [place.submit(one.argv) for one in made[3:]]
    for job in jobs:
        place.kill_keeper(job)
    gate.open()
    check_all(place, place.ends(jobs), made)
