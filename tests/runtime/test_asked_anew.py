"""Being told when others are asked than before, in process and over the socket."""

from collections.abc import Awaitable, Callable, Collection
from datetime import timedelta

import anyio
from tests.support.gates import Gate

from bide.api import Jobs
from bide.model.question import Question

LONG = timedelta(seconds=20)


async def asked_after(jobs: Jobs, known: Collection[str], act: Callable[[], Awaitable[object]]) -> set[str]:
    """What is open once it is another than what is known, of which this act is the cause."""
    found: set[str] = set()

    async def listen() -> None:
        found.update(one.id for one in await jobs.questions.list(known=known, timeout=LONG))

    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        await act()
    return found


async def test_a_list_waits_until_something_is_asked_answered_or_its_job_is_over(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(gate.wait, background=True)).job.id
    (first,) = await asked_after(jobs, (), lambda: jobs.questions.pose(job, Question("One?")))
    both = await asked_after(jobs, (first,), lambda: jobs.questions.pose(job, Question("Two?")))
    (left,) = await asked_after(jobs, both, lambda: jobs.questions.answer(first, "yes"))
    assert both == {first, left}
    assert await asked_after(jobs, (left,), lambda: jobs.kill(job)) == set()


async def test_a_list_waits_for_the_prompts_of_programs_as_well(local: Jobs) -> None:
    (prompt,) = await asked_after(local, (), lambda: local.run("read x; read y", background=True, stdin=True))
    other = await asked_after(local, (prompt,), lambda: local.questions.answer(prompt, "a"))
    assert prompt not in other
    (second,) = await local.questions.list(known=(), timeout=LONG)
    assert await asked_after(local, (second.id,), lambda: local.kill(second.job)) == set()


async def test_a_list_of_what_is_known_comes_when_the_time_is_up_and_of_what_is_not_at_once(jobs: Jobs) -> None:
    assert await jobs.questions.list(known=(), timeout=timedelta(milliseconds=5)) == ()
    assert await jobs.questions.list(known=("q0000000000",)) == ()
