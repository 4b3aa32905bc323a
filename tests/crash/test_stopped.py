"""SIGSTOP: whoever stands still holds up nobody but himself."""

import fcntl
import os
import signal
import struct
import termios
from pathlib import Path

from tests.crash.patience import until
from tests.crash.place import Place
from tests.crash.producing import Producers, check_all

PIPE = 65_536


def test_limits_hold_while_the_daemon_stands_still(place: Place) -> None:
    jobs = [place.submit(["sleep", "1000"], limits={"timeout_ms": 400}) for _ in range(15)]
    place.world.signal(place.daemon, signal.SIGSTOP)
    until(lambda: all((place.where(job) / "end").exists() for job in jobs))
    place.world.signal(place.daemon, signal.SIGCONT)
    ended = place.ends(jobs)
    assert {job["reason"] for job in ended} == {"timed_out"}
    assert max(job["duration_ms"] for job in ended) < 1500


def test_jobs_that_end_while_the_daemon_stands_still_are_told_of_afterwards(
    place: Place, producers: Producers, torture: int
) -> None:
    made = producers.mixed(torture, lines=30, pause_us=10_000)
    jobs = [place.submit(one.argv) for one in made]
    place.world.signal(place.daemon, signal.SIGSTOP)
    until(lambda: all((place.where(job) / "end").exists() for job in jobs))
    place.world.signal(place.daemon, signal.SIGCONT)
    check_all(place, place.ends(jobs), made)


def test_a_job_waits_while_its_keeper_stands_still_and_goes_on_exactly(place: Place, producers: Producers) -> None:
    made = producers.make(lines=4000, width=100)
    job = place.submit(["sh", "-c", f"sleep 0.1; exec {' '.join(made.argv)}"])
    place.kill_keeper(job, signal.SIGSTOP)
    until(lambda: waiting_bytes(place.where(job) / "out.p") > PIPE - 4096)
    assert place.size(job) == 0
    assert place.job(job)["phase"] == "running"
    place.kill_keeper(job, signal.SIGCONT)
    made.check(place, place.end(job))


def waiting_bytes(fifo: Path) -> int:
    fd = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"\0" * 4))[0]
    finally:
        os.close(fd)
