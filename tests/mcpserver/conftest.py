"""Agents for the tests of the MCP door."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.mcpserver.clients import ERAS, Agent, agent
from tests.support import homes

from bide.api import Jobs


@pytest.fixture(params=ERAS)
async def era_agent(request: pytest.FixtureRequest, home: Path, tmp_path: Path) -> AsyncIterator[Agent]:
    """A client of each era."""
    async with homes.local(home) as jobs, agent(jobs, tmp_path, era=request.param) as one:
        yield one


@pytest.fixture
async def jobs_here(home: Path) -> AsyncIterator[Jobs]:
    async with homes.local(home) as jobs:
        yield jobs


@pytest.fixture
async def ai(jobs_here: Jobs, tmp_path: Path) -> AsyncIterator[Agent]:
    """A client of the older era."""
    async with agent(jobs_here, tmp_path) as one:
        yield one
