"""`kill`: the whole tree, verified, with a truthful end."""

import signal
import sys
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from tests.support import processes
from tests.support.gates import Gate
from tests.support.patience import LONG, end_of, ended, eventually

from bide import Limits, Reason, Until
from bide.api import Jobs
from bide.model.errors import BadRequest, JobNotFound

NEVER = timedelta(0)
SOON = timedelta(seconds=0.3)

DEAF = "trap '' TERM; echo up; while :; do sleep 0.05; done"
"""Ignores TERM, and so do its children, which inherit that."""

DAEMONIZED = """
import os, time
if os.fork(): os.wait(); print("up", flush=True); time.sleep(1000)
os.setsid()
if os.fork(): os._exit(0)
os.chdir("/"); open(os.environ["OUT"], "w").write(str(os.getpid())); time.sleep(1000)
"""

CROWD = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(200):
    if os.fork() == 0:
        os.setsid()
        time.sleep(1000)
print("up", flush=True)
time.sleep(1000)
"""


async def up(jobs: Jobs, command: str | list[str], **env: str) -> str:
    """Start a job and wait until it says that it is up."""
    job = (await jobs.run(command, env=env, background=True)).job.id
    waited = await jobs.wait([job], until=Until(log="up"), timeout=LONG)
    assert waited.met == "log"
    return job


async def test_a_job_that_ignores_term_is_killed_after_the_grace(jobs: Jobs) -> None:
    """Checklist 257."""
    job = await up(jobs, DEAF)
    killed = await jobs.kill(job, grace=SOON)
    end = ended(killed.job).end
    assert killed.verified_empty
    assert (end.reason, end.signal, end.exit_code) == (Reason.KILLED, signal.SIGKILL, None)
    assert end.status == 137


async def test_without_grace_nothing_is_forced_and_what_survives_is_said(jobs: Jobs) -> None:
    job = await up(jobs, DEAF)
    killed = await jobs.kill(job, grace=NEVER)
    assert killed.signalled >= 1
    assert not killed.verified_empty
    assert "bash" in [process.command for process in killed.survivors]
    assert killed.job.phase_name == "running"

    killed = await jobs.kill(job, signal=signal.SIGKILL, grace=NEVER)
    assert killed.verified_empty
    assert ended(killed.job).end.reason is Reason.KILLED


async def test_what_it_begins_while_it_is_told_to_end_is_told_once_it_has_ended(jobs: Jobs) -> None:
    job = await up(jobs, "trap 'sleep 1000 & exit 3' TERM; echo up; sleep 1000 & wait")
    with anyio.fail_after(20):
        killed = await jobs.kill(job, grace=timedelta(seconds=60))
    assert killed.verified_empty
    assert ended(killed.job).end.exit_code == 3
    assert ended(killed.job).end.survivors == ()


async def test_a_double_fork_with_a_session_of_its_own_is_reached(jobs: Jobs, tmp_path: Path) -> None:
    """Checklist 257."""
    file = tmp_path / "pid"
    job = await up(jobs, [sys.executable, "-c", DAEMONIZED], OUT=str(file))
    await eventually(lambda: file.exists() and file.read_text() != "")
    pid = int(file.read_text())
    assert processes.is_alive(pid)
    killed = await jobs.kill(job)
    assert killed.verified_empty
    assert not processes.is_alive(pid)


async def test_200_children_in_sessions_of_their_own_that_ignore_term_are_all_ended(local: Jobs) -> None:
    """Checklist 257."""
    job = await up(local, [sys.executable, "-c", CROWD])
    killed = await local.kill(job, grace=SOON)
    assert killed.signalled == 201
    assert killed.verified_empty
    assert killed.survivors == ()


async def test_a_stopped_job_hears_the_signal(jobs: Jobs) -> None:
    job = await up(jobs, "trap 'exit 7' TERM; echo up; while :; do sleep 0.02; done")
    await jobs.send(job, signal=signal.SIGSTOP)
    killed = await jobs.kill(job)
    assert (ended(killed.job).end.reason, ended(killed.job).end.exit_code) == (Reason.KILLED, 7)


async def test_a_killed_job_that_answers_with_exit_0_is_no_success(jobs: Jobs) -> None:
    """Checklist 256."""
    job = await up(jobs, "trap 'exit 0' TERM; echo up; while :; do sleep 0.02; done")
    killed = await jobs.kill(job, by="a reviewer")
    end = ended(killed.job).end
    assert (end.reason, end.exit_code, end.by) == (Reason.KILLED, None, "a reviewer")
    assert not end.success
    assert end.status != 0


async def test_another_signal_can_be_asked_for(jobs: Jobs) -> None:
    job = await up(jobs, "trap 'echo got it; exit 4' INT; echo up; while :; do sleep 0.02; done")
    killed = await jobs.kill(job, signal=signal.SIGINT)
    assert ended(killed.job).end.exit_code == 4
    assert (await jobs.read(job)).data == b"up\ngot it\n"


async def test_killing_an_ended_job_changes_nothing(jobs: Jobs) -> None:
    job = (await jobs.run("exit 3")).job
    killed = await jobs.kill(job.id, by="somebody late")
    assert killed.already_ended
    assert killed.verified_empty
    assert killed.signalled == 0
    assert killed.job == job


async def test_killing_twice_at_once_ends_it_once(jobs: Jobs) -> None:
    job = await up(jobs, DEAF)
    answers: list[bool] = []

    async def kill() -> None:
        answers.append((await jobs.kill(job, grace=SOON, by="one of two")).verified_empty)

    with anyio.fail_after(4):
        async with anyio.create_task_group() as group:
            group.start_soon(kill)
            group.start_soon(kill)
    assert answers == [True, True]
    assert (await end_of(jobs, job)).end.by == "one of two"


async def test_the_first_who_asked_is_the_one_on_record(jobs: Jobs) -> None:
    job = await up(jobs, DEAF)
    await jobs.kill(job, grace=NEVER, by="the first")
    await jobs.kill(job, signal=signal.SIGKILL, by="the second")
    assert (await end_of(jobs, job)).end.by == "the first"


async def test_killing_as_it_starts_never_runs_it_on(local: Jobs) -> None:
    for _ in range(10):
        job = (await local.run("sleep 1000", background=True)).job.id
        killed = await local.kill(job)
        assert killed.verified_empty
        assert ended(killed.job).end.reason is Reason.KILLED


async def test_a_kill_that_races_the_end_answers_at_once(local: Jobs, gate: Gate) -> None:
    for _ in range(10):
        job = (await local.run(f"{gate.wait}; exit 3", background=True)).job.id
        gate.open()
        with anyio.fail_after(2):
            killed = await local.kill(job)
        end = ended(killed.job).end
        assert killed.verified_empty
        assert (end.reason, end.exit_code) in ((Reason.KILLED, None), (Reason.KILLED, 3), (Reason.EXITED, 3))


async def test_the_grace_of_a_limit_is_the_jobs_own(local: Jobs) -> None:
    limits = Limits(timeout=timedelta(seconds=0.2), grace=SOON)
    end = ended((await local.run(DEAF, limits=limits)).job).end
    assert (end.reason, end.signal) == (Reason.TIMED_OUT, signal.SIGKILL)
    assert timedelta(seconds=0.5) <= end.duration < timedelta(seconds=3)


async def test_by_is_one_line_of_plain_text_whatever_was_given(local: Jobs) -> None:
    job = await up(local, "echo up; sleep 1000")
    killed = await local.kill(job, by='a "quote"\nkill 9 0 x y\\ \x1b[31m caf\u00e9 ' + "long" * 100)
    by = ended(killed.job).end.by
    assert by.startswith('a "quote" kill 9 0 x y\\ ')
    assert by.isprintable()
    assert "caf\u00e9" in by
    assert len(by) <= 100


async def test_by_may_be_in_any_script(local: Jobs) -> None:
    job = await up(local, "echo up; sleep 1000")
    killed = await local.kill(job, by="\u5ba1\u9605\u8005" * 40)
    assert ended(killed.job).end.by == ("\u5ba1\u9605\u8005" * 40)[:42]


async def test_a_kill_that_cannot_be_meant_is_refused(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(gate.wait, background=True)).job.id
    with pytest.raises(BadRequest, match="0 is not a signal; use 1 to 64"):
        await jobs.kill(job, signal=0)
    with pytest.raises(BadRequest, match="grace cannot be negative; 0 means no escalation"):
        await jobs.kill(job, grace=timedelta(-1))
    assert (await jobs.get(job)).phase_name == "running"


async def test_killing_an_unknown_job_says_so(jobs: Jobs) -> None:
    with pytest.raises(JobNotFound, match="no job 'nobody' here"):
        await jobs.kill("nobody")
