"""What Vibe used, which its output does not tell (5.5 of the gateway): from its session log, of the same conversation alone."""

import json
from pathlib import Path

import pytest
from tests.llm.conftest import Fakes

from bide.api import Jobs
from bide.model.llm.answer import Tokens

ID = "0a1b2c3d-1111-2222-3333-444455556666"


@pytest.mark.parametrize(
    ("logged", "tokens", "cost"),
    [
        (
            {
                "session_id": ID,
                "stats": {"session_prompt_tokens": 7, "session_completion_tokens": 3, "session_cost": 0.5},
            },
            Tokens(7, 3),
            0.5,
        ),
        ({"session_id": ID, "stats": {"session_prompt_tokens": "many"}}, Tokens(), None),
        ({"session_id": "0a1b2c3d-other", "stats": {"session_prompt_tokens": 7}}, Tokens(), None),
        (["no object"], Tokens(), None),
    ],
)
async def test_what_vibe_used_is_read_from_its_log(
    local: Jobs, fakes: Fakes, tmp_path: Path, logged: object, tokens: Tokens, cost: float | None
) -> None:
    fakes.env("VIBE_HOME", str(tmp_path / "vibe [1]"))
    folder = tmp_path / "vibe [1]" / "logs" / "session" / "session_20260101_120000_0a1b2c3d"
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(json.dumps(logged), encoding="utf-8")
    answer = (await local.llm.ask("mistral", "hello", options={"agent": "plan"}, conversation=ID)).answer
    assert (answer.reading.conversation, answer.text) == (ID, "you said: hello")
    assert (answer.reading.tokens, answer.reading.cost_usd) == (tokens, cost)


async def test_without_a_log_nothing_is_known(local: Jobs, fakes: Fakes, tmp_path: Path) -> None:
    fakes.env("VIBE_HOME", str(tmp_path))
    answer = (await local.llm.ask("mistral", "hello", options={"agent": "plan"})).answer
    assert answer.reading.tokens == Tokens()
