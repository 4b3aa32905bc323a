"""kill -9 of the daemon in the middle of requests of every kind: each answer is there afterwards, once (203, 226, 233)."""

from datetime import timedelta
from pathlib import Path

import anyio
from tests.llm.conftest import PROGRAMS, Fakes
from tests.support import homes
from tests.support.gates import Gate
from tests.support.patience import eventually

from bide.api import Filter
from bide.model.llm.answer import Asked, Status
from bide.model.llm.ask import Ask
from bide.model.llm.prompt import Parts

PLAN = {"mistral": {"agent": "plan"}}
LONG = Parts("do it", context="x" * 140_000)


def kinds(cli: str) -> list[Ask]:
    """Awaited, deferred, in the background, by stdin, and going on with a conversation."""
    options = PLAN.get(cli, {})
    return [
        Ask.of(cli, "awaited", options=options, correlation_id=f"{cli}-awaited"),
        Ask.of(cli, "deferred", options=options, correlation_id=f"{cli}-deferred", deadline=timedelta(seconds=0.1)),
        Ask.of(cli, "background", options=options, correlation_id=f"{cli}-background", background=True),
        Ask.of(cli, parts=LONG, options=options, correlation_id=f"{cli}-stdin"),
        Ask.of(cli, "resumed", options=options, correlation_id=f"{cli}-resumed", conversation="c-7"),
    ]


async def test_203_233_each_kind_of_request_has_its_answer_once(home: Path, fakes: Fakes, gate: Gate) -> None:
    fakes.set(mode="slow", gate=str(gate.path))
    asks = [ask for cli in PROGRAMS for ask in kinds(cli)]
    found: dict[str, Asked] = {}
    async with homes.remote(home) as jobs:

        async def request(ask: Ask) -> None:
            found[str(ask.correlation_id)] = await jobs.llm.ask(ask)

        with anyio.fail_after(18):
            async with anyio.create_task_group() as group:
                for ask in asks:
                    group.start_soon(request, ask)
                await eventually(lambda: len(fakes.started) == len(asks), within=15)
                await homes.kill_daemon(home)
                for _ in asks:
                    gate.open()
        for ask in asks:
            correlation = str(ask.correlation_id)
            await jobs.wait([found[correlation].job.id])
            answer = await jobs.llm.answer(correlation)
            assert (answer.status, answer.job.id) == (Status.COMPLETED, found[correlation].job.id)
            said = ask.said().text
            assert answer.text == f"you said: {said[:200]}"
        awaited = [found[f"{cli}-{kind}"] for cli in PROGRAMS for kind in ("awaited", "stdin", "resumed")]
        assert {one.answer.status for one in awaited} == {Status.COMPLETED}
        assert sum([len((await jobs.list(Filter(kind=cli))).jobs) for cli in PROGRAMS]) == len(asks)
    assert len(fakes.started) == len(asks)
