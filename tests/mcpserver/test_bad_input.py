"""Whatever a tool is given, it answers: what is wrong is named, nothing is started by it, and nothing breaks."""

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mcpserver import inputs, plans
from tests.mcpserver.wire import OWNER, Wire, wire
from tests.support import homes

from bide.api import Filter, Jobs
from bide.mcpserver import scope, toolsets
from bide.model import arguments
from bide.model.schema import Json

TOOLSETS = toolsets.made()
TOOLS = {(name, tool.name): tool for name, tools in TOOLSETS.items() for tool in tools}
Named = tuple[str, str]
SOME = settings(inputs.SETTINGS, max_examples=len(TOOLS) * 3)
MANY = settings(inputs.SETTINGS, max_examples=len(TOOLS) * 100, derandomize=False, print_blob=True)


@pytest.fixture
async def jobs(home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Jobs]:
    """A home that has what `inputs.REFS` names."""
    monkeypatch.setattr(scope, "REGISTER_SECONDS", 0.02)
    async with homes.local(home) as found:
        await found.run(inputs.HARMLESS[2], name="done", owner=OWNER)
        await found.run("cat", name="live", owner=OWNER, stdin=True, background=True)
        await found.sessions.start("place", owner=OWNER, cwd=str(home))
        await found.run("true", session="place", owner=OWNER)
        yield found


@pytest.fixture
async def clients(jobs: Jobs, tmp_path: Path) -> AsyncIterator[dict[str, Wire]]:
    """A client of each toolset."""
    async with AsyncExitStack() as stack:
        yield {name: await stack.enter_async_context(wire(jobs, tmp_path, (name,))) for name in TOOLSETS}


def sentence(answer: Json) -> str:
    """Return the text of an answer to a call, which is no error of the protocol. What has output may come as text alone."""
    assert "result" in answer, answer
    block, *news = answer["result"]["content"]
    data = answer["result"].get("structuredContent")
    assert data is None or isinstance(data, dict)
    assert not news or data is None or "notices" in data
    return block["text"]


async def everything(jobs: Jobs) -> tuple[list[str], list[str]]:
    """All that was started here and is on record."""
    page = await jobs.list(Filter(), limit=500)
    return [job.id for job in page.jobs], [one.id for one in await jobs.sessions.list()]


def is_named(field: str, said: str) -> bool:
    return field[:20] in said or repr(field)[1:20] in said


@pytest.mark.parametrize("named", TOOLS, ids=".".join)
async def test_each_wrong_argument_is_refused_by_its_name(jobs: Jobs, tmp_path: Path, named: Named) -> None:
    before = await everything(jobs)
    async with wire(jobs, tmp_path, named[:1]) as client:
        for field, wrong in inputs.misfits(TOOLS[named].schema):
            answer = await client.call(named[1], wrong)
            said = sentence(answer)
            assert answer["result"]["isError"], wrong
            assert is_named(field, said), (wrong, said)
            assert len(said) < 1000
    assert await everything(jobs) == before


def fitting(named: Named) -> st.SearchStrategy[tuple[Named, Json]]:
    """Arguments that a tool allows."""
    return inputs.fitting(TOOLS[named].schema).map(lambda one: (named, one))


def spoilt(named: Named) -> st.SearchStrategy[tuple[Named, Json]]:
    """Arguments of which some are wrong."""
    schema = TOOLS[named].schema
    wrong = st.dictionaries(st.sampled_from([*schema["properties"], "nonsense"]), inputs.ANYTHING, max_size=4)
    both = inputs.joined(inputs.fitting(schema), wrong)
    return both.filter(lambda one: not inputs.is_fitting(arguments.meant(one, schema), schema)).map(
        lambda one: (named, one)
    )


SAFE = [named for named in TOOLS if named[1] not in plans.OUTSIDE]
CALLS = st.sampled_from(SAFE).flatmap({named: fitting(named) for named in TOOLS}.__getitem__)
SPOILT = st.sampled_from(list(TOOLS)).flatmap({named: spoilt(named) for named in TOOLS}.__getitem__)


async def check_answered(clients: dict[str, Wire], call: tuple[Named, Json], log: pytest.LogCaptureFixture) -> None:
    (toolset, tool), arguments_ = call
    sentence(await clients[toolset].call(tool, arguments_))
    # A failure of our own is logged, whatever words a toolset has for it.
    assert [one.getMessage() for one in log.records if one.levelno >= logging.ERROR] == []


@SOME
@given(call=CALLS)
async def test_whatever_fits_the_schema_is_answered(
    clients: dict[str, Wire], call: tuple[Named, Json], caplog: pytest.LogCaptureFixture
) -> None:
    await check_answered(clients, call, caplog)


@pytest.mark.slow
@pytest.mark.timeout(600)
@MANY
@given(call=CALLS)
async def test_whatever_fits_the_schema_is_answered_many_times(
    clients: dict[str, Wire], call: tuple[Named, Json], caplog: pytest.LogCaptureFixture
) -> None:
    await check_answered(clients, call, caplog)


async def check_refused(clients: dict[str, Wire], jobs: Jobs, call: tuple[Named, Json]) -> None:
    (toolset, tool), arguments_ = call
    before = await everything(jobs)
    answer = await clients[toolset].call(tool, arguments_)
    assert answer["result"]["isError"]
    said = sentence(answer)
    assert any(is_named(field, said) for field in (*arguments_, *TOOLS[toolset, tool].schema.get("required", ()))), said
    assert await everything(jobs) == before


@SOME
@given(call=SPOILT)
async def test_whatever_does_not_fit_is_refused_and_starts_nothing(
    clients: dict[str, Wire], jobs: Jobs, call: tuple[Named, Json]
) -> None:
    await check_refused(clients, jobs, call)


@pytest.mark.slow
@pytest.mark.timeout(600)
@MANY
@given(call=SPOILT)
async def test_whatever_does_not_fit_is_refused_many_times(
    clients: dict[str, Wire], jobs: Jobs, call: tuple[Named, Json]
) -> None:
    await check_refused(clients, jobs, call)


@SOME
@given(call=CALLS | SPOILT)
def test_what_is_refused_is_what_the_schema_says(call: tuple[Named, Json]) -> None:
    schema = TOOLS[call[0]].schema
    assert (arguments.fault(call[1], schema) is None) == inputs.is_fitting(call[1], schema)
