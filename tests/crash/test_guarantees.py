"""The table of docs/behaviour.md, line by line, for every way a job can be wired."""

import os
import re
import signal
import sys

import pytest
from tests.crash.patience import until
from tests.crash.place import Json, Place
from tests.crash.producing import KINDS, Gate, Producer, Producers, same_bytes

kinds = pytest.mark.parametrize("kind", list(KINDS))
WRITING: dict[str, int] = {"lines": 400, "pause_us": 500}
"""It writes for a while, so that whoever dies does so meanwhile."""


def begin(place: Place, producer: Producer, kind: str) -> str:
    """A job that has written something and will write more."""
    job = place.submit(producer.argv, **KINDS[kind])
    until(lambda: place.size(job))
    return job


@kinds
def test_the_client_dies(place: Place, producers: Producers, gate: Gate, kind: str) -> None:
    made = producers.make(gate=gate.path, **WRITING)
    options = {"plain": [], "merged": ["--merge"], "stdin": ["--stdin"], "pty": ["--pty"]}[kind]
    words = [sys.executable, "-P", "-m", "bide", "run", "--name", "kept", *options, "--", *made.argv]
    client = place.world.start(words, BIDE_HOME=str(place.home))
    until(lambda: made.ran)
    place.world.kill(client)
    gate.open()
    made.check(place, place.end("kept"), kind)


@kinds
def test_the_daemon_dies(place: Place, producers: Producers, gate: Gate, kind: str) -> None:
    made = producers.make(gate=gate.path, **WRITING)
    job = begin(place, made, kind)
    place.restart()
    gate.open()
    made.check(place, place.end(job), kind)


@kinds
def test_the_keeper_dies(place: Place, producers: Producers, gate: Gate, kind: str) -> None:
    made = producers.make(gate=gate.path, **WRITING)
    job = begin(place, made, kind)
    place.kill_keeper(job)
    gate.open()
    ended = place.end(job)
    made.check(place, ended, kind)
    assert ended["taken_over"] == 1


@kinds
def test_the_keeper_dies_after_the_daemon_came_back(place: Place, producers: Producers, gate: Gate, kind: str) -> None:
    made = producers.make(gate=gate.path, **WRITING)
    job = begin(place, made, kind)
    place.restart()
    if kind in ("stdin", "pty"):
        until(lambda: place.holds_descriptors(job))
    place.kill_keeper(job)
    gate.open()
    made.check(place, place.end(job), kind)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "pty"])
def test_keeper_and_daemon_die_and_the_job_still_runs_when_a_daemon_is_back(
    place: Place, producers: Producers, gate: Gate, kind: str
) -> None:
    made = producers.make(gate=gate.path, **WRITING)
    job = begin(place, made, kind)
    place.kill_daemon()
    place.kill_keeper(job)
    place.start()
    gate.open()
    made.check(place, place.end(job), kind)


def test_a_job_on_a_terminal_is_hung_up_on_when_keeper_and_daemon_die(
    place: Place, producers: Producers, gate: Gate
) -> None:
    made = producers.make(gate=gate.path)
    job = begin(place, made, "pty")
    place.kill_daemon()
    place.kill_keeper(job)
    place.start()
    ended = place.end(job)
    assert (ended["reason"], ended["signal"]) in (("signaled", signal.SIGHUP), ("lost", None))
    assert made.ran == 1


@kinds
def test_keeper_and_daemon_die_and_the_job_ends_before_a_daemon_is_back(
    place: Place, producers: Producers, gate: Gate, kind: str
) -> None:
    made = producers.make(gate=gate.path)
    job = begin(place, made, kind)
    until(lambda: place.size(job) == len(made.expected("out", kind)))
    leader = place.started(job).pid
    place.kill_daemon()
    place.kill_keeper(job)
    gate.open()
    until(lambda: not os.path.exists(f"/proc/{leader}"))
    place.start()
    ended = place.end(job)
    assert (ended["reason"], ended["exit_code"], ended["signal"]) == ("lost", None, None)
    assert "nobody saw" in ended["error"]
    assert made.ran == 1
    made.check_output(place, job, kind)


@kinds
def test_the_machine_restarts(place: Place, producers: Producers, gate: Gate, kind: str) -> None:
    made = producers.make(gate=gate.path)
    job = begin(place, made, kind)
    until(lambda: place.size(job) == len(made.expected("out", kind)))
    place.kill_daemon()
    place.kill_keeper(job)
    to_another_boot(place, job)
    stranger = place.started(job).pid  # what has this pid now is no process of ours
    place.start()
    ended = place.end(job)
    assert (ended["reason"], ended["exit_code"], ended["signal"]) == ("lost", None, None)
    assert "the machine restarted" in ended["error"]
    same_bytes(place.output(job), made.expected("out", kind))
    killed: Json = place.call("POST", f"/v1/jobs/{job}/kill", {"grace_ms": 0})
    assert killed["already_ended"]
    if kind != "pty":
        assert os.path.exists(f"/proc/{stranger}")


def test_a_job_that_was_not_seen_to_start_before_the_machine_restarted_is_not_run(
    place: Place, producers: Producers, gate: Gate
) -> None:
    made = producers.make(gate=gate.path)
    job = begin(place, made, "plain")
    place.kill_daemon()
    place.kill_keeper(job)
    to_another_boot(place, job)
    (place.where(job) / "started").write_bytes(b"")  # never written back
    place.start()
    ended = place.end(job)
    assert (ended["reason"], ended["exit_code"]) == ("lost", None)
    assert made.ran == 1


def to_another_boot(place: Place, job: str) -> None:
    spec = place.where(job) / "spec"
    data = spec.read_bytes()
    changed = re.sub(rb"\0boot=[^\0]*\0", b"\0boot=11111111-2222/pid:[4026531836]\0", data)
    assert changed != data
    spec.write_bytes(changed)
