"""What a job wrote, in the news of its end."""

from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from tests.runtime.test_outbox import due, ran
from tests.support import homes

from bide.api import Jobs
from bide.model.notice import Message


async def test_colours_and_empty_lines_are_no_rest_to_be_read(jobs: Jobs) -> None:
    await ran(jobs, r"printf '\033[31mred\033[0m\n\n\nend\n'; printf '\033[1mbad\033[0m\n' >&2; exit 1")
    message = await due(jobs)
    assert message.items[0].extract == "red\nend\nbad"
    assert "the rest" not in message.text


@pytest.mark.parametrize(("exits", "most"), [(0, 500), (1, 1500)])
async def test_the_end_of_a_job_is_worth_a_few_lines_of_what_it_wrote(jobs: Jobs, exits: int, most: int) -> None:
    words = (
        "awk 'BEGIN{for(i=0;i<3000;i++){s=sprintf(\"%c%c%c\",97+i%26,97+int(i/26)%26,97+int(i/676)%26);print s,s,s}}'"
    )
    job = await ran(jobs, f"{words}; echo over; exit {exits}")
    message = await due(jobs)
    (told,) = message.items
    assert most / 2 < len(told.extract) <= most
    assert told.extract.endswith("\nover")
    assert f"of 35.16 KiB it wrote (the rest: bide logs {job}):" in message.text


async def test_63_the_news_of_a_failed_job_has_the_line_that_explains_it(jobs: Jobs) -> None:
    noise = "seq -f 'INFO request %g served' 40000"
    job = await ran(jobs, f"{noise}; echo 'fatal: cannot open ledger.db'; {noise}; {noise} >&2; exit 1")
    (told,) = (await due(jobs)).items
    assert (told.job, "fatal: cannot open ledger.db" in told.extract, told.cut) == (job, True, True)
    assert len(told.extract) <= 1500


async def test_39_what_is_told_while_output_is_looked_through_is_not_told_twice(home: Path) -> None:
    async with homes.local(home) as jobs:
        job = await ran(jobs, "seq 3000000; exit 1")
        found: list[Message] = []

        async def pull() -> None:
            found.append(await due(jobs, wait=False))

        async with anyio.create_task_group() as group:
            group.start_soon(pull)
            await anyio.lowlevel.checkpoint()
            await anyio.lowlevel.checkpoint()
            assert found == []
            await jobs.get(job)
        assert [message.items for message in found] == [()]
