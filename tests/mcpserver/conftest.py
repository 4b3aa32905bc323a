"""Agents for the tests of the MCP door."""

import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.mcpserver.clients import ERAS, Agent, agent
from tests.support import homes
from tests.support.patience import eventually

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
async def ai(request: pytest.FixtureRequest, jobs_here: Jobs, tmp_path: Path) -> AsyncIterator[Agent]:
    """A client of the older era, with the toolset that the module of the test names."""
    module = getattr(request, "module")  # noqa: B009 - pytest does not say of which type it is
    async with agent(jobs_here, tmp_path, tools=(getattr(module, "TOOLSET", "core"),)) as one:
        yield one


@pytest.fixture
async def session(ai: Agent) -> str:
    """One that the client of a module with the toolset `sessions` has started."""
    return (await ai.data("startSession"))["sessionId"]


@pytest.fixture
async def port(home: Path) -> AsyncIterator[int]:
    """A daemon that serves MCP on this port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(f"[mcp]\nport = {number}\n")
    async with homes.remote(home) as jobs:
        await jobs.list()
        await eventually(lambda: _accepts(number))
        yield number


def _accepts(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0
