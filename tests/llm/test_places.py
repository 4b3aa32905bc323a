"""How many requests run and wait (254)."""

from pathlib import Path

import pytest
from tests.llm.conftest import Fakes
from tests.support import homes
from tests.support.gates import Gate
from tests.support.patience import end_of

from bide.api import Jobs
from bide.model.errors import QueueFull
from bide.model.llm.answer import Fault, Status
from bide.model.phase import Queued, Running
from bide.runtime import groups
from bide.settings import Settings


def test_254_unless_told_32_run_and_16_of_a_cli() -> None:
    limit = groups.rules(Settings(), []).limit
    assert (limit("llm"), limit("llm.claude"), limit("llm.another"), Settings().llm.waiting) == (32, 16, 16, 128)
    set_by_hand = groups.rules(Settings(), [("llm.claude", True, 2, False), ("llm.codex", True, None, False)]).limit
    assert (set_by_hand("llm.claude"), set_by_hand("llm.codex"), set_by_hand("llm.grok")) == (2, None, 16)


async def test_254_what_has_no_place_waits_and_what_cannot_wait_is_refused(
    home: Path, fakes: Fakes, gate: Gate
) -> None:
    home.mkdir(exist_ok=True)
    text = "[llm]\nrunning = 2\nrunning_per_cli = 1\nwaiting = 2\n"
    (home / "config.toml").write_text(text, encoding="utf-8")
    fakes.set(mode="slow", gate=str(gate.path))
    async with homes.local(home) as jobs:
        first, second, third, fourth = [
            await jobs.llm.ask(cli, prompt, background=True)
            for cli, prompt in (("claude", "a"), ("claude", "b"), ("codex", "c"), ("gemini", "d"))
        ]
        phases = [type(one.job.phase) for one in (first, second, third, fourth)]
        assert phases == [Running, Queued, Running, Queued]
        assert second.answer.status is Status.RUNNING
        with pytest.raises(QueueFull, match="2 jobs wait for their turn already"):
            await jobs.llm.ask("grok", "e", background=True)
        assert (await jobs.llm.ask("claude", "b", background=True)).job.id == second.job.id
        assert [(one.cli, one.running, one.waiting) for one in (await jobs.llm.health())[:3]] == [
            ("claude", 1, 1),
            ("codex", 1, 0),
            ("gemini", 0, 1),
        ]
        shown = {one.name: (one.limit, one.running, one.waiting) for one in await jobs.groups.list()}
        assert (shown["llm"], shown["llm.claude"]) == ((2, 2, 2), (1, 1, 1))
        for _ in range(4):
            gate.open()
        for one in (first, second, third, fourth):
            assert (await end_of(jobs, one.job.id)).end.success


async def test_254_what_waits_too_long_is_given_up_where_that_is_wanted(home: Path, fakes: Fakes, gate: Gate) -> None:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text("[llm]\nrunning = 1\nqueue_timeout = '0.1s'\n", encoding="utf-8")
    fakes.set(mode="slow", gate=str(gate.path))
    async with homes.local(home) as jobs:
        first = await jobs.llm.ask("claude", "a", background=True)
        answer = (await jobs.llm.ask("codex", "b")).answer
        assert (answer.status, answer.fault, answer.exit_code) == (Status.FAILED, Fault.QUEUED, None)
        assert "ask again" in answer.error
        gate.open()
        assert (await end_of(jobs, first.job.id)).end.success
    assert len(fakes.started) == 1
    assert not Settings().llm.queue_timeout


async def test_groups_that_nobody_set_and_nobody_uses_are_not_listed(local: Jobs) -> None:
    assert [one.name for one in await local.groups.list()] == [None]
