"""Input that is sent while keepers and daemons die: all of it, once, in order, and its end after it."""

import random
from pathlib import Path

import pytest
from tests.crash.patience import pause, until
from tests.crash.place import Place
from tests.crash.producing import same_bytes
from tests.crash.size import TORTURE, rounds
from tests.support.gates import Gate

CAT = ["cat"]
TYPED = 5000 if TORTURE else 1500
"""Words of eight bytes."""
RAW = ["sh", "-c", f"stty raw -echo; echo ready; exec head -c {8 * TYPED}"]
"""A program on a terminal that sees every byte as it is."""


@pytest.fixture
def place(lasting: Place) -> Place:
    lasting.start()
    return lasting


def lines(number: int) -> list[str]:
    return [f"{i:06} {'x' * random.randrange(200)}\n" for i in range(number)]


def test_input_is_neither_lost_nor_repeated_while_keepers_die(place: Place) -> None:
    for _ in rounds():
        sent = lines(150)
        job = place.submit(CAT, stdin=True)
        for line in sent:
            place.send(job, line)
            if random.random() < 0.2:
                place.kill_keeper(job)
        place.send(job, eof=True)
        ended = place.end(job)
        assert ended["exit_code"] == 0
        same_bytes(place.output(job), "".join(sent).encode())


def test_the_end_of_the_input_never_overtakes_it(place: Place) -> None:
    for _ in rounds():
        text = "0123456789abcde\n" * 20_000  # much more than the pipe holds
        for _ in range(5):
            job = place.submit(["sh", "-c", "sleep 0.1; cat"], stdin=True)
            place.send(job, text, eof=True)
            for _ in range(3):
                until(lambda job=job: place.kill_keeper(job) or (place.where(job) / "end").exists())
            assert place.end(job)["exit_code"] == 0
            same_bytes(place.output(job), text.encode())


def test_neither_does_it_when_the_daemon_dies_first(place: Place, tmp_path: Path) -> None:
    text = "0123456789abcde\n" * 20_000
    latch = Gate(tmp_path / "latch")
    job = place.submit(f"{latch.wait}; cat", stdin=True)
    place.send(job, text, eof=True)
    place.restart()
    until(lambda: place.holds_input(job))
    place.kill_keeper(job)
    latch.open()
    latch.close()
    assert place.end(job)["exit_code"] == 0
    same_bytes(place.output(job), text.encode())


def test_input_goes_on_with_the_next_daemon(place: Place) -> None:
    sent = lines(60)
    job = place.submit(CAT, stdin=True)
    for number, line in enumerate(sent):
        place.send(job, line)
        if number % 20 == 10:
            place.restart()
    place.send(job, eof=True)
    place.end(job)
    same_bytes(place.output(job), "".join(sent).encode())


@pytest.mark.parametrize("daemon_too", [False, True], ids=["keepers", "keepers and daemons"])
def test_what_is_typed_on_a_terminal_arrives_once(place: Place, *, daemon_too: bool) -> None:
    for _ in rounds():
        job = place.submit(RAW, pty=True)
        until(lambda job=job: b"ready" in place.output(job))
        text = "".join(f"{number:07} " for number in range(TYPED))
        killed = 0
        for at in range(0, len(text), 800):
            place.send(job, text[at : at + 800])
            pause(random.uniform(0, 0.01))
            if daemon_too and at % 4_800 == 0:
                # While there is neither a keeper nor a daemon, nobody holds the terminal.
                until(lambda job=job, killed=killed: place.keeper(job) not in (None, killed))
                place.restart()
                until(lambda job=job: place.holds_input(job))
            killed = place.kill_keeper(job)
        ended = place.end(job)
        assert ended["exit_code"] == 0, ended
        same_bytes(place.output(job).partition(b"ready\n")[2], text.encode())
