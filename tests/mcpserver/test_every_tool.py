"""The official Python client uses every tool of every toolset, in both eras."""

from pathlib import Path

import pytest
from tests.mcpserver import plans
from tests.mcpserver.clients import ERAS, agent, text_of

from bide.api import Jobs
from bide.mcpserver import toolsets
from bide.model.schema import Json


def test_the_plan_has_every_tool() -> None:
    known = {name: set(plans.tools(name)) - plans.OUTSIDE for name in toolsets.NAMES}
    assert {name: plans.used(name) for name in plans.CALLS} == known


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("toolset", plans.CALLS)
async def test_the_python_client_uses_every_tool(jobs_here: Jobs, tmp_path: Path, toolset: str, era: str) -> None:
    kept: Json = {}
    async with agent(jobs_here, tmp_path, era=era, tools=(toolset,)) as ai:
        assert [tool.name for tool in (await ai.client.list_tools()).tools] == plans.tools(toolset)
        for call in plans.CALLS[toolset]:
            answer = await ai.ask(call["tool"], **plans.filled(call["arguments"], kept))
            assert bool(answer.is_error) == bool(call.get("refused")), text_of(answer)
            plans.check(call, text_of(answer), answer.structured_content, kept)
