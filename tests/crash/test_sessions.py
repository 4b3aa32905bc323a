"""Sessions through kill -9 of the daemon and loss of the database: state, numbers and the sessions themselves."""

import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.crash.patience import pause, until
from tests.crash.place import Place
from tests.support.gates import Gate

from bide.model.errors import BideError, SessionNotFound

FOREGROUND: dict[str, Any] = {"background": False, "deadline_ms": 0, "cwd": None, "base_env": None}
SUFFIXES = ("", "-wal", "-shm")


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    found = Gate(tmp_path / "fifo")
    yield found
    found.close()


def run(place: Place, code: str, session: str = "s", **options: Any) -> str:
    """The id of a run in the foreground of a session."""
    return place.submit(code, session=session, **(FOREGROUND | options))


def said(place: Place, code: str) -> str:
    job = run(place, code)
    assert place.end(job)["exit_code"] == 0
    return place.output(job).decode()


def start(place: Place, session: str = "s", **options: object) -> None:
    place.call("POST", "/v1/sessions", {"id": session, "cwd": str(place.path), **options})


def lose_database(place: Place) -> None:
    for suffix in SUFFIXES:
        (place.home / f"bide.db{suffix}").unlink(missing_ok=True)


@pytest.mark.parametrize("lost", [False, True], ids=["daemon", "daemon and database"])
def test_a_run_that_ends_without_a_daemon_leaves_its_state(place: Place, gate: Gate, *, lost: bool) -> None:
    start(place, vars={"kept": 1}, env={"E": "1"})
    job = run(place, f"{gate.wait}; cd /usr; export A=1; f() {{ echo f; }}")
    until(lambda: place.job(job)["phase"] == "running")
    place.kill_daemon()
    gate.open()
    until((place.where(job) / "end").exists)
    if lost:
        lose_database(place)
    place.start()
    assert place.end(job)["exit_code"] == 0
    assert said(place, "pwd; echo $A $E; f") == "/usr\n1 1\nf\n"
    assert place.call("GET", "/v1/sessions/s")["vars"] == {"kept": 1}


def test_a_run_goes_on_through_a_restart_and_leaves_its_state(place: Place, gate: Gate) -> None:
    start(place)
    job = run(place, f"export A=1; {gate.wait}; export B=2")
    until(lambda: place.job(job)["phase"] == "running")
    place.restart()
    gate.open()
    place.end(job)
    assert said(place, "echo $A $B") == "1 2\n"


def test_numbers_are_never_given_twice_while_daemons_die_and_databases_are_lost(place: Place) -> None:
    """Checklist 69."""
    start(place)
    found: list[str] = []
    over = threading.Event()

    def keep_breaking() -> None:
        took = 0.0
        while not over.is_set():
            # On a busy machine a daemon that took long to start gets as long again to do something.
            pause(random.uniform(0.1, 0.4) + took)
            place.kill_daemon()
            if random.random() < 0.5:
                lose_database(place)
            began = time.monotonic()
            place.start()
            took = time.monotonic() - began

    breaking = threading.Thread(target=keep_breaking)
    breaking.start()
    try:
        for number in range(20):
            job = run(place, f"export V{number}=1", key=f"k{number}")
            place.end(job)
            found.append(job)
            if number % 4 == 1:
                forget(place, job)
    finally:
        over.set()
        breaking.join()
    numbers = [int(job.removeprefix("job-s-")) for job in found]
    assert numbers == sorted(set(numbers))
    assert said(place, "env | grep -c ^V[0-9]") == "20\n"


def forget(place: Place, job: str) -> None:
    """Whether or not it is done when the daemon dies, its number is gone."""
    try:
        place.call("DELETE", f"/v1/jobs/{job}")
    except BideError:
        return


@pytest.mark.slow
def test_a_job_that_could_not_be_verified_to_be_over_is_named(place: Place, gate: Gate) -> None:
    start(place)
    job = run(place, f"{gate.wait}")
    until(lambda: place.job(job)["phase"] == "running")
    place.kill_keeper(job, signal.SIGSTOP)
    answer = place.call("DELETE", "/v1/sessions/s", forget=1)
    assert (answer["killed"], answer["unverified"], answer["forgotten"]) == ([], [job], 0)
    place.kill_keeper(job, signal.SIGCONT)
    assert place.end(job)["reason"] == "killed"


def test_open_and_ended_sessions_are_known_after_the_loss_of_the_database(place: Place) -> None:
    for session in ("open", "over", "again"):
        start(place, session)
        run(place, "true", session)
        place.end(run(place, "true", session))
    for session in ("over", "again"):
        place.call("DELETE", f"/v1/sessions/{session}", forget=1)
    start(place, "again")
    place.kill_daemon()
    (place.home / "sessions" / ".gone-x").mkdir()
    with (place.home / "sessions" / ".ended").open("ab") as file:
        file.write(b'{"torn')
    lose_database(place)
    place.start()
    sessions = {one["id"]: one for one in place.call("GET", "/v1/sessions")["sessions"]}
    assert set(sessions) == {"open", "again"}
    assert sessions["open"]["last_active_at"] > sessions["open"]["created_at"]
    with pytest.raises(SessionNotFound, match=r"it ended at"):
        run(place, "true", "over")
    start(place, "over")
    assert run(place, "true", "over") == "job-over-3"
    assert int(run(place, "true", "again").removeprefix("job-again-")) >= 3
    assert int(run(place, "true", "open").removeprefix("job-open-")) >= 3
    assert not (place.home / "sessions" / ".gone-x").exists()


def test_the_database_is_lost_while_a_daemon_serves(place: Place) -> None:
    start(place)
    place.end(run(place, "export A=1"))
    lose_database(place)
    assert said(place, "echo $A") == "1\n"
    assert [one["id"] for one in place.call("GET", "/v1/sessions")["sessions"]] == ["s"]
    place.restart()
    assert said(place, "echo $A") == "1\n"
