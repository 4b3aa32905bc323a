"""What is installed is found out once, and one CLI that takes long keeps nobody else waiting."""

import os
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from tests.llm.conftest import Fakes
from tests.mcpserver.clients import agent
from tests.support.gates import Gate
from tests.support.patience import end_of, eventually

from bide.api import Jobs
from bide.kinds.llm.known import named
from bide.runtime.llm.programs import PROBE, Programs, Said, login
from bide.runtime.local import LocalJobs

SLOW = """#!/bin/sh
echo "$1" >> "$FAKE_LOG"
read line < "{gate}"
echo 1.2.3
"""


@pytest.fixture
def slow_gemini(fakes: Fakes, gate: Gate) -> Path:
    """It says its version when the gate is opened."""
    program = fakes.folder / "gemini"
    program.write_text(SLOW.format(gate=gate.path), encoding="utf-8")
    return program


def open_for_both(gate: Gate) -> None:
    """Its version and its help are asked for at once."""
    gate.open()
    gate.open()


def programs(jobs: Jobs, patience: float) -> Programs:
    assert isinstance(jobs, LocalJobs)
    return Programs(jobs.core, timedelta(seconds=patience))


async def test_a_cli_that_did_not_answer_in_time_is_asked_again(
    local: Jobs, fakes: Fakes, gate: Gate, slow_gemini: Path
) -> None:
    assert slow_gemini.exists()
    cli = named("gemini")
    found = programs(local, 0.5)
    assert (await found.find(cli, os.environ)).version == ""
    open_for_both(gate)
    assert [(await found.find(cli, os.environ)).version for _ in range(2)] == ["1.2.3", "1.2.3"]
    assert sorted(fakes.log.read_text().split()) == ["--help"] * 2 + ["--version"] * 2


async def test_nobody_waits_for_a_cli_that_another_asked_for(local: Jobs, gate: Gate, slow_gemini: Path) -> None:
    assert slow_gemini.exists()
    found = programs(local, 30)
    async with anyio.create_task_group() as group:
        group.start_soon(found.find, named("gemini"), os.environ)
        with anyio.fail_after(20):
            assert (await found.find(named("claude"), os.environ)).version != ""
        open_for_both(gate)


async def test_247_whoever_wants_to_know_the_version_does_not_wait_longer_than_five_seconds(
    local: Jobs, fakes: Fakes, gate: Gate, slow_gemini: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert slow_gemini.exists()
    assert timedelta(seconds=5) == PROBE
    monkeypatch.setattr("bide.runtime.llm.programs.PROBE", timedelta(milliseconds=200))
    with anyio.fail_after(20):
        (found,) = await local.llm.programs("gemini", login=True)
    assert (found.installed, found.version, found.login) == (True, "", "unknown")
    assert found.hint == "it did not say its version within 0.2 s; ask again"
    open_for_both(gate)

    async def said() -> bool:
        return (await local.llm.programs("gemini"))[0].version == "1.2.3"

    await eventually(said)
    assert sorted(fakes.log.read_text().split()) == ["--help", "--version"]


def test_247_a_login_that_nobody_told_of_in_time_is_not_a_missing_one() -> None:
    assert login(named("claude"), Said(124, ""), {}) == "unknown"
    assert login(named("claude"), Said(1, ""), {}) == "not_authenticated"


UPDATED = """#!/bin/sh
read line < "{gate}"
echo "updated $*"; echo "as $line" >&2
exit {status}
"""


async def test_248_an_agent_that_upgrades_hears_what_came_of_it(
    local: Jobs, fakes: Fakes, gate: Gate, tmp_path: Path
) -> None:
    (fakes.folder / "grok").write_text(UPDATED.format(gate=gate.path, status=0), encoding="utf-8")
    async with agent(local, tmp_path, tools=("core", "llm"), env=dict(os.environ), patience=0.5) as ai:
        first = await ai.data("cli_upgrade", cli="grok", dryRun=False)
        assert (first["status"], first["next"]) == ("running", "It goes on. The same call waits for it again.")
        gate.open("asked")
        await end_of(local, first["jobId"])
        found = await ai.data("cli_upgrade", cli="grok", dryRun=False)
        assert (found["jobId"], found["status"], found["exitCode"]) == (first["jobId"], "completed", 0)
        assert found["output"] == "updated update\nas asked"
        assert (await ai.data("await", jobs=[first["jobId"]]))["exit_code"] == 0


async def test_248_an_upgrade_that_fails_is_an_error_with_what_was_said(
    local: Jobs, fakes: Fakes, gate: Gate, tmp_path: Path
) -> None:
    (fakes.folder / "grok").write_text(UPDATED.format(gate=gate.path, status=3), encoding="utf-8")
    gate.open("asked")
    async with agent(local, tmp_path, tools=("llm",), env=dict(os.environ)) as ai:
        answer = await ai.ask("cli_upgrade", cli="grok", dryRun=False)
        assert answer.structured_content is not None
        assert (answer.is_error, answer.structured_content["exitCode"]) == (True, 3)
        assert answer.structured_content["output"] == "updated update\nas asked"
