"""The real command lines, in a home folder of their own, with a scripted model behind them."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path

import anyio
import pytest
from tests.acceptance.models import Model, serving
from tests.support import homes

from bide.api import Jobs

PATIENCE = 120.0
"""Seconds until a test gives up: some of these programs take many to start on a busy machine."""
_CODEX = """model = "fake-model"
model_provider = "fake"

[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
"""
_GEMINI = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "model": {"name": "gemini-2.5-flash"}}
"""A base URL alone makes it choose a way to log in that it then refuses; and a model, or it asks another which to take."""

APPROVED = 'mcp_servers.bide.default_tools_approval_mode="approve"'
COMMANDS = {
    "claude": ["claude", "-p", "build it", "--mcp-config", ".mcp.json", "--allowedTools", "mcp__bide"],
    "codex": ["codex", "exec", "--skip-git-repo-check", "-c", APPROVED, "build it"],
    "gemini": ["gemini", "-p", "build it", "--approval-mode", "yolo"],
}
"""What somebody would type who wants each of them to use bide's tools without being asked."""
TRUSTED = {"codex": ["--dangerously-bypass-hook-trust"]}
"""What has hooks run that nobody has looked at."""

Client = Callable[[], Coroutine[None, None, str]]


@pytest.fixture
def model() -> Iterator[Model]:
    with serving() as found:
        yield found


@pytest.fixture
def env(model: Model, tmp_path: Path, home: Path) -> dict[str, str]:
    """The environment of somebody who is logged in nowhere else than at our model."""
    me = tmp_path / "me"
    for folder in (".codex", ".gemini"):
        (me / folder).mkdir(parents=True)
    (me / ".codex" / "config.toml").write_text(_CODEX.format(url=model.url), encoding="utf-8")
    (me / ".gemini" / "settings.json").write_text(json.dumps(_GEMINI), encoding="utf-8")
    programs = os.environ.get("BIDE_ACCEPTANCE")
    if programs is None:
        pytest.fail("these tests need the real command lines: run scripts/acceptance, which installs them")
    return {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(me),
        "BIDE_HOME": str(home),
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "sk-ant-fake",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "FAKE_KEY": "fake",
        "GOOGLE_GEMINI_BASE_URL": model.url,
        "GEMINI_API_KEY": "fake",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The folder that they work in."""
    found = tmp_path / "work"
    found.mkdir()
    return found


@pytest.fixture
async def served(home: Path) -> AsyncIterator[Jobs]:
    """A daemon, for what is started in this home; everything in it is over at the end."""
    async with homes.remote(home) as jobs:
        yield jobs


@pytest.fixture
def hooks() -> list[str]:
    """How the client is told of ends: words for `bide hooks install`, beside its name. None, for a client without hooks."""
    return []


@pytest.fixture
def client(served: Jobs, env: dict[str, str], work: Path, home: Path, cli: str, hooks: list[str]) -> Client:
    """Runs the client to its end, with bide in its configuration, and its hooks if there are any; what it printed."""
    assert served is not None
    for words in (["mcp", "install", cli], *([["hooks", "install", cli, *hooks]] if hooks else [])):
        install = [sys.executable, "-P", "-m", "bide", *words, "--home", str(home)]
        subprocess.run(install, env=env, cwd=work, check=True, capture_output=True)
    command = [*COMMANDS[cli], *(TRUSTED.get(cli, []) if hooks else [])]

    async def run() -> str:
        with anyio.fail_after(PATIENCE):
            done = await anyio.run_process(command, env=env, cwd=work, stdin=subprocess.DEVNULL, check=False)
        assert done.returncode == 0, done
        return done.stdout.decode()

    return run
