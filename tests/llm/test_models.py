"""A model that a CLI does not know: told as that, and of Mistral Vibe another is tried, once."""

from pathlib import Path

import pytest
from tests.llm.conftest import Fakes
from tests.support import homes

from bide.api import Filter, Jobs
from bide.model.llm.answer import Fault, Status

PLAN = {"agent": "plan"}


@pytest.mark.parametrize("cli", ["claude", "codex", "gemini", "grok"])
async def test_a_model_that_a_cli_does_not_know_is_one_clear_sentence(local: Jobs, fakes: Fakes, cli: str) -> None:
    fakes.set(mode="nomodel")
    answer = (await local.llm.ask(cli, "hello", model="gpt-nothing")).answer
    assert (answer.status, answer.exit_code, answer.fault) == (Status.FAILED, 1, Fault.MODEL)
    assert "leave the model out" in answer.error
    assert len(fakes.started) == 1


@pytest.mark.parametrize(
    ("configured", "tried"),
    [(None, ["nothing", None]), ("devstral", ["nothing", "devstral"]), ("nothing", ["nothing", None])],
)
async def test_mistral_is_asked_again_with_another_model_once(
    home: Path, fakes: Fakes, configured: str | None, tried: list[str | None]
) -> None:
    home.mkdir()
    if configured:
        (home / "config.toml").write_text(f"[llm.models]\nmistral = '{configured}'\n", encoding="utf-8")
    fakes.set(mode="nomodel")
    async with homes.local(home) as jobs:
        answer = (await jobs.llm.ask("mistral", "hello", model="nothing", options=PLAN)).answer
        assert [one["env"].get("VIBE_ACTIVE_MODEL") for one in fakes.started] == tried
        assert [note.code for note in answer.notes] == ["model_replaced"]
        assert "does not know the model 'nothing'" in answer.notes[0].message
        found = (Status.FAILED, Fault.MODEL) if tried[1] else (Status.COMPLETED, Fault.NONE)
        assert (answer.status, answer.fault) == found
        assert len((await jobs.list(Filter(kind="mistral"))).jobs) == 2
        assert (await jobs.llm.health())[-1].failures == 0


async def test_without_a_model_there_is_no_other_to_try(local: Jobs, fakes: Fakes) -> None:
    fakes.env("VIBE_ACTIVE_MODEL", "of-the-caller")
    fakes.set(mode="nomodel")
    answer = (await local.llm.ask("mistral", "hello", options=PLAN)).answer
    assert (answer.fault, answer.notes, len(fakes.started)) == (Fault.MODEL, (), 1)
