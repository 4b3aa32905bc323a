"""Very many short jobs."""

import os
from pathlib import Path

import anyio
import pytest
from tests.support import processes
from tests.support.patience import ended, eventually

from bide.api import Jobs

COUNT = 10_000
AT_ONCE = 50


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_ten_thousand_short_jobs_leave_ten_thousand_ends_and_nothing_else(remote: Jobs, home: Path) -> None:
    await remote.run("true")
    pid = processes.daemons(home)[0]
    before = len(os.listdir(f"/proc/{pid}/fd"))
    codes: dict[int, int | None] = {}
    numbers = iter(range(COUNT))

    async def work() -> None:
        for number in numbers:
            ran = await remote.run(["sh", "-c", f"exit {number % 256}"])
            codes[number] = ended(ran.job).end.exit_code

    async with anyio.create_task_group() as group:
        for _ in range(AT_ONCE):
            group.start_soon(work)
    assert codes == {number: number % 256 for number in range(COUNT)}
    assert len(os.listdir(home / "jobs")) == COUNT + 1
    await eventually(lambda: not processes.keepers(home))
    children = processes.read(pid, f"task/{pid}/children").split()
    assert all(processes.state(int(child)) != "Z" for child in children)
    assert len(os.listdir(f"/proc/{pid}/fd")) <= before + AT_ONCE
