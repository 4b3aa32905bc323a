"""`bide.connect`: starts what is missing, finds what is there, and says what is wrong."""

import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from tests.support import homes, processes
from tests.support.patience import ended, eventually

import bide
from bide.api import Jobs
from bide.model.errors import BadRequest, DaemonUnavailable, HomeUnusable, JobNotFound


async def test_nothing_is_started_before_it_is_needed(home: Path) -> None:
    async with bide.connect(home):
        assert not home.exists()


async def test_callers_at_the_same_time_start_one_daemon_together(remote: Jobs, home: Path) -> None:
    codes: list[int | None] = []

    async def run(number: int) -> None:
        codes.append(ended((await remote.run(f"exit {number}")).job).end.exit_code)

    async with anyio.create_task_group() as group:
        for number in range(12):
            group.start_soon(run, number)
    assert sorted(code for code in codes if code is not None) == list(range(12))
    assert len(processes.daemons(home)) == 1


async def test_programs_at_the_same_time_start_one_daemon_together(home: Path) -> None:
    program = (
        "import anyio, bide, sys\n"
        "async def main():\n"
        " async with bide.connect(sys.argv[1]) as jobs: print((await jobs.run('echo ok')).out.data.decode(), end='')\n"
        "anyio.run(main)"
    )
    said: list[bytes] = []

    async def run() -> None:
        done = await anyio.run_process([sys.executable, "-c", program, str(home)], stderr=None)
        said.append(done.stdout)

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(run)
    try:
        assert said == [b"ok\n"] * 3
        await eventually(lambda: len(processes.daemons(home)) == 1)  # the others find that there is one, and leave
    finally:
        await homes.stop_daemon(home)


async def test_the_home_is_the_one_of_the_environment_unless_given(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIDE_HOME", str(home))
    async with bide.connect() as jobs:
        await jobs.run("true")
    assert (home / "bide.db").exists()
    await homes.stop_daemon(home)

    monkeypatch.delenv("BIDE_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    async with bide.local() as jobs:
        await jobs.list()
    assert (tmp_path / "state" / "bide" / "bide.db").exists()

    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    async with bide.local() as jobs:
        await jobs.list()
    assert (tmp_path / ".local" / "state" / "bide" / "bide.db").exists()


async def test_the_owner_is_the_one_of_the_environment_unless_given(
    remote: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIDE_OWNER", "agent-7")
    assert (await remote.run("true")).job.owner == "agent-7"
    assert (await remote.run("true", owner="agent-8")).job.owner == "agent-8"
    monkeypatch.delenv("BIDE_OWNER")
    assert (await remote.run("true")).job.owner == "user"


async def test_errors_arrive_as_their_own_classes(remote: Jobs) -> None:
    with pytest.raises(JobNotFound) as refused:
        await remote.get("nobody")
    assert refused.value.facts == {"job": "nobody"}
    with pytest.raises(BadRequest, match="a job's id or name cannot be empty"):
        await remote.get("")


async def test_a_daemon_that_cannot_start_is_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(DaemonUnavailable, match="does not answer: it ended at once with status 1; see") as refused:
        async with bide.connect(home) as jobs:
            await jobs.list()
    assert refused.value.code == "daemon_unavailable"


async def test_a_path_where_no_home_can_be_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HomeUnusable, match=r"it is not a folder; make it writable or set BIDE_HOME"):
        async with bide.connect(tmp_path / "file" / "home") as jobs:
            await jobs.list()


async def test_a_cancelled_call_does_not_spoil_the_next(remote: Jobs) -> None:
    await remote.run("sleep 1000", name="long", background=True)
    for _ in range(3):
        with anyio.move_on_after(0.05):
            await remote.wait(["long"])
        assert (await remote.get("long")).phase_name == "running"


async def test_many_calls_use_few_connections(home: Path) -> None:
    async with homes.remote(home) as jobs:
        await jobs.list()
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(20):
            await jobs.list()
        assert len(os.listdir("/proc/self/fd")) <= before + 1


async def test_many_idle_connections_do_not_outlast_their_daemon(remote: Jobs, home: Path) -> None:
    async with anyio.create_task_group() as group:
        for _ in range(12):
            group.start_soon(remote.run, "sleep 0.2")
    await homes.kill_daemon(home)
    assert ended((await remote.run("exit 7")).job).end.exit_code == 7


async def test_a_transport_is_closed_with_its_block(home: Path) -> None:
    async with homes.remote(home) as jobs:
        await jobs.list()
        before = len(os.listdir("/proc/self/fd"))
        async with bide.connect(home) as other:
            await other.list()
            assert len(os.listdir("/proc/self/fd")) == before + 1
        assert len(os.listdir("/proc/self/fd")) == before


def test_the_library_imports_nothing_heavy_until_it_is_used() -> None:
    program = "import bide, sys; print(sorted({'anyio', 'asyncio', 'sqlite3', 'httptools'} & set(sys.modules)))"
    command = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        f"import sys; sys.path.insert(0, {str(Path(bide.__file__).parent.parent)!r}); {program}",
    ]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"
