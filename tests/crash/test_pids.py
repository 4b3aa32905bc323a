"""A pid that now belongs to a stranger is never taken for the job's, and never signalled."""

import os
from pathlib import Path

from tests.crash import processes
from tests.crash.patience import until
from tests.crash.place import Place
from tests.crash.producing import Gate, Producers


def forge(place: Place, job: str, pid: int, ticks: int) -> None:
    """As if the job's pid had come round to another process."""
    wall = int(place.started(job).at.timestamp() * 1000)
    (place.where(job) / "started").write_text(f"pid={pid} ticks={ticks} mono=1 wall={wall}\n")


def test_a_stranger_with_the_pid_of_a_job_is_left_alone(place: Place, producers: Producers, gate: Gate) -> None:
    made = producers.make(gate=gate.path)
    job = place.submit(made.argv, limits={"timeout_ms": 60_000})
    until(lambda: made.ran)
    leader = place.started(job).pid
    place.kill_daemon()
    place.kill_keeper(job)
    gate.open()
    until(lambda: not os.path.exists(f"/proc/{leader}"))
    stranger = place.world.start(["sleep", "1000"])
    forge(place, job, stranger, ticks=1)
    place.start()
    assert place.end(job)["reason"] == "lost"
    place.call("POST", f"/v1/jobs/{job}/kill", {"signal": 9, "grace_ms": 0})
    assert place.world.status(stranger) is None
    assert processes.state(stranger) == "S"


def test_a_zombie_child_of_the_daemon_is_not_taken_for_the_leader(
    place: Place, producers: Producers, gate: Gate
) -> None:
    """The status on record is that of the process with the right start time, or none."""
    made = producers.make(gate=gate.path)
    job = place.submit(made.argv)
    until(lambda: made.ran)
    started = place.started(job)
    place.kill_daemon()
    place.kill_keeper(job)
    forge(place, job, started.pid, ticks=started.ticks + 1)
    place.start()
    gate.open()
    ended = place.end(job)
    assert (ended["reason"], ended["exit_code"]) == ("lost", None)
    assert not Path(place.where(job), "status").exists()
