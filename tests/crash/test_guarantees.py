"""The table of docs/behaviour.md, line by line, for every way a job can be wired, all of them at once."""

import os
import re
import signal
import sys
from collections.abc import Iterable
from dataclasses import dataclass

import pytest
from tests.crash.patience import until
from tests.crash.place import Json, Place
from tests.crash.producing import KINDS, Gate, Producer, Producers, same_bytes

WRITING: dict[str, int] = {"lines": 400, "pause_us": 500}
"""It writes for a while, so that whoever dies does so meanwhile."""


@pytest.fixture
def place(lasting: Place) -> Place:
    lasting.start()
    return lasting


@dataclass(frozen=True, slots=True)
class Begun:
    """A job that has written something and will write more."""

    kind: str
    made: Producer
    job: str

    def check(self, place: Place) -> Json:
        ended = place.end(self.job)
        self.made.check(place, ended, self.kind)
        return ended

    def has_written(self, place: Place) -> bool:
        return place.size(self.job) == len(self.made.expected("out", self.kind))


def begin(
    place: Place, producers: Producers, gate: Gate, kinds: Iterable[str] = KINDS, /, **options: int
) -> list[Begun]:
    made = {kind: producers.make(gate=gate.path, **options) for kind in kinds}
    begun = [Begun(kind, one, place.submit(one.argv, **KINDS[kind])) for kind, one in made.items()]
    for one in begun:
        until(lambda job=one.job: place.size(job))
    return begun


def test_the_client_dies(place: Place, producers: Producers, gate: Gate) -> None:
    options = {"plain": [], "merged": ["--merge"], "stdin": ["--stdin"], "pty": ["--pty"]}
    made = {kind: producers.make(gate=gate.path, **WRITING) for kind in KINDS}
    clients: list[int] = []
    for kind, one in made.items():
        words = [sys.executable, "-P", "-m", "bide", "run", "--name", kind, *options[kind], "--", *one.argv]
        clients.append(place.world.start(words, BIDE_HOME=str(place.home)))
    for client, one in zip(clients, made.values(), strict=True):
        until(lambda one=one: one.ran)
        place.world.kill(client)
    gate.open()
    for kind, one in made.items():
        one.check(place, place.end(kind), kind)


def test_the_daemon_dies(place: Place, producers: Producers, gate: Gate) -> None:
    begun = begin(place, producers, gate, **WRITING)
    place.restart()
    gate.open()
    for one in begun:
        one.check(place)


def test_the_keeper_dies(place: Place, producers: Producers, gate: Gate) -> None:
    begun = begin(place, producers, gate, **WRITING)
    for one in begun:
        place.kill_keeper(one.job)
    gate.open()
    for one in begun:
        assert one.check(place)["taken_over"] == 1


def test_the_keeper_dies_after_the_daemon_came_back(place: Place, producers: Producers, gate: Gate) -> None:
    begun = begin(place, producers, gate, **WRITING)
    place.restart()
    for one in begun:
        if one.kind in ("stdin", "pty"):
            until(lambda job=one.job: place.holds_input(job))
        place.kill_keeper(one.job)
    gate.open()
    for one in begun:
        one.check(place)


def test_keeper_and_daemon_die_and_the_job_still_runs_when_a_daemon_is_back(
    place: Place, producers: Producers, gate: Gate
) -> None:
    begun = begin(place, producers, gate, [kind for kind in KINDS if kind != "pty"], **WRITING)
    place.kill_daemon()
    for one in begun:
        place.kill_keeper(one.job)
    place.start()
    gate.open()
    for one in begun:
        one.check(place)


def test_a_job_on_a_terminal_is_hung_up_on_when_keeper_and_daemon_die(
    place: Place, producers: Producers, gate: Gate
) -> None:
    (one,) = begin(place, producers, gate, ["pty"])
    place.kill_daemon()
    place.kill_keeper(one.job)
    place.start()
    ended = place.end(one.job)
    assert (ended["reason"], ended["signal"]) in (("signaled", signal.SIGHUP), ("lost", None))
    assert one.made.ran == 1


def test_keeper_and_daemon_die_and_the_job_ends_before_a_daemon_is_back(
    place: Place, producers: Producers, gate: Gate
) -> None:
    begun = begin(place, producers, gate)
    until(lambda: all(one.has_written(place) for one in begun))
    leaders = [place.started(one.job).pid for one in begun]
    place.kill_daemon()
    for one in begun:
        place.kill_keeper(one.job)
    gate.open()
    until(lambda: not any(os.path.exists(f"/proc/{leader}") for leader in leaders))
    place.start()
    for one in begun:
        ended = place.end(one.job)
        assert (ended["reason"], ended["exit_code"], ended["signal"]) == ("lost", None, None)
        assert "nobody saw" in ended["error"]
        assert one.made.ran == 1
        one.made.check_output(place, one.job, one.kind)


def test_the_machine_restarts(place: Place, producers: Producers, gate: Gate) -> None:
    begun = begin(place, producers, gate)
    until(lambda: all(one.has_written(place) for one in begun))
    place.kill_daemon()
    for one in begun:
        place.kill_keeper(one.job)
        to_another_boot(place, one.job)
    strangers = {one.kind: place.started(one.job).pid for one in begun}  # what has these pids now is no process of ours
    place.start()
    for one in begun:
        ended = place.end(one.job)
        assert (ended["reason"], ended["exit_code"], ended["signal"]) == ("lost", None, None)
        assert "the machine restarted" in ended["error"]
        same_bytes(place.output(one.job), one.made.expected("out", one.kind))
        killed: Json = place.call("POST", f"/v1/jobs/{one.job}/kill", {"grace_ms": 0})
        assert killed["already_ended"]
        if one.kind != "pty":
            assert os.path.exists(f"/proc/{strangers[one.kind]}")


def test_a_job_that_was_not_seen_to_start_before_the_machine_restarted_is_not_run(
    place: Place, producers: Producers, gate: Gate
) -> None:
    (one,) = begin(place, producers, gate, ["plain"])
    place.kill_daemon()
    place.kill_keeper(one.job)
    to_another_boot(place, one.job)
    (place.where(one.job) / "started").write_bytes(b"")  # never written back
    place.start()
    ended = place.end(one.job)
    assert (ended["reason"], ended["exit_code"]) == ("lost", None)
    assert one.made.ran == 1


def to_another_boot(place: Place, job: str) -> None:
    spec = place.where(job) / "spec"
    data = spec.read_bytes()
    changed = re.sub(rb"\0boot=[^\0]*\0", b"\0boot=11111111-2222/pid:[4026531836]\0", data)
    assert changed != data
    spec.write_bytes(changed)
