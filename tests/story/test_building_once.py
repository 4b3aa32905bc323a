"""Two agents want the same build."""

from pathlib import Path

import anyio
from tests.support import homes
from tests.support.gates import Gate
from tests.support.patience import LONG, ended

import bide
from bide import Dedup, Policy
from bide.api import Jobs, Ran

BUILT = Dedup(Policy.REUSE_RECENT)


async def test_the_same_build_asked_for_by_two_clients_is_done_once(home: Path, gate: Gate, tmp_path: Path) -> None:
    build = f"echo building >> {tmp_path / 'log'}; {gate.wait}; echo built"
    async with homes.remote(home) as first, bide.connect(home) as second:
        answers: list[Ran] = []

        async def ask(jobs: Jobs) -> None:
            answers.append(await jobs.run(build, dedup=BUILT, deadline=LONG))

        async with anyio.create_task_group() as group:
            group.start_soon(ask, first)
            group.start_soon(ask, second)
            gate.open()

        assert sorted(ran.joined for ran in answers) == [False, True]
        assert answers[0].job.id == answers[1].job.id
        assert [ran.out and ran.out.data for ran in answers] == [b"built\n", b"built\n"]
        assert all(ended(ran.job).end.success for ran in answers)

        later = await second.run(build, dedup=BUILT)

        assert later.joined
        assert (tmp_path / "log").read_text() == "building\n"
