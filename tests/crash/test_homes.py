"""Two daemons at once, folders that vanish, many jobs, and nothing to do."""

import json
import os
import shutil
from pathlib import Path

import pytest
from tests.crash import processes
from tests.crash.patience import pause, until
from tests.crash.place import Place
from tests.crash.producing import Gate, Producer, Producers, check_all

from bide import config
from bide.model.errors import TooManyFiles


def test_of_many_daemons_started_at_once_one_serves_and_all_say_ready(place: Place) -> None:
    place.kill_daemon()
    place.world.said.write_bytes(b"")
    started = [place.world.start(place.command) for _ in range(5)]
    until(lambda: place.world.said.read_bytes().count(b"\n") == len(started))
    said = [json.loads(line) for line in place.world.said.read_text().splitlines()]
    (serving,) = {line["pid"] for line in said if line["ready"]}
    place.daemon = serving
    assert all(line["ready"] for line in said)
    assert place.call("GET", "/v1/daemon")["pid"] == serving
    assert {place.world.end_of(pid) for pid in started if pid != serving} == {0}


def cpu_while(seconds: float, pids: list[int]) -> float:
    """CPU seconds that processes use in a while."""
    before = sum(map(processes.cpu_seconds, pids))
    pause(seconds)
    return sum(map(processes.cpu_seconds, pids)) - before


def test_a_folder_that_vanishes_under_a_job_is_its_loss_alone(place: Place, producers: Producers, gate: Gate) -> None:
    made = producers.mixed(3, gate=gate.path)
    jobs = [place.submit(one.argv) for one in made]
    until(lambda: all(one.ran for one in made))
    keepers = [pid for job in jobs if (pid := place.keeper(job))]
    shutil.rmtree(place.where(jobs[0]))
    assert cpu_while(1, [place.daemon, *keepers]) < 0.1
    gate.open()
    ended = place.ends(jobs)
    assert (ended[0]["reason"], ended[0]["exit_code"]) == ("lost", None)
    check_all(place, ended[1:], made[1:])
    until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in keepers))


def test_a_home_that_vanishes_leaves_no_busy_process_and_no_keeper(
    place: Place, producers: Producers, gate: Gate
) -> None:
    made = producers.mixed(5, gate=gate.path)
    jobs = [place.submit(one.argv) for one in made]
    until(lambda: all(one.ran for one in made))
    keepers = [pid for job in jobs if (pid := place.keeper(job))]
    assert len(keepers) == len(jobs)
    # Renamed first: the daemon makes a deleted socket anew while its folder is there. A keeper may still write one file.
    gone = place.home.with_name("gone")
    place.home.rename(gone)
    until(lambda: shutil.rmtree(gone, ignore_errors=True) or not gone.exists())
    assert cpu_while(1, [place.daemon, *keepers]) < 0.1
    gate.open()
    until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in keepers))
    assert cpu_while(1, [place.daemon]) < 0.1


class Poor(Place):
    """A home whose daemon may open few files."""

    @property
    def command(self) -> list[str]:
        return ["sh", "-c", 'ulimit -n 100; exec "$@"', "sh", *super().command]


def test_a_daemon_short_of_descriptors_refuses_new_jobs_and_keeps_the_old(
    tmp_path: Path, producers: Producers, gate: Gate
) -> None:
    place = Poor(tmp_path)
    place.start()
    made: list[Producer] = []
    jobs: list[str] = []
    with pytest.raises(
        TooManyFiles, match="has as many files open as it may; wait for jobs to end, or raise the limit"
    ):
        while True:
            made.append(producers.make(gate=gate.path))
            jobs.append(place.submit(made[-1].argv))
    assert made.pop().ran == 0
    for job in jobs[:5]:
        place.kill_keeper(job)
    gate.open()
    check_all(place, place.ends(jobs), made)
    made.append(producers.make())
    made[-1].check(place, place.end(place.submit(made[-1].argv)))
    place.close()


def short_jobs(place: Place, number: int) -> None:
    place.end(place.submit(["true"]))
    until(lambda: len(list((place.home / "new").glob("spare-*"))) == config.spares())
    files = len(processes.files(place.daemon))
    jobs = [place.submit(["sh", "-c", "exit 3"]) for _ in range(number)]
    for at in range(0, number, 500):
        assert {job["exit_code"] for job in place.ends(jobs[at : at + 500])} == {3}
    assert len(set(jobs)) == number
    until(lambda: len(processes.files(place.daemon)) <= files + 2)
    nursery = processes.children_of(place.daemon)
    until(lambda: processes.children_of(place.daemon) == nursery)
    assert len(nursery) == 1
    until(lambda: len(processes.children_of(nursery[0])) <= config.spares())
    assert len(list((place.home / "jobs").iterdir())) == number + 1
    assert [path for path in (place.home / "new").iterdir() if not path.name.startswith("spare-")] == []


def test_short_jobs_leave_records_and_nothing_else(place: Place) -> None:
    short_jobs(place, 300)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ten_thousand_short_jobs_do(place: Place) -> None:
    short_jobs(place, 10_000)


def test_a_daemon_with_a_hundred_idle_jobs_uses_no_cpu(place: Place) -> None:
    jobs = [place.submit(["sleep", "1000"]) for _ in range(100)]
    pause(1)
    keepers = [pid for job in jobs if (pid := place.keeper(job))]
    assert len(keepers) == len(jobs)
    assert cpu_while(3, [place.daemon]) <= 0.03
    assert cpu_while(3, keepers) <= 0.3
