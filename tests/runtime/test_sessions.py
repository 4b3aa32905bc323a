"""Sessions: starting, changing, showing and ending them (checklist 69-79, 91, 96, 97)."""

import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.support import homes
from tests.support.gates import Gate
from tests.support.patience import end_of, ended, eventually

import bide
from bide.api import Jobs
from bide.model.errors import BadRequest, BideError, FolderNotFound, JobForgotten, JobNotFound, SessionNotFound
from bide.runtime.core import now


async def text(jobs: Jobs, session: str, code: str) -> str:
    ran = await jobs.run(code, session=session)
    assert ran.out is not None
    return ran.out.data.decode()


async def test_a_session_begins_where_the_caller_is(jobs: Jobs) -> None:
    started = (await jobs.sessions.start("work", env={"A": "1"}, vars={"n": [1, None]}, owner="ann")).session
    found = await jobs.sessions.get("work")
    assert (found.id, found.cwd, found.owner, found.seq, found.running) == ("work", os.getcwd(), "ann", 0, 0)
    assert (found.env, found.unset, found.vars, found.jobs) == ({"A": "1"}, (), {"n": [1, None]}, ())
    assert found.created_at == started.created_at
    assert await text(jobs, "work", "pwd; echo $A $HOME") == f"{os.getcwd()}\n1 {os.environ['HOME']}\n"


async def test_without_an_id_it_gets_a_short_one(jobs: Jobs) -> None:
    ids = {(await jobs.sessions.start()).session.id for _ in range(3)}
    assert len(ids) == 3
    assert all(len(found) == 5 for found in ids)


async def test_ids_of_its_jobs_are_numbered_also_when_many_start_at_once(jobs: Jobs) -> None:
    """Checklist 69, 78: every run is a job, with its own number, whatever becomes of it."""
    await jobs.sessions.start("s")
    found: list[str] = []

    async def run(number: int) -> None:
        found.append((await jobs.run(f"exit {number % 2}", session="s", background=number % 3 == 0)).job.id)

    async with anyio.create_task_group() as group:
        for number in range(12):
            group.start_soon(run, number)
    assert sorted(found, key=lambda job: int(job.rpartition("-")[2])) == [f"job-s-{n}" for n in range(1, 13)]
    assert (await jobs.sessions.get("s")).seq == 12


async def test_a_run_moves_the_time_of_last_activity(jobs: Jobs) -> None:
    """Checklist 97."""
    await jobs.sessions.start("old")
    await jobs.sessions.start("new")
    assert [one.id for one in await jobs.sessions.list()] == ["new", "old"]
    await jobs.run("true", session="old")
    assert [one.id for one in await jobs.sessions.list()] == ["old", "new"]
    found = await jobs.sessions.get("old")
    assert found.last_active_at >= found.created_at


async def test_it_is_shown_with_its_newest_jobs_and_what_runs(jobs: Jobs, gate: Gate) -> None:
    """Checklist 72."""
    await jobs.sessions.start("s", owner="ann")
    await jobs.run("true", session="s")
    await jobs.run(gate.wait, session="s", background=True)
    found = await jobs.sessions.get("s")
    assert [job.id for job in found.jobs] == ["job-s-2", "job-s-1"]
    assert [job.phase_name for job in found.jobs] == ["running", "ended"]
    assert {job.owner for job in found.jobs} == {"ann"}
    assert found.running == 1
    assert [one.id for one in await jobs.sessions.list(owner="ann")] == ["s"]
    assert await jobs.sessions.list(owner="bob") == ()


async def test_a_job_is_found_by_id_name_and_pid_in_its_own_session_only(jobs: Jobs, gate: Gate) -> None:
    """Checklist 73, 91; and 71: the pid stays known after the end."""
    await jobs.sessions.start("a")
    await jobs.sessions.start("b")
    job = (await jobs.run(gate.wait, session="a", background=True, name="server")).job
    assert isinstance(job.phase, bide.Running)
    pid = job.phase.pid
    for _ in range(2):
        for ref in (job.id, "server", pid):
            assert (await jobs.sessions.job("a", ref)).id == job.id
            with pytest.raises(JobNotFound):
                await jobs.sessions.job("b", ref)
        gate.open()
        await end_of(jobs, job.id)
    with pytest.raises(JobNotFound):
        await jobs.sessions.job("a", 1)


async def test_update_changes_folder_environment_and_variables(jobs: Jobs, tmp_path: Path) -> None:
    """Checklist 79, 96."""
    (tmp_path / "sub").mkdir()
    await jobs.sessions.start(
        "s", cwd=str(tmp_path), env={"A": "1", "B": "2"}, vars={"x": 1, "y": 2}, base_env={"C": "3"}
    )
    found = await jobs.sessions.update(
        "s", cwd="sub", env={"D": "a\nb"}, unset=["B", "C"], vars={"x": {"z": 1}}, drop=["y"]
    )
    assert found.cwd == str(tmp_path / "sub")
    assert found.vars == {"x": {"z": 1}}
    assert await text(jobs, "s", 'pwd; echo "$A,$B,${C-none},$D"') == f"{tmp_path}/sub\n1,,none,a\nb\n"
    await jobs.sessions.update("s", env={"C": "again"})
    assert await text(jobs, "s", "echo $C") == "again\n"


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"cwd": "/no/such"}, FolderNotFound, "no folder '/no/such'"),
        ({"env": {"A=B": "1"}}, BadRequest, "cannot be an environment variable"),
        ({"env": {"A": "1"}, "unset": ["A"]}, BadRequest, "both set and unset"),
        ({"vars": {"a": 1}, "drop": ["a"]}, BadRequest, "both set and dropped"),
        ({"unset": ["A=B"]}, BadRequest, "cannot be the name"),
        ({"vars": {"a": float("nan")}}, BadRequest, "variable 'a' cannot be kept"),
        ({"vars": {"a": (1, 2)}}, BadRequest, "variable 'a' cannot be kept"),
        ({"vars": {"a": object()}}, BadRequest, "variable 'a' cannot be kept"),
        ({"env": {"BIG": "x" * 200_000}}, BadRequest, "'BIG' is too large"),
        ({"env": {f"V{n}": "x" * 100_000 for n in range(11)}}, BadRequest, "the environment is too large"),
    ],
)
async def test_a_bad_update_changes_nothing(
    jobs: Jobs, options: dict[str, Any], error: type[BideError], says: str
) -> None:
    before = (await jobs.sessions.start("s", env={"A": "0"})).session
    changed: dict[str, Any] = {"env": {"OTHER": "1"}} | options
    with pytest.raises(error, match=says):
        await jobs.sessions.update("s", **changed)
    assert await jobs.sessions.get("s") == before


async def test_what_cannot_be_started_is_refused_with_a_sentence(jobs: Jobs) -> None:
    await jobs.sessions.start("s")
    for asked, says in (
        (jobs.sessions.start("s"), "session 's' is open already; choose another id, or end it first"),
        (jobs.sessions.start("s", owner="ben"), "session 's' belongs to another owner; choose another id"),
        (jobs.sessions.start("-x"), "'-x' cannot be a session's id"),
        (jobs.sessions.start("t", cwd="/no/such"), "no folder '/no/such' to run in"),
        (jobs.sessions.start("t", owner="a b"), "'a b' cannot be an owner"),
    ):
        with pytest.raises(BadRequest, match=says):
            await asked
    assert [one.id for one in await jobs.sessions.list()] == ["s"]


async def test_a_session_that_is_not_open_says_so_and_nothing_runs(jobs: Jobs) -> None:
    """Checklist 91."""
    with pytest.raises(SessionNotFound, match=r"no session 'none' is open; list sessions to see which are") as never:
        await jobs.run("true", session="none")
    assert never.value.code == "session_not_found"
    await jobs.sessions.start("s")
    await jobs.sessions.end("s")
    for ask in (
        jobs.run("true", session="s"),
        jobs.sessions.get("s"),
        jobs.sessions.update("s"),
        jobs.sessions.end("s"),
    ):
        with pytest.raises(SessionNotFound, match=r"no session 's' is open \(it ended at 20.*Z\); list"):
            await ask
    assert (await jobs.list()).jobs == ()


async def test_ending_kills_what_runs_and_leaves_what_ended(jobs: Jobs, gate: Gate, home: Path) -> None:
    """Checklist 96."""
    await jobs.sessions.start("s")
    done = (await jobs.run("echo kept", session="s")).job.id
    running = [(await jobs.run(gate.wait, session="s", background=True)).job.id for _ in range(2)]
    other = (await jobs.run(gate.wait, background=True)).job.id
    answer = await jobs.sessions.end("s")
    assert sorted(answer.killed) == sorted(running)
    assert (answer.unverified, answer.forgotten, answer.session.seq) == ((), 0, 3)
    for job in running:
        end = ended(await jobs.get(job)).end
        assert (end.reason, end.by) == (bide.Reason.KILLED, "end of session s")
    assert (await jobs.read(done)).data == b"kept\n"
    assert (await jobs.get(other)).phase_name == "running"
    assert not (home / "sessions" / "s").exists()


async def test_ending_names_the_ended_jobs_whose_descendants_still_run(jobs: Jobs) -> None:
    await jobs.sessions.start("s")
    await jobs.run("true", session="s")
    left = (await jobs.run("setsid sleep 1000 >/dev/null 2>&1 & exit 0", session="s")).job.id
    answer = await jobs.sessions.end("s")
    assert (answer.killed, answer.unverified, answer.session.running) == ((), (left,), 0)
    assert (await jobs.kill(left)).verified_empty


async def test_ending_ends_what_was_started_in_the_first_instant(local: Jobs) -> None:
    """Some of these jobs are asked for in the millisecond in which their session began."""
    for number in range(60):
        session = (await local.sessions.start(f"s{number}")).session.id
        job = (await local.run("sleep 1000", session=session, background=True)).job.id
        done = await local.sessions.end(session)
        assert (done.killed, done.unverified, done.session.running) == ((job,), (), 0)


async def test_ending_ends_what_its_jobs_start_meanwhile(remote: Jobs, home: Path) -> None:
    """A job that answers TERM by starting another: that one belongs to the session as well."""
    await remote.sessions.start("s")
    again = f"{sys.executable} -m bide run --bg -- sleep 1000"
    code = f"trap '{again}; exit' TERM; echo ready; while :; do read line < '{home}/never' || exit; done"
    os.mkfifo(home / "never")
    job = (await remote.run(code, session="s", background=True)).job.id
    await remote.wait([job], until=bide.Until(log="ready"))
    done = await remote.sessions.end("s")
    assert (set(done.killed), done.unverified) == ({"job-s-1", "job-s-2"}, ())


async def test_a_service_that_comes_back_stays_in_its_session(jobs: Jobs) -> None:
    await jobs.sessions.start("s")
    service = bide.Service(restart=bide.Restart.ALWAYS, restarts=1)
    await jobs.run("exit 3", session="s", name="web", service=service)

    async def again() -> bool:
        return [job.id for job in (await jobs.sessions.get("s")).jobs] == ["job-s-2", "job-s-1"]

    await eventually(again)


async def test_ending_can_forget_its_jobs(jobs: Jobs) -> None:
    await jobs.sessions.start("s")
    ids = [(await jobs.run("true", session="s")).job.id for _ in range(3)]
    assert (await jobs.sessions.end("s", forget=True)).forgotten == 3
    for job in ids:
        with pytest.raises(JobForgotten):
            await jobs.get(job)


async def test_numbers_go_on_in_a_session_of_the_same_id(jobs: Jobs) -> None:
    """Checklist 69: never reused, also where the jobs were forgotten."""
    for numbers in ([1, 2], [3, 4], [5, 6]):
        await jobs.sessions.start("s")
        assert [(await jobs.run("true", session="s")).job.id for _ in range(2)] == [f"job-s-{n}" for n in numbers]
        assert [job.id for job in (await jobs.sessions.get("s")).jobs] == [f"job-s-{n}" for n in reversed(numbers)]
        await jobs.sessions.end("s", forget=numbers != [1, 2])
    assert (await jobs.get("job-s-1")).phase_name == "ended"


async def test_sessions_and_numbers_survive_a_restart(home: Path, tmp_path: Path) -> None:
    async with bide.local(home) as jobs:
        await jobs.sessions.start("s", vars={"a": 1})
        await jobs.run(f"cd '{tmp_path}'; export X=1", session="s")
        before = await jobs.sessions.get("s")
        job = (await jobs.run("true", session="s")).job.id
        await jobs.forget(job)
    async with homes.local(home) as jobs:
        after = await jobs.sessions.get("s")
        assert (after.cwd, after.env, after.vars, after.seq) == (str(tmp_path), before.env, {"a": 1}, 2)
        assert (await jobs.run("echo $X", session="s")).job.id == "job-s-3"


async def test_the_same_key_in_a_session_is_the_same_job(jobs: Jobs) -> None:
    await jobs.sessions.start("s", owner="ann")
    first = await jobs.run("true", session="s", key="k")
    again = await jobs.run("true", session="s", key="k")
    assert (again.joined, again.job.id) == (True, first.job.id)
    assert (await jobs.sessions.get("s")).seq == 1


async def test_words_run_in_the_session_and_change_nothing(jobs: Jobs, tmp_path: Path) -> None:
    await jobs.sessions.start("s", cwd=str(tmp_path), env={"A": "1"})
    ran = await jobs.run(["sh", "-c", "pwd; echo $A; cd /; export A=2"], session="s")
    assert ran.out is not None
    assert ran.out.data == f"{tmp_path}\n1\n".encode()
    found = await jobs.sessions.get("s")
    assert (found.cwd, found.env) == (str(tmp_path), {"A": "1"})


async def test_a_run_that_cannot_start_is_a_failed_job_of_the_session(jobs: Jobs) -> None:
    """Checklist 74, 78."""
    await jobs.sessions.start("s")
    ran = await jobs.run(["no-such-program"], session="s")
    assert (ran.job.id, ended(ran.job).end.reason) == ("job-s-1", bide.Reason.SPAWN_FAILED)


async def test_foreground_and_background_are_on_record(jobs: Jobs) -> None:
    """Checklist 70, 76, 77."""
    await jobs.sessions.start("s")
    assert not (await jobs.run("true", session="s")).job.spec.background
    background = await jobs.run("true", session="s", background=True)
    assert background.job.spec.background
    assert isinstance(background.job.phase, bide.Running | bide.Ended)


async def test_a_run_without_a_session_leaves_no_state_and_keeps_its_result(jobs: Jobs) -> None:
    """Checklist 81: a session of its own, not listed; its job is kept as any other."""
    job = (await jobs.run("export LEFT=1; echo result", background=True)).job.id
    await end_of(jobs, job)
    assert await jobs.sessions.list() == ()
    assert (await jobs.read(job)).data == b"result\n"
    ran = await jobs.run("echo ${LEFT-none}", deadline=timedelta(seconds=10))
    assert ran.out is not None
    assert ran.out.data == b"none\n"


def test_stamps_are_whole_milliseconds() -> None:
    """Stamps are stored so, and what is compared with a stored one must not be more precise."""
    assert {now().microsecond % 1000 for _ in range(100)} == {0}
