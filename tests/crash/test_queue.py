"""The queue through deaths of the daemon: every job runs once, in its turn, and never too many at once."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.crash.killer import Killer
from tests.crash.patience import pause
from tests.crash.place import Json, Place
from tests.crash.producing import Producers, check_all
from tests.crash.size import rounds
from tests.crash.sweeping import sweep_daemon

PLACES = 3
TURN = {"group": "g"}


def most_at_once(log: Path) -> int:
    """From a log of `+` at each start and `-` at each end."""
    running = most = 0
    for sign in log.read_text().split():
        running += 1 if sign == "+" else -1
        most = max(most, running)
    return most


def test_fifty_jobs_in_three_places_run_once_each_while_daemons_die(place: Place, tmp_path: Path) -> None:
    for number in rounds():
        log, ran = tmp_path / f"log-{number}", tmp_path / f"ran-{number}"
        place.call("POST", "/v1/groups/g", {"limit": PLACES})
        over = threading.Event()
        killing = threading.Thread(target=keep_killing, args=(place, over))
        killing.start()
        try:
            jobs = [
                place.submit(f"echo + >> {log}; echo {one} >> {ran}; sleep 0.05; echo - >> {log}", turn=TURN)
                for one in range(50)
            ]
            ends = place.ends(jobs, within=60)
        finally:
            over.set()
            killing.join()
        assert [end["exit_code"] for end in ends] == [0] * 50
        assert sorted(map(int, ran.read_text().split())) == list(range(50))
        assert most_at_once(log) <= PLACES
        started = [end["started_at"] for end in ends]
        assert all(early <= late for early, late in zip(started, started[PLACES:], strict=False))


def keep_killing(place: Place, over: threading.Event) -> None:
    while not over.is_set():
        pause(random.uniform(0.2, 0.8))
        place.restart()


def test_the_daemon_may_die_at_every_system_call_of_a_queued_job(
    swept: Place, killer: Killer, producers: Producers
) -> None:
    swept.call("POST", "/v1/groups/g", {"limit": 1})

    def do() -> None:
        made = [producers.make(end="exit:0", pause_us=1000), producers.make(end="exit:3")]
        jobs = [swept.submit(one.argv, key=one.marker.name, turn=TURN) for one in made]
        ends = swept.ends(jobs)
        check_all(swept, ends, made)
        assert ends[0]["ended_at"] <= ends[1]["started_at"]

    sweep_daemon(swept, killer, 12, do)


def test_the_daemon_may_die_at_every_system_call_of_two_equal_requests(
    swept: Place, killer: Killer, producers: Producers
) -> None:
    """Of two clients, at once; each asks again with a key of its own. Checklist 234."""

    def do() -> None:
        made = producers.make(end="exit:0")

        def ask(_: int) -> str:
            return swept.submit(made.argv, dedup={"policy": "reuse_recent"})

        with ThreadPoolExecutor(2) as clients:
            jobs = list(clients.map(ask, range(2)))
        assert len(set(jobs)) == 1
        ended: Json = swept.end(jobs[0])
        made.check(swept, ended)

    sweep_daemon(swept, killer, 12, do)


def test_a_queued_job_that_is_killed_stays_so_whenever_the_daemon_dies(
    swept: Place, killer: Killer, producers: Producers
) -> None:
    swept.call("POST", "/v1/groups/g", {"paused": True})

    def do() -> None:
        made = producers.make()
        job = swept.submit(made.argv, key=made.marker.name, turn=TURN)
        swept.call("POST", f"/v1/jobs/{job}/kill", {"by": "me"})
        end = swept.end(job)
        assert (end["reason"], end["by"], end["started_at"]) == ("killed", "me", None)
        assert made.ran == 0

    sweep_daemon(swept, killer, 8, do)
