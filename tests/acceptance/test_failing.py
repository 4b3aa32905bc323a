"""What the real command lines say when they fail is told for what it is."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.acceptance.dialects import Refuse
from tests.acceptance.models import Model
from tests.mcpserver.clients import Agent, agent, texts_of

from bide.api import Jobs

CLIS = ("claude", "codex", "gemini")
HASTE = {"SYNC_DEADLINE_MS": "0", "CLAUDE_CODE_MAX_RETRIES": "0"}


@pytest.fixture
async def ai(local: Jobs, env: dict[str, str], work: Path) -> AsyncIterator[Agent]:
    async with agent(local, work, tools=("llm",), env={**env, **HASTE}) as one:
        yield one


@pytest.mark.parametrize("cli", CLIS)
async def test_a_key_that_is_refused_is_a_failed_login(ai: Agent, model: Model, cli: str) -> None:
    model.script = lambda _: Refuse(401, "authentication_error", "invalid x-api-key")
    answer = await ai.ask(f"{cli}_request", prompt="hello")
    assert answer.is_error
    assert answer.structured_content is not None
    assert answer.structured_content["errorCategory"] == "login"


@pytest.mark.parametrize("cli", ["claude", "codex"])  # Gemini CLI tries for four minutes before it says so
async def test_a_limit_that_is_reached_is_said(ai: Agent, model: Model, cli: str) -> None:
    model.script = lambda _: Refuse(429, "rate_limit_error", "you have reached your usage limit")
    answer = await ai.ask(f"{cli}_request", prompt="hello")
    assert answer.is_error
    assert answer.structured_content is not None
    assert answer.structured_content["errorCategory"] == "usage_limit"
    assert len(model.seen) == 1


async def test_a_folder_that_gemini_does_not_trust_is_said(local: Jobs, env: dict[str, str], work: Path) -> None:
    less = {key: value for key, value in env.items() if key != "GEMINI_CLI_TRUST_WORKSPACE"}
    async with agent(local, work, tools=("llm",), env={**less, **HASTE}) as ai:
        answer = await ai.ask("gemini_request", prompt="hello")
        assert answer.is_error
        said = "\n".join(texts_of(answer))
        assert ("trusted directory" in said, "\x1b" in said) == (True, False)
        trusted = await ai.data("gemini_request", prompt="hello", skipTrust=True)
        assert trusted["response"] == "you said: hello"
