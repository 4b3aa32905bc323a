"""The home: whose it is, how long its path may be, who serves it, and what a half-written one loses."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from tests.support import homes, processes
from tests.support.databases import edited
from tests.support.gates import Gate
from tests.support.patience import end_of, ended, eventually

import bide
from bide import Reason
from bide.model.errors import DatabaseNewer, HomeBusy, HomeReadOnly, HomeUnusable, JobNotFound

DOORS = pytest.mark.parametrize("door", [homes.local, homes.remote], ids=["local", "remote"])


@DOORS
async def test_everything_in_a_home_is_for_its_owner_alone(home: Path, door: homes.Door) -> None:
    async with door(home) as jobs:
        await jobs.run("echo x; echo y >&2; cat", stdin=True, background=True)
        loose = {
            str(path.relative_to(home)): oct(path.lstat().st_mode)
            for path in (home, *home.rglob("*"))
            if stat.S_IMODE(path.lstat().st_mode) & 0o077
        }
        assert loose == {}


@DOORS
async def test_a_home_that_others_could_enter_is_closed_to_them(home: Path, door: homes.Door) -> None:
    home.mkdir(mode=0o755)
    async with door(home) as jobs:
        await jobs.run("true")
        assert stat.S_IMODE(home.stat().st_mode) == 0o700


@DOORS
async def test_the_path_of_a_home_may_be_longer_than_a_socket_address(tmp_path: Path, door: homes.Door) -> None:
    home = tmp_path / ("deep" * 30) / ("deeper" * 20) / "home"
    assert len(str(home)) > 300
    async with door(home) as jobs:
        ran = await jobs.run("echo $BIDE_HOME; cat", stdin=True, background=True)
        await jobs.send(ran.job.id, data=b"and in\n", eof=True)
        assert (await end_of(jobs, ran.job.id)).end.success
        assert (await jobs.read(ran.job.id)).data == f"{home}\nand in\n".encode()


@DOORS
async def test_the_path_of_a_home_may_have_any_characters(tmp_path: Path, door: homes.Door) -> None:
    home = tmp_path / "a 'b' \"c\" %41 \u2713 \n\udcff" / "home"
    async with door(home) as jobs:
        ran = await jobs.run('printf %s "$BIDE_HOME"')
        assert ran.out is not None
        assert ran.out.data == os.fsencode(home)


@DOORS
async def test_a_home_that_is_a_file_is_refused(home: Path, door: homes.Door) -> None:
    home.write_text("not a folder")
    with pytest.raises(HomeUnusable, match="; make it writable or set BIDE_HOME to another folder") as refused:
        async with door(home) as jobs:
            await jobs.run("true")
    assert refused.value.code == "home_unusable"
    assert home.read_text() == "not a folder"


@pytest.mark.root
@DOORS
async def test_a_home_of_somebody_else_is_refused(home: Path, door: homes.Door) -> None:
    home.mkdir()
    os.chown(home, 1234, 1234)
    with pytest.raises(HomeUnusable, match=f"cannot use '{home}' as bide's home: it belongs to uid 1234"):
        async with door(home) as jobs:
            await jobs.run("true")


@pytest.mark.root
@DOORS
async def test_a_home_that_cannot_be_written_is_refused(tmp_path: Path, door: homes.Door) -> None:
    """On a read-only filesystem, since root may write anywhere else."""
    disk = tmp_path / "disk"
    disk.mkdir()
    await anyio.run_process(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(disk)])
    try:
        with pytest.raises(HomeReadOnly, match="is read-only, so nothing can be recorded there; make it writable"):
            async with door(disk / "home") as jobs:
                await jobs.run("true")
    finally:
        await anyio.run_process(["umount", str(disk)])


async def test_one_process_serves_a_home_at_a_time(home: Path) -> None:
    async with homes.local(home):
        sentence = f"home '{home}' is served by process {os.getpid()}; use bide.connect"
        with pytest.raises(HomeBusy, match=sentence) as refused:
            async with bide.local(home):
                pass
        assert refused.value.code == "home_busy"
        with pytest.raises(HomeBusy, match=sentence):
            async with bide.connect(home) as jobs:
                await jobs.list()
        await eventually(lambda: processes.daemons(home) == [])


async def test_a_home_with_a_daemon_is_busy_for_a_program(home: Path) -> None:
    async with homes.remote(home) as jobs:
        await jobs.list()
        with pytest.raises(HomeBusy, match=f"is served by process {homes.daemon_pid(home)}"):
            async with bide.local(home):
                pass


def test_the_lock_of_a_crashed_program_is_free(home: Path) -> None:
    program = "import anyio, bide, os, sys\nasync def main():\n async with bide.local(sys.argv[1]): os.kill(os.getpid(), 9)\nanyio.run(main)"
    done = subprocess.run([sys.executable, "-c", program, str(home)], check=False)
    assert done.returncode == -9

    async def use() -> None:
        async with homes.local(home) as jobs:
            assert ended((await jobs.run("true")).job).end.success

    anyio.run(use)


@DOORS
async def test_a_newer_database_is_refused_and_not_touched(home: Path, door: homes.Door) -> None:
    async with bide.local(home) as jobs:
        await jobs.run("true")
    _set_schema(home, 999)
    before = (home / "bide.db").read_bytes()
    with pytest.raises(DatabaseNewer, match=r"has schema 999, and this bide knows up to \d+; upgrade bide") as refused:
        async with door(home) as jobs:
            await jobs.list()
    assert refused.value.code == "database_newer"
    assert (home / "bide.db").read_bytes() == before


def _set_schema(home: Path, number: int) -> None:
    with edited(home / "bide.db") as connection:
        connection.execute(f"PRAGMA user_version = {number}")


@pytest.mark.parametrize(
    ("damage", "door"),
    [
        ("removed", homes.local),
        ("garbage", homes.local),
        ("empty", homes.local),
        ("not the schema it says", homes.local),
        ("garbage", homes.remote),
    ],
    ids=["removed", "garbage", "empty", "schema", "remote"],
)
async def test_a_database_that_is_gone_or_damaged_is_made_anew_from_the_folders(
    home: Path, door: homes.Door, damage: str, gate: Gate
) -> None:
    async with bide.local(home) as jobs:
        over = (await jobs.run("echo kept; exit 3", name="over", label="l", owner="o", key="k")).job
        runs = (await jobs.run(f"{gate.wait}; exit 4", name="runs", background=True)).job
    if damage == "not the schema it says":
        _set_schema(home, 2)
    for suffix in ("", "-wal", "-shm"):
        file = home / f"bide.db{suffix}"
        if damage == "removed":
            file.unlink(missing_ok=True)
        elif file.exists() and damage != "not the schema it says":
            file.write_bytes(b"" if damage == "empty" else os.urandom(8192))

    async with door(home) as jobs:
        assert await jobs.get(over.id) == over
        assert (await jobs.get("runs")).phase == runs.phase
        gate.open()
        assert (await end_of(jobs, runs.id)).end.exit_code == 4
        again = await jobs.run("exit 9", key="k", owner="o")
        assert again.joined
    kept = [path.name for path in home.iterdir() if "corrupt" in path.name]
    assert bool(kept) is (damage == "garbage")


@pytest.mark.parametrize("damage", ["no spec", "torn spec", "garbage", "another's spec", "a file"])
async def test_a_half_written_folder_is_set_aside_and_the_others_load(home: Path, damage: str) -> None:
    async with bide.local(home) as jobs:
        good = (await jobs.run("echo good")).job
        bad = (await jobs.run("echo bad")).job
    folder = home / "jobs" / bad.id
    spec = folder / "spec"
    if damage == "no spec":
        spec.unlink()
    elif damage == "torn spec":
        spec.write_bytes(spec.read_bytes()[:-10])
    elif damage == "garbage":
        spec.write_bytes(os.urandom(500) + b"\0")
    elif damage == "another's spec":
        shutil.copy(home / "jobs" / good.id / "spec", spec)
    else:
        shutil.rmtree(folder)
        folder.write_text("what is this?")
    for suffix in ("", "-wal", "-shm"):
        (home / f"bide.db{suffix}").unlink(missing_ok=True)

    async with homes.local(home) as jobs:
        assert await jobs.get(good.id) == good
        with pytest.raises(JobNotFound):
            await jobs.get(bad.id)
        assert (home / "quarantine" / bad.id).exists()


@pytest.mark.parametrize("file", ["end", "started"])
@pytest.mark.parametrize("damage", ["torn", "garbage", "{}"])
async def test_a_record_that_cannot_be_read_is_never_taken_for_a_success_nor_run_again(
    home: Path, tmp_path: Path, file: str, damage: str
) -> None:
    async with bide.local(home) as jobs:
        job = (await jobs.run(f"echo ran >> '{tmp_path}/ran'")).job
    folder = home / "jobs" / job.id
    record = folder / file
    whole = record.read_bytes()
    if file == "started":
        (folder / "end").unlink()
        whole = whole.rstrip(b"\n")
    torn = {"torn": whole[: len(whole) // 2], "garbage": os.urandom(4096), "{}": b"{}".ljust(4095)}
    record.write_bytes(torn[damage] + b"\n")
    for suffix in ("", "-wal", "-shm"):
        (home / f"bide.db{suffix}").unlink(missing_ok=True)
    async with homes.local(home) as jobs:
        found = await end_of(jobs, job.id)
        assert not found.end.success
        assert found.end.reason is Reason.LOST
    assert (tmp_path / "ran").read_text() == "ran\n"


async def test_what_was_prepared_and_never_accepted_is_cleared_away(home: Path) -> None:
    async with bide.local(home) as jobs:
        await jobs.run("true")
    leftover = home / "new" / "j0000000000"
    leftover.mkdir()
    (leftover / "ctl").write_text("")
    async with homes.local(home) as jobs:
        assert len((await jobs.list()).jobs) == 1
        assert not leftover.exists()


async def test_a_folder_that_vanishes_under_a_running_job_is_said(home: Path, gate: Gate) -> None:
    async with homes.local(home) as jobs:
        job = (await jobs.run(f"{gate.wait}; echo x", background=True)).job
        shutil.rmtree(home / "jobs" / job.id)
        gate.open()
        found = await end_of(jobs, job.id)
        assert found.end.reason is Reason.LOST
        assert found.end.error
