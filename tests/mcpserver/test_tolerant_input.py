"""Models write null for what they leave out, and numbers and flags as text: every tool takes that as it is meant."""

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.mcpserver import inputs, plans
from tests.mcpserver.wire import OWNER, wire
from tests.support import homes

from bide.api import Jobs
from bide.mcpserver import scope, toolsets
from bide.model import arguments
from bide.model.schema import Json

TOOLS = {(name, tool.name): tool for name, tools in toolsets.made().items() for tool in tools}
SAFE = [named for named in TOOLS if named[1] not in plans.OUTSIDE]


@pytest.fixture
async def jobs(home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Jobs]:
    """A home that has what `inputs.REFS` names."""
    monkeypatch.setattr(scope, "REGISTER_SECONDS", 0.02)
    async with homes.local(home) as found:
        await found.run("true", name="done", owner=OWNER)
        await found.sessions.start("place", owner=OWNER, cwd=str(home))
        yield found


@pytest.mark.parametrize("named", SAFE, ids=".".join)
async def test_null_is_the_same_as_nothing_for_every_field(jobs: Jobs, tmp_path: Path, named: tuple[str, str]) -> None:
    toolset, tool = named
    schema = TOOLS[named].schema
    least: Json = inputs.plain(schema)
    nulls = {key: None for key, one in schema["properties"].items() if not arguments.says_null(one)}
    async with wire(jobs, tmp_path, (toolset,)) as client:
        without = await client.call(tool, least)
        answer = await client.call(tool, {**nulls, **least})
    assert answer["result"].get("isError") == without["result"].get("isError"), answer
    if without["result"].get("isError"):
        said = [re.sub(r"\bj\w{10}\b", "JOB", one["result"]["content"][0]["text"]) for one in (without, answer)]
        assert said[0] == said[1]


def spoken(schema: Json) -> Iterator[tuple[str, str, object]]:
    """Fields that take a number or a flag and no text, each with a value of it as text, and the value."""
    for key, one in schema["properties"].items():
        if one.get("type") == "boolean":
            yield key, "true", True
        elif one.get("type") in ("integer", "number"):
            value = max(2, int(one.get("minimum", 2)))
            yield key, str(value), value


@pytest.mark.parametrize("named", TOOLS, ids=".".join)
def test_numbers_and_flags_as_text_fit_every_field_that_takes_them(named: tuple[str, str]) -> None:
    schema = TOOLS[named].schema
    least: Json = inputs.plain(schema)
    for key, said, value in spoken(schema):
        given = arguments.meant({**least, key: said}, schema)
        assert given[key] == value
        assert arguments.fault(given, schema) is None


MISSPELT = {
    named: next((key[:-1] for key in tool.schema["properties"] if len(key) > 3 and key[:-1] not in tool.aliases), "")
    for named, tool in TOOLS.items()
}


@pytest.mark.parametrize("named", [named for named, wrong in MISSPELT.items() if wrong], ids=".".join)
async def test_a_field_that_is_misspelt_is_refused_with_the_one_that_was_meant(
    jobs: Jobs, tmp_path: Path, named: tuple[str, str]
) -> None:
    schema, wrong = TOOLS[named].schema, MISSPELT[named]
    async with wire(jobs, tmp_path, named[:1]) as client:
        answer = await client.call(named[1], {**inputs.plain(schema), wrong: "x"})
    said = answer["result"]["content"][0]["text"]
    assert answer["result"]["isError"]
    assert f"no field {wrong!r}; did you mean " in said
