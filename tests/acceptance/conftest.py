"""The real command lines, in a home folder of their own, with a scripted model behind them."""

import json
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

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
