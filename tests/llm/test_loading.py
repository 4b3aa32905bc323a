"""What knows of LLM command lines is loaded when there is a request, and no sooner: the daemon starts without it."""

import subprocess
import sys
from pathlib import Path

from tests.llm.conftest import Fakes
from tests.support import homes
from tests.support.gates import Gate
from tests.support.patience import end_of, eventually

import bide
from bide.api import Jobs
from bide.model.llm.answer import Status

OPENED = """
import sys
import anyio
import bide.daemon.main
from bide.runtime.local import open_jobs

def loaded():
    return [name for name in sys.modules if name.startswith(("bide.runtime.llm", "bide.kinds.llm", "bide.store.llm"))]

async def main():
    async with open_jobs(sys.argv[1]) as jobs:
        await jobs.run("true")
        await jobs.groups.list()
        before = loaded()
        await jobs.llm.health()
        print(before, len(loaded()) > 10)

anyio.run(main)
"""


def test_a_home_without_requests_does_not_load_what_they_need(home: Path) -> None:
    done = subprocess.run([sys.executable, "-c", OPENED, str(home)], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("[] True", 0), done.stderr


def is_loaded(jobs: Jobs) -> bool:
    return vars(jobs)["_llm"] is not None


async def test_requests_that_go_on_are_taken_up_at_the_start(home: Path, fakes: Fakes, gate: Gate) -> None:
    fakes.set(mode="slow", gate=str(gate.path))
    async with bide.local(home) as jobs:
        assert not is_loaded(jobs)
        asked = await jobs.llm.ask("claude", "hello", background=True)
        await eventually(lambda: len(fakes.started) == 1)
    async with homes.local(home) as jobs:
        assert is_loaded(jobs)
        gate.open()
        await end_of(jobs, asked.job.id)
        assert (await jobs.llm.answer(asked.job.id)).status is Status.COMPLETED


async def test_requests_that_are_over_and_on_record_load_nothing(home: Path, fakes: Fakes) -> None:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text("[llm]\nretry_pause = '0.01s'\n", encoding="utf-8")
    fakes.set(mode="flaky")
    async with homes.local(home) as jobs:
        assert (await jobs.llm.ask("claude", "hello")).answer.status is Status.COMPLETED
        fakes.env("LLM_GATEWAY_JOBS_DB", "none")
        assert (await jobs.llm.ask("codex", "hello", correlation_id="off")).answer.status is Status.COMPLETED

        async def recorded() -> bool:
            return (await jobs.llm.cache())["totalRequests"] == 2

        await eventually(recorded)
    async with homes.local(home) as jobs:
        assert not is_loaded(jobs)
        assert (await jobs.llm.cache())["totalRequests"] == 1
    assert len(fakes.started) == 3
