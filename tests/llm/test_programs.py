"""What is installed is found out once, and one CLI that takes long keeps nobody else waiting."""

import os
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from tests.llm.conftest import Fakes
from tests.support.gates import Gate

from bide.api import Jobs
from bide.kinds.llm.known import named
from bide.runtime.llm.programs import Programs
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
