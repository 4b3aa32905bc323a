"""Files of job folders are torn, or are no files: what the folder does not tell is taken from the index, and nothing else is harmed."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.crash.place import Place
from tests.support.gates import Gate

Json = dict[str, Any]
Tear = Callable[[Path], None]


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    found = Gate(tmp_path / "fifo")
    yield found
    found.close()


def empty(path: Path) -> None:
    """As a power cut does: the name was on disk, and the contents were not."""
    os.truncate(path, 0)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def remove(path: Path) -> None:
    path.unlink()


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


TEARS = (empty, cut, remove, folder, fifo, device)


def begin(place: Place, gate: Gate) -> dict[str, str]:
    """Jobs of every kind, by key; no daemon, and a seal that says nothing of them."""
    jobs = {"ended": place.submit(["sh", "-c", "echo out; exit 3"], key="ended")}
    jobs["untouched"] = place.submit(["true"], key="untouched")
    jobs["running"] = place.submit(["sh", "-c", f"{gate.wait}; exit 4"], key="running")
    place.ends([jobs["ended"], jobs["untouched"]])
    place.kill_daemon()
    (place.home / "bide.db-seal").unlink()
    return jobs


def check(place: Place, jobs: dict[str, str]) -> None:
    """Every job is known and keeps its key, and the one that runs can still be used."""
    for key, job in jobs.items():
        assert place.submit(["false"], key=key) == job
        assert place.job(job)["phase"] == ("running" if key == "running" else "ended")
    assert {job["id"] for job in place.call("GET", "/v1/jobs")["jobs"]} == set(jobs.values())
    assert place.job(jobs["ended"])["exit_code"] == 3
    assert place.job(jobs["untouched"])["exit_code"] == 0


@pytest.mark.parametrize("tear", TEARS)
def test_a_job_whose_request_is_torn_is_known_by_its_row(place: Place, gate: Gate, tear: Tear) -> None:
    jobs = begin(place, gate)
    for key in ("ended", "running"):
        tear(place.where(jobs[key]) / "spec")
    place.start()
    check(place, jobs)
    # The folder is the truth again: nothing needs the row any more.
    place.kill_daemon()
    (place.home / "bide.db").unlink()
    place.start()
    check(place, jobs)
    gate.open()
    place.ends([jobs["running"]])
    assert place.job(jobs["running"])["exit_code"] == 4


@pytest.mark.parametrize("tear", TEARS)
def test_a_job_whose_request_is_torn_is_not_started_again(place: Place, gate: Gate, tear: Tear) -> None:
    """As after a power cut: neither its keeper nor its program is there."""
    jobs = begin(place, gate)
    place.kill_keeper(jobs["running"])
    gate.open()
    tear(place.where(jobs["running"]) / "spec")
    place.start()
    place.ends([jobs["running"]])
    job = place.job(jobs["running"])
    assert job["reason"] == "lost"
    assert "its folder was damaged" in job["error"]


@pytest.mark.parametrize("tear", TEARS)
def test_a_job_whose_end_is_torn_has_the_end_of_its_row(place: Place, gate: Gate, tear: Tear) -> None:
    jobs = begin(place, gate)
    tear(place.where(jobs["ended"]) / "end")
    place.start()
    if tear is not remove:  # without a record of an end nothing says that it had ended
        check(place, jobs)


def test_without_a_row_a_torn_end_is_told_as_one(place: Place, gate: Gate) -> None:
    jobs = begin(place, gate)
    folder(place.where(jobs["ended"]) / "end")
    (place.home / "bide.db").unlink()
    place.start()
    place.ends([jobs["ended"]])
    job = place.job(jobs["ended"])
    assert (job["reason"], job["missing_bytes"]) == ("lost", None)
    assert "the record of its end cannot be read" in job["error"]


ODD: list[Json] = [
    {"created_at": None},
    {"created_at": 5},
    {"owner": None},
    {"name": ["a"]},
    {"label": "\ud800"},
    {"limits": None},
    {"argv": [1]},
    {"command": 5},
    {"enforced": {"memory": 7}},
    {"service": 5},
    {"turn": {"group": 5}},
]


@pytest.mark.parametrize("odd", ODD, ids=str)
@pytest.mark.parametrize("has_row", [True, False])
def test_a_value_that_nobody_wrote_harms_no_other_job(place: Place, gate: Gate, odd: Json, has_row: bool) -> None:
    jobs = begin(place, gate)
    path = place.where(jobs["ended"]) / "spec"
    data = path.read_bytes()
    at = data.index(b"job={") + 4
    end = data.index(b"\0", at)
    body = json.loads(data[at:end]) | odd
    path.write_bytes(data[:at] + json.dumps(body).encode() + data[end:])
    if not has_row:
        (place.home / "bide.db").unlink()
    place.start()
    if has_row:
        check(place, jobs)
        return
    left = {jobs["untouched"], jobs["running"]}
    assert {job["id"] for job in place.call("GET", "/v1/jobs")["jobs"]} == left
    assert (place.home / "quarantine" / jobs["ended"] / "spec").exists()
    assert place.job(jobs["running"])["phase"] == "running"


WRONG: list[Json] = [
    {"by": 5},
    {"missing": -5},
    {"code": 10**25},
    {"cpu_ms": "x"},
    {"reason": "bored"},
    {"left": 5},
    {"started_wall": 10**18},
    {"out_size": None},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_an_end_with_a_value_that_nobody_wrote_is_no_end(place: Place, gate: Gate, wrong: Json) -> None:
    jobs = begin(place, gate)
    path = place.where(jobs["ended"]) / "end"
    body = json.loads(path.read_bytes()) | wrong
    path.write_bytes(json.dumps(body).encode().ljust(4095) + b"\n")
    place.start()
    check(place, jobs)
