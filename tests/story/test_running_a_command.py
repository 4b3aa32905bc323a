"""Somebody runs something and learns how it went."""

import sys
from datetime import timedelta

from tests.support.gates import Gate
from tests.support.patience import end_of, ended

from bide import Ended, Reason, Running
from bide.api import Jobs


async def test_a_short_command_is_answered_with_its_end_and_its_output(jobs: Jobs) -> None:
    ran = await jobs.run("echo to stdout; echo to stderr >&2; exit 3")

    assert isinstance(ran.job.phase, Ended)
    assert ran.job.phase.end.reason is Reason.EXITED
    assert ran.job.phase.end.exit_code == 3
    assert ran.out is not None
    assert ran.out.data == b"to stdout\n"
    assert ran.err is not None
    assert ran.err.data == b"to stderr\n"


async def test_words_are_executed_as_they_are_without_a_shell(jobs: Jobs) -> None:
    ran = await jobs.run([sys.executable, "-c", "import sys; print(sys.argv[1:])", "$HOME", "a b", "*"])

    assert ran.out is not None
    assert ran.out.data == b"['$HOME', 'a b', '*']\n"


async def test_a_command_that_is_not_there_says_so(jobs: Jobs) -> None:
    ran = await jobs.run(["no-such-program", "--version"])

    assert ended(ran.job).end.reason is Reason.SPAWN_FAILED
    assert ended(ran.job).end.error == "no command 'no-such-program' was found; check the spelling and PATH"
    assert ended(ran.job).started_at is None


async def test_a_long_command_goes_to_the_background_and_is_found_again_by_its_name(jobs: Jobs, gate: Gate) -> None:
    started = await jobs.run(f"{gate.wait}; echo $line", name="build", background=True)
    assert isinstance(started.job.phase, Running)

    gate.open("built")
    waited = await jobs.wait(["build"])

    assert waited.met == "ended"
    assert waited.jobs[0].id == started.job.id
    assert (await jobs.read("build")).data == b"built\n"


async def test_a_foreground_run_past_its_deadline_is_deferred_and_goes_on(jobs: Jobs, gate: Gate) -> None:
    ran = await jobs.run(f"echo begun; {gate.wait}; exit 5", deadline=timedelta(seconds=0.3))

    assert ran.deferred
    assert isinstance(ran.job.phase, Running)
    assert ran.out is not None
    assert ran.out.data == b"begun\n"

    gate.open()
    assert (await end_of(jobs, ran.job.id)).end.exit_code == 5
