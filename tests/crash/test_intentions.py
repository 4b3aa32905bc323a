"""Whoever asked for an end, or whatever limit did, gets it, also if the keeper dies on the way, and is named with it."""

import threading

import pytest
from tests.crash.patience import until
from tests.crash.place import Json, Place
from tests.crash.size import rounds

from bide.keeper import folder

DEAF = ["sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.02; done"]
POLITE = ["sh", "-c", "trap 'exit 0' TERM; echo up; while :; do sleep 0.02; done"]


def up(place: Place, argv: list[str], **options: object) -> str:
    job = place.submit(argv, **options)
    until(lambda: place.size(job) > 0)
    return job


@pytest.mark.parametrize("signal", [15, 9])
def test_a_kill_is_finished_by_the_next_keeper(place: Place, signal: int) -> None:
    for _ in rounds():
        """Asked for behind the daemon's back, so that nobody asks again."""
        for _ in range(5):
            job = up(place, DEAF)
            folder.command(str(place.where(job)), f"kill {signal} 200 token somebody")
            until(lambda job=job: place.live(job)["reason"] or not place.keeper(job))
            place.kill_keeper(job)
            ended = place.end(job)
            assert (ended["reason"], ended["by"], ended["signal"]) == ("killed", "somebody", 9)


def test_a_kill_races_with_a_take_over(place: Place) -> None:
    for _ in rounds():
        for _ in range(8):
            job = up(place, POLITE)
            answers: list[Json] = []
            asking = threading.Thread(target=kill, args=(place, job, answers))
            asking.start()
            place.kill_keeper(job)
            asking.join()
            ended = place.end(job)
            assert (ended["reason"], ended["by"], ended["exit_code"]) == ("killed", "me", None)
            assert answers[0]["verified_empty"]


def kill(place: Place, job: str, answers: list[Json]) -> None:
    answers.append(place.call("POST", f"/v1/jobs/{job}/kill", {"grace_ms": 2000, "by": "me"}))


def test_descendants_that_left_are_found_by_the_next_keeper(place: Place) -> None:
    job = up(place, ["sh", "-c", "setsid sh -c 'echo up; exec sleep 1000' & sleep 1000 & wait"])
    place.kill_keeper(job)
    killed = place.call("POST", f"/v1/jobs/{job}/kill", {"grace_ms": 1000})
    assert killed["signalled"] >= 3
    assert killed["verified_empty"]
    assert place.end(job)["reason"] == "killed"


def test_a_limit_still_holds_after_a_kill_that_did_not_kill(place: Place) -> None:
    job = up(place, DEAF, limits={"timeout_ms": 1500, "grace_ms": 0})
    place.call("POST", f"/v1/jobs/{job}/kill", {"grace_ms": 0, "by": "me"})
    ended = place.end(job)
    assert (ended["reason"], ended["by"], ended["signal"]) == ("killed", "me", 9)


def test_a_daemon_that_was_started_from_inside_a_job_does_not_end_with_it(place: Place) -> None:
    job = up(place, ["sh", "-c", "echo up; sleep 1000"])
    first = place.daemon
    place.kill_daemon()
    folder.command(str(place.where(job)), "daemon")
    until(lambda: (place.home / "lock").read_text().strip() not in ("", str(first)) and place.answers())
    place.call("POST", f"/v1/jobs/{job}/kill", {"grace_ms": 1000})
    assert place.end(job)["reason"] == "killed"
    until(lambda: place.keeper(job) is None)
    assert place.call("GET", "/v1/daemon")["pid"] == int((place.home / "lock").read_text())


def test_output_is_told_of_by_the_next_keeper(place: Place) -> None:
    job = place.submit(["cat"], stdin=True)
    place.send(job, "one\n")
    until(lambda: place.size(job) == 4)
    found: list[bytes] = []
    reading = threading.Thread(target=lambda: found.append(place.follow(job, offset=4, follow_ms=10_000)))
    reading.start()
    place.kill_keeper(job)
    until(lambda: place.keeper(job))
    place.send(job, "two\n")
    reading.join(5)
    assert found == [b"two\n"]
