"""Sessions after a restart: what ended meanwhile, a lost database, damaged files (checklist 98)."""

import shutil
from datetime import timedelta
from pathlib import Path

from tests.support import homes
from tests.support.gates import Gate
from tests.support.patience import end_of, eventually

import bide
from bide.api import Jobs


async def run(jobs: Jobs, code: str) -> str:
    ran = await jobs.run(code, session="s")
    assert ran.out is not None
    return ran.out.data.decode()


async def is_running(jobs: Jobs, job: str) -> bool:
    return (await jobs.get(job)).phase_name == "running"


async def test_a_run_that_ended_while_nobody_was_there_leaves_its_state(home: Path, gate: Gate) -> None:
    async with bide.local(home) as jobs:
        await jobs.sessions.start("s")
        job = (await jobs.run(f"{gate.wait}; cd /usr; export A=1", session="s", deadline=timedelta(0))).job.id
        await eventually(lambda: is_running(jobs, job))
    gate.open()
    await eventually((home / "jobs" / job / "end").exists)
    async with homes.local(home) as jobs:
        await end_of(jobs, job)
        assert await run(jobs, "echo $A $PWD") == "1 /usr\n"


async def test_state_is_taken_up_after_the_loss_of_the_database(home: Path, gate: Gate) -> None:
    """Checklist 98: several runs, in the order of their numbers; one whose state is torn leaves nothing."""
    async with bide.local(home) as jobs:
        await jobs.sessions.start("s")
        ids = [
            (await jobs.run(f"{gate.wait}; export A={n} V{n}=1", session="s", deadline=timedelta(0))).job.id
            for n in range(11)
        ]
        for job in ids:
            await eventually(lambda job=job: is_running(jobs, job))
    for _ in ids:
        gate.open()
    for job in ids:
        await eventually((home / "jobs" / job / "end").exists)
    torn = home / "sessions" / "s" / f"state.{ids[3]}"
    torn.write_bytes(torn.read_bytes()[:-4])
    for name in ("bide.db", "bide.db-wal", "bide.db-shm"):
        (home / name).unlink(missing_ok=True)
    async with homes.local(home) as jobs:
        assert await run(jobs, "echo $A $V2 ${V3-none} $V10") == "10 1 none 1\n"
        assert len(list((home / "sessions" / "s").iterdir())) == 1


async def test_a_file_of_a_session_that_cannot_be_read_is_set_aside(home: Path) -> None:
    async with bide.local(home) as jobs:
        for session in ("torn", "empty", "none", "copied", "good"):
            await jobs.sessions.start(session)
        await jobs.run("true", session="torn")
    sessions = home / "sessions"
    (sessions / "torn" / "session.json").write_bytes((sessions / "torn" / "session.json").read_bytes()[:50])
    (sessions / "empty" / "session.json").write_bytes(b"")
    (sessions / "none" / "session.json").unlink()
    shutil.copytree(sessions / "good", sessions / "other")
    (sessions / "good" / "session.json.tmp").write_bytes(b"{")
    async with homes.local(home) as jobs:
        assert {one.id for one in await jobs.sessions.list()} == {"good", "copied"}
        aside = {path.name.rpartition("-")[0] for path in (home / "quarantine").iterdir()}
        assert aside == {"session-torn", "session-empty", "session-none", "session-other"}
        assert (await jobs.get("job-torn-1")).phase_name == "ended"
        await jobs.sessions.start("torn")
        assert (await jobs.run("true", session="torn")).job.id == "job-torn-2"
