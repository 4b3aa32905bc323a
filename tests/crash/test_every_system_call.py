"""The keeper killed at every system call it makes, and the daemon at those of a submit.

Random kills alone miss the instants that matter; these are all of them. The suite takes a sample, scripts/torture all.
"""

import errno
import secrets
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.crash.killer import NEVER, Killer
from tests.crash.patience import until
from tests.crash.place import Json, Place
from tests.crash.producing import KINDS, Gate, Producers
from tests.crash.sweeping import sweep_daemon

Once = Callable[[], None]


@pytest.fixture(scope="module")
def killer(compiled: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Killer:
    return Killer(compiled("killat"), tmp_path_factory.mktemp("killer") / "killer")


@pytest.fixture(scope="module")
def served(killer: Killer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    found = Place(tmp_path_factory.mktemp("place"), BIDE_KEEPER=str(killer.program), BIDE_SPARES="0")
    yield found
    found.close()


@pytest.fixture
def place(served: Place, killer: Killer) -> Place:
    """A home that the tests of this module share; whoever killed its daemon or planned a death was another one."""
    killer.forget()
    served.start()
    return served


def sweep(killer: Killer, once: Once, *, before: tuple[int, ...] = (), sample: int) -> None:
    """Do something once for every system call of the keeper, killing it there."""
    killer.plan(*before, NEVER)
    once()
    for point in killer.points(sample):
        killer.plan(*before, point)
        once()


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_keeper_may_die_at_every_system_call(place: Place, killer: Killer, producers: Producers, kind: str) -> None:
    def once() -> None:
        made = producers.make()
        made.check(place, place.end(place.submit(made.argv, **KINDS[kind])), kind)

    sweep(killer, once, sample=30 if kind == "plain" else 15)


@pytest.mark.parametrize("kind", list(KINDS))
def test_its_replacement_may_as_well(
    place: Place, killer: Killer, producers: Producers, tmp_path: Path, kind: str
) -> None:
    def once() -> None:
        gate = Gate(tmp_path / "gate")
        made = producers.make(gate=gate.path)
        job = place.submit(made.argv, **KINDS[kind])
        first = place.keeper(job)
        place.kill_keeper(job)
        until(lambda: place.keeper(job) not in (None, first) or killer.killed())
        gate.open()
        made.check(place, place.end(job), kind)

    sweep(killer, once, before=(0,), sample=15 if kind == "plain" else 8)


def test_a_program_that_cannot_be_executed_is_told_so_whenever_the_keeper_dies(place: Place, killer: Killer) -> None:
    def once() -> None:
        ended = place.end(place.submit(["/no/such/program"]))
        assert (ended["reason"], ended["errno"], ended["exit_code"]) == ("spawn_failed", errno.ENOENT, None)

    sweep(killer, once, sample=20)


@pytest.mark.parametrize("grace_ms", [0, 50])
def test_a_time_limit_ends_the_job_whenever_the_keeper_dies(place: Place, killer: Killer, grace_ms: int) -> None:
    deaf = ["sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 0.01; done"]

    def once() -> None:
        ended = place.end(place.submit(deaf, limits={"timeout_ms": 60, "grace_ms": grace_ms}))
        assert (ended["reason"], ended["by"]) == ("timed_out", "limit")
        # On a busy machine its time may be up before it is deaf.
        assert ended["signal"] == signal.SIGKILL or not place.output(ended["id"])

    sweep(killer, once, sample=12)


@pytest.mark.parametrize("replaced", [False, True], ids=["first", "replacement"])
def test_input_arrives_once_whenever_the_keeper_dies(place: Place, killer: Killer, *, replaced: bool) -> None:
    def once() -> None:
        text = secrets.token_hex(100)
        job = place.submit(["cat"], stdin=True)
        if replaced:
            place.kill_keeper(job)
        place.send(job, text, eof=True)
        assert place.end(job)["exit_code"] == 0
        assert place.output(job) == text.encode()

    sweep(killer, once, before=(0,) if replaced else (), sample=15)


def test_what_is_typed_arrives_once_whenever_the_keeper_dies(place: Place, killer: Killer) -> None:
    def once() -> None:
        text = secrets.token_hex(100)
        job = place.submit(["sh", "-c", "stty -echo; echo ready; exec head -n 1"], pty=True)
        until(lambda: place.size(job) == len("ready\r\n"))
        place.send(job, f"{text}\n")
        assert place.end(job)["exit_code"] == 0
        assert place.output(job).decode() == f"ready\r\n{text}\r\n"

    sweep(killer, once, sample=15)


@pytest.mark.parametrize("argv", [["sleep", "1000"], ["sh", "-c", "trap '' TERM; while :; do sleep 0.01; done"]])
def test_a_kill_is_done_and_told_whenever_the_keeper_dies(place: Place, killer: Killer, argv: list[str]) -> None:
    def once() -> None:
        job = place.submit(argv)
        killed = place.call("POST", f"/v1/jobs/{job}/kill", {"grace_ms": 50, "by": "me"})
        assert killed["verified_empty"]
        ended = place.end(job)
        assert (ended["reason"], ended["by"], ended["exit_code"]) == ("killed", "me", None)

    sweep(killer, once, sample=10)


def test_the_daemon_may_die_at_every_system_call_of_a_submit(
    place: Place, killer: Killer, producers: Producers
) -> None:
    def once() -> None:
        made = producers.make()
        job: Json = place.end(place.submit(made.argv, key=made.marker.name))
        made.check(place, job)

    sweep_daemon(place, killer, 6, once)
