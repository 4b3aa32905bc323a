"""Fifty jobs are asked for, three may run at once, and the daemon does not live to see all of them."""

from pathlib import Path

from tests.support import homes
from tests.support.patience import LONG, ended, eventually

from bide import Turn

RENDER = Turn(group="render")


async def test_a_queue_of_fifty_with_three_places_through_deaths_of_the_daemon(home: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with homes.remote(home) as jobs:
        await jobs.groups.limit("render", 3)
        ids: list[str] = []
        for frame in range(50):
            work = f"echo + {frame} >> {log}; sleep 0.05; echo - {frame} >> {log}"
            ids.append((await jobs.run(work, turn=RENDER, background=True)).job.id)
        for seen in (10, 20, 30, 40):
            await eventually(lambda seen=seen: log.read_text().count("-") >= seen)
            await homes.kill_daemon(home)
            await jobs.groups.list()

        waited = await jobs.wait(ids, timeout=LONG)

        assert all(ended(job).end.success for job in waited.jobs)
        lines = [line.split() for line in log.read_text().splitlines()]
        assert sorted(int(frame) for sign, frame in lines if sign == "+") == list(range(50))
        running: set[str] = set()
        for sign, frame in lines:
            running = running | {frame} if sign == "+" else running - {frame}
            assert len(running) <= 3
