"""Regular expressions from outside: an expression that would take for ever is refused, and stops nobody meanwhile."""

import time
from datetime import timedelta

import anyio
import pytest

from bide import Until
from bide.api import Jobs
from bide.model.errors import BadRequest

ENDLESS = r"(a|aa)+$"
"""On a line of many a's it tries every way to divide them."""
LINE = "a" * 60 + "b"
SENTENCE = "takes too long on a line of this output; repeats within repeats are the usual cause"


@pytest.mark.parametrize("asked", ["grep", "until"])
async def test_an_expression_that_takes_for_ever_is_refused_and_stops_nobody(jobs: Jobs, asked: str) -> None:
    job = (await jobs.run(f"echo {LINE}; sleep 1000", name="long", background=True)).job.id
    await jobs.wait([job], until=Until(log="a"))
    slowest = took = 0.0

    async def look() -> None:
        nonlocal slowest
        while True:
            began = time.monotonic()
            await jobs.get("long")
            slowest = max(slowest, time.monotonic() - began)
            await anyio.sleep(0.01)

    async with anyio.create_task_group() as group:
        group.start_soon(look)
        began = time.monotonic()
        with pytest.raises(BadRequest, match=SENTENCE):
            if asked == "grep":
                await jobs.read(job, grep=ENDLESS)
            else:
                await jobs.wait([job], until=Until(log=ENDLESS), timeout=timedelta(seconds=50))
        took = time.monotonic() - began
        group.cancel_scope.cancel()
    assert slowest < took / 2


async def test_a_line_counts_that_a_job_wrote_just_before_its_end(jobs: Jobs) -> None:
    for _ in range(10):
        job = (await jobs.run("echo last words", background=True)).job.id
        assert (await jobs.wait([job], until=Until(log="last words"))).met == "log"


async def test_an_end_without_the_line_ends_the_wait(jobs: Jobs) -> None:
    job = (await jobs.run("echo other words", background=True)).job.id
    waited = await jobs.wait([job], until=Until(log="never"))
    assert (waited.met, waited.match) == ("ended", None)
