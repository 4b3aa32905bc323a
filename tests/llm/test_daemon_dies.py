"""kill -9 of the daemon in the middle of requests of every kind: each answer is there afterwards, once (203, 226, 233)."""

from datetime import timedelta
from functools import partial
from pathlib import Path

import anyio
import pytest
from tests.llm.conftest import PROGRAMS, Fakes
from tests.mcpserver.clients import ERAS
from tests.mcpserver.test_stdio import started
from tests.support import homes
from tests.support.gates import Gate
from tests.support.patience import eventually

from bide.api import Filter
from bide.model.llm.answer import Asked, Status
from bide.model.llm.ask import Ask
from bide.model.llm.prompt import Parts
from bide.model.schema import Json

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


@pytest.mark.slow
async def test_203_233_calls_over_mcp_are_answered_by_the_next_daemon(home: Path, fakes: Fakes, gate: Gate) -> None:
    """A client that waits in a request, in a watch, in a review and in `ask` hears of nothing but the answers."""
    fakes.set(mode="slow", gate=str(gate.path), say_codex="APPROVED")
    said: dict[str, Json] = {}
    async with homes.remote(home), started(home, ERAS[1], "--tools", "core,llm") as ai:
        watched = (await ai.data("grok_request_async", prompt="watched"))["job"]["id"]

        async def call(tool: str, **arguments: object) -> None:
            said[tool] = await ai.data(tool, **arguments)

        with anyio.fail_after(50):
            async with anyio.create_task_group() as group:
                group.start_soon(partial(call, "claude_request", prompt="awaited", correlationId="mine"))
                group.start_soon(partial(call, "ask", cli="gemini", prompt="asked"))
                group.start_soon(partial(call, "llm_review", prompt="look", clis=["codex"]))
                group.start_soon(partial(call, "llm_job_watch", jobId=watched, afterProgressSeq=10**12, waitMs=30_000))
                await eventually(lambda: len(fakes.started) == 4, within=20)
                await homes.kill_daemon(home)
                for _ in range(4):
                    gate.open()
        assert (said["claude_request"]["response"], said["ask"]["answer"]) == ("you said: awaited", "you said: asked")
        assert (said["llm_review"]["verdict"], said["llm_job_watch"]["phase"]) == ("approved", "completed")
        found = (await ai.data("llm_request_result", correlationId="mine"))["result"]
        assert (found["status"], found["parsed"]["text"]) == ("completed", "you said: awaited")
    assert len(fakes.started) == 4
