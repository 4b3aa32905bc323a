"""Keepers made ahead: jobs get them, they need nothing while they wait, and they go when the home is let go of."""

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support import homes, processes
from tests.support.gates import Gate
from tests.support.patience import ended, eventually

import bide
from bide import config
from bide.api import Jobs
from bide.keeper import launch


async def ready(home: Path) -> list[Path]:
    """The folders of all spares, once as many wait as are wanted."""

    def folders() -> list[Path]:
        return [path for path in (home / "new").glob("spare-*") if not path.name.endswith(".new")]

    await eventually(lambda: len(folders()) == config.spares())
    return folders()


async def test_a_plain_job_has_a_keeper_that_was_waiting(jobs: Jobs, home: Path, gate: Gate) -> None:
    await jobs.run("true")
    for _ in range(20):  # the runtime may hear of a spare later than we see its folder
        waiting = {launch.holder(str(folder)) for folder in await ready(home)}
        job = (await jobs.run(gate.wait, background=True)).job.id
        if launch.holder(str(home / "jobs" / job)) in waiting:
            return
    pytest.fail("no job got a keeper that was waiting")


@pytest.mark.parametrize("options", [{"stdin": True}, {"pty": True}, {"merge": True}])
async def test_a_job_that_needs_more_has_one_made_for_it(
    local: Jobs, home: Path, gate: Gate, options: dict[str, Any]
) -> None:
    await local.run("true")
    waiting = {launch.holder(str(folder)) for folder in await ready(home)}
    job = (await local.run(gate.wait, background=True, **options)).job.id
    assert launch.holder(str(home / "jobs" / job)) not in waiting


async def test_a_job_of_a_spare_runs_as_any_other(local: Jobs, home: Path, tmp_path: Path) -> None:
    await local.run("true")
    await ready(home)
    script = "umask; ulimit -n; pwd; echo $BIDE_JOB; grep -c SigBlk:.0000000000000000 /proc/self/status; exit 7"
    ran = await local.run(script, cwd=str(tmp_path), umask=0o027)
    assert ended(ran.job).end.exit_code == 7
    assert ran.out is not None
    mask, _, cwd, job, unblocked = ran.out.data.decode().split()
    assert (mask, cwd, job, unblocked) == ("0027", str(tmp_path), ran.job.id, "1")
    missing = await local.run(["/no/such/program"])
    assert ended(missing.job).end.reason is bide.Reason.SPAWN_FAILED


async def test_spares_that_wait_use_no_cpu(local: Jobs, home: Path) -> None:
    job = (await local.run("sleep 1000", background=True)).job.id
    await ready(home)

    def switches() -> list[bytes]:
        status = [processes.read(pid, "status") for pid in sorted(processes.spares(home))]
        return [line for text in status for line in text.splitlines() if b"ctxt_switches" in line]

    await local.wait([job], timeout=timedelta(seconds=0.2))
    before = switches()
    assert len(before) == 2 * 2 * config.spares()
    await local.wait([job], timeout=timedelta(seconds=1.2))
    assert switches() == before


async def test_none_is_left_when_the_home_is_let_go_of(home: Path) -> None:
    async with bide.local(home) as jobs:
        await jobs.run("true")
        await ready(home)
        assert len(processes.spares(home)) == 2 * config.spares()
    assert processes.spares(home) == []
    assert os.listdir(home / "new") == []


async def test_none_is_made_if_none_is_wanted(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIDE_SPARES", "0")
    async with homes.local(home) as jobs:
        for _ in range(3):
            assert ended((await jobs.run("exit 3")).job).end.exit_code == 3
        assert processes.spares(home) == []


@pytest.mark.parametrize(("given", "number"), [("", 4), ("0", 0), ("7", 7), ("1000", 64), ("many", 4), ("-1", 4)])
def test_how_many_is_a_setting(given: str, number: int) -> None:
    assert config.spares({"BIDE_SPARES": given}) == number
