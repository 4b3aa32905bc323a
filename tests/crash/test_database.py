"""The database is deleted, damaged or too new while jobs run: the folders have all that was in it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.crash.patience import until
from tests.crash.place import Json, Place
from tests.crash.producing import Gate, Producer, Producers, check_all
from tests.support.databases import edited
from tests.support.http import Http

from bide.model.errors import BideError

SUFFIXES = ("", "-wal", "-shm")
Ruin = Callable[[Path], None]


def delete(database: Path) -> None:
    for suffix in SUFFIXES:
        Path(f"{database}{suffix}").unlink(missing_ok=True)


def overwrite(database: Path) -> None:
    """With garbage, in place, from its first byte to its last."""
    for suffix in SUFFIXES[:2]:
        path = Path(f"{database}{suffix}")
        with path.open("r+b") as file:
            file.write(b"\xa5garbage" * (path.stat().st_size // 8 + 1))


def empty(database: Path) -> None:
    os.truncate(database, 0)


def replace(database: Path) -> None:
    """With something else."""
    database.write_bytes(os.urandom(100_000))


def scratch(database: Path) -> None:
    """Somewhere in the middle: it still looks like a database."""
    with database.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5garbage" * (database.stat().st_size // 8))


def truncate(database: Path) -> None:
    with database.open("r+b") as file:
        file.truncate(5000)


def jobs_of(place: Place) -> list[Json]:
    return place.call("GET", "/v1/jobs", limit=200)["jobs"]


def number_of_the_end(place: Place, job: str) -> int:
    """The number of the event that says that a job ended."""
    with closing(Http(place.home)) as http:
        answer = http.raw("GET", f"/v1/events?after=0&job={job}")
        while line := answer.readline():
            if line.startswith(b"data: ") and (event := json.loads(line[6:]))["what"] == "ended":
                return int(event["seq"])
    raise AssertionError(job)


def some_jobs(place: Place, producers: Producers, gate: Gate) -> tuple[list[Producer], list[str]]:
    """Three that are over and three that run."""
    made = [*producers.mixed(3), *producers.mixed(3, gate=gate.path)]
    jobs = [place.submit(one.argv, name=one.marker.name, key=one.marker.name) for one in made]
    place.ends(jobs[:3])
    return made, jobs


def check_nothing_lost(place: Place, producers: Producers, gate: Gate, made: list[Producer], jobs: list[str]) -> None:
    assert {job["id"] for job in jobs_of(place)} >= set(jobs)
    assert [place.submit(one.argv, key=one.marker.name) for one in made] == jobs
    extra = producers.make()
    extra.check(place, place.end(place.submit(extra.argv)))
    gate.open()
    check_all(place, place.ends(jobs), made)
    assert place.job(made[0].marker.name)["id"] == jobs[0]


@pytest.mark.parametrize("ruin", [delete, overwrite, scratch, truncate])
def test_it_is_made_anew_when_a_daemon_starts(place: Place, producers: Producers, gate: Gate, ruin: Ruin) -> None:
    made, jobs = some_jobs(place, producers, gate)
    place.kill_daemon()
    ruin(place.home / "bide.db")
    place.start()
    check_nothing_lost(place, producers, gate, made, jobs)
    if ruin is not delete:
        assert list(place.home.glob("bide.db.corrupt-*"))


@pytest.mark.parametrize("ruin", [delete, overwrite, scratch, truncate])
def test_it_is_made_anew_while_a_daemon_serves(place: Place, producers: Producers, gate: Gate, ruin: Ruin) -> None:
    made, jobs = some_jobs(place, producers, gate)
    ruin(place.home / "bide.db")
    until(lambda: answers(place))
    check_nothing_lost(place, producers, gate, made, jobs)


def answers(place: Place) -> bool:
    try:
        return place.end(place.submit(["true"]))["exit_code"] == 0 and bool(jobs_of(place))
    except BideError:
        return False


def test_half_written_folders_are_set_aside_and_the_others_load(place: Place, producers: Producers, gate: Gate) -> None:
    made, jobs = some_jobs(place, producers, gate)
    place.kill_daemon()
    delete(place.home / "bide.db")
    for name, spec in (("jempty", b""), ("jtorn", b"v=1\0marker=BIDE_JOB=jtorn\0boot="), ("jnone", None)):
        folder = place.home / "jobs" / name
        folder.mkdir()
        if spec is not None:
            (folder / "spec").write_bytes(spec)
    shutil.copytree(place.where(jobs[0]), place.home / "jobs" / "jcopied", ignore=shutil.ignore_patterns("*.p", "ctl"))
    place.start()
    check_nothing_lost(place, producers, gate, made, jobs)
    aside = {path.name for path in (place.home / "quarantine").iterdir()}
    assert aside == {"jempty", "jtorn", "jnone", "jcopied"}


def test_one_that_another_program_has_open_is_said_to_be_and_left_alone(place: Place) -> None:
    place.start()
    job = place.submit(["true"], key="k")
    place.ends([job])
    place.kill_daemon()
    code = f"import sqlite3; c = sqlite3.connect({str(place.home / 'bide.db')!r}); c.execute('BEGIN EXCLUSIVE'); print(); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as browser:
        assert browser.stdin is not None
        assert browser.stdout is not None
        browser.stdout.readline()
        assert place.world.end_of(place.world.start(place.command)) == 1
        said = place.world.said.read_text()
        assert "database_in_use" in said
        assert f"process {browser.pid} (" in said
        browser.stdin.close()
    place.start()
    assert place.submit(["false"], key="k") == job


def test_events_go_on_from_a_greater_number_though_no_job_is_left(place: Place) -> None:
    place.start()
    job = place.submit(["true"])
    place.ends([job])
    before = number_of_the_end(place, job)
    place.call("DELETE", f"/v1/jobs/{job}")
    ruins: list[Ruin] = [delete, empty, replace]
    for ruin in ruins:
        place.kill_daemon()
        ruin(place.home / "bide.db")
        place.start()
        job = place.submit(["true"])
        place.ends([job])
        after = number_of_the_end(place, job)
        assert after > before
        before = after
        place.call("DELETE", f"/v1/jobs/{job}")


def test_a_newer_one_is_refused_and_left_as_it_is(place: Place, producers: Producers, gate: Gate) -> None:
    made, jobs = some_jobs(place, producers, gate)
    place.kill_daemon()
    database = place.home / "bide.db"
    with edited(database) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.execute(f"PRAGMA user_version = {version + 1}")
    before = database.read_bytes()
    refused = place.world.start(place.command)
    assert place.world.end_of(refused) == 1
    assert b"database_newer" in place.world.said.read_bytes()
    assert database.read_bytes() == before
    with edited(database) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    place.start()
    check_nothing_lost(place, producers, gate, made, jobs)
