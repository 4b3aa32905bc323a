"""Pipes and locks that one job leaves to the next, and never while somebody may hold them."""

import os
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.gates import Gate
from tests.support.patience import eventually

from bide.api import Jobs
from bide.keeper.reuse import Leftovers

FIFOS = ("ctl", "out.p", "err.p")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The folder of a job that is over."""
    path = tmp_path / "old"
    path.mkdir()
    for name in FIFOS:
        os.mkfifo(path / name)
    (path / "lock").touch()
    return path


@pytest.fixture
def new(tmp_path: Path) -> Path:
    """The folder of one that begins."""
    path = tmp_path / "new"
    path.mkdir()
    return path


def furnished(old: Path, new: Path) -> set[str]:
    """What the new folder has from the old one; all the FIFOs are there in any case."""
    inodes = {path.name: path.stat().st_ino for path in old.iterdir()}
    leftovers = Leftovers()
    leftovers.offer(str(old))
    leftovers.furnish(str(new), FIFOS)
    assert all((new / name).is_fifo() for name in FIFOS)
    return {name for name, inode in inodes.items() if not (old / name).exists() and (new / name).stat().st_ino == inode}


def test_what_nobody_holds_is_moved(old: Path, new: Path) -> None:
    assert furnished(old, new) == {*FIFOS, "lock"}


@pytest.mark.parametrize("how", [os.O_RDONLY, os.O_RDWR])
def test_what_somebody_holds_stays_where_it_is(old: Path, new: Path, how: int) -> None:
    held = os.open(old / "out.p", how | os.O_NONBLOCK)
    try:
        assert furnished(old, new) == {"ctl", "err.p", "lock"}
    finally:
        os.close(held)


def test_one_that_somebody_can_write_to_stays_where_it_is(old: Path, new: Path) -> None:
    reading = os.open(old / "err.p", os.O_RDONLY | os.O_NONBLOCK)
    writing = os.open(old / "err.p", os.O_WRONLY | os.O_NONBLOCK)
    os.close(reading)
    try:
        assert furnished(old, new) == {"ctl", "out.p", "lock"}
    finally:
        os.close(writing)


def test_a_folder_that_is_gone_gives_nothing(tmp_path: Path, new: Path) -> None:
    leftovers = Leftovers()
    leftovers.offer(str(tmp_path / "forgotten"))
    leftovers.furnish(str(new), FIFOS)
    assert sorted(path.name for path in new.iterdir()) == sorted(FIFOS)


async def test_a_job_has_the_pipes_of_an_earlier_one(local: Jobs, home: Path) -> None:
    async def folder(command: str) -> Path:
        # A merged output keeps it from the spare keepers, which have pipes of their own.
        job = (await local.run(command, merge=True)).job
        assert (await local.read(job.id)).data == command.rpartition(" ")[2].encode() + b"\n"
        return home / "jobs" / job.id

    inodes: list[int] = []
    paths: list[Path] = []

    async def again() -> bool:
        paths.append(await folder("echo some"))
        with suppress(FileNotFoundError):
            inodes.append((paths[-1] / "out.p").stat().st_ino)
        return len(set(inodes)) < len(inodes)

    await eventually(again)
    assert not all((path / "out.p").exists() for path in paths)
    assert [(await local.read(path.name)).data for path in paths] == [b"some\n"] * len(paths)


async def test_what_outlives_a_job_writes_into_no_other(local: Jobs, gate: Gate) -> None:
    leaver = (await local.run(f"({gate.wait}; while echo stray; do :; done) & echo left", merge=True)).job
    gate.open()
    for _ in range(10):
        job = (await local.run("echo mine", merge=True)).job
        assert (await local.read(job.id)).data == b"mine\n"
    assert (await local.kill(leaver.id)).verified_empty
