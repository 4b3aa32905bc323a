"""The real command lines are told of a background job's end by bide's hooks: nobody polls."""

import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from tests.acceptance.conftest import COMMANDS, PATIENCE, Client
from tests.acceptance.dialects import Reply, Say, Seen, Use
from tests.acceptance.models import Model
from tests.acceptance.test_calling import tool
from tests.support.gates import Gate

import bide
from bide.api import Jobs

LOOKS_UP = {"claude": 1, "codex": 0}
"""Requests before the first call: Claude Code has to look its tools up."""
MOST = 150
"""Tokens, at four characters each, that the news may cost beyond what the job wrote."""


class Builder:
    """A model that starts a job in the background and ends its turn; it speaks again when it is told, or asked."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self.calls: list[str] = []
        self.news = ""

    def __call__(self, seen: Seen) -> Reply:
        run, wait = tool(seen, "run"), tool(seen, "await")
        if run is None or wait is None:
            known = "ToolSearch" in seen.tools and not seen.results
            return Use("ToolSearch", {"query": "select:mcp__bide__run,mcp__bide__await"}) if known else Say("no tools")
        if not self.calls:
            self.calls.append("run")
            command = f"{self._gate.wait}; echo built with $line"
            return Use(run, {"command": command, "name": "build", "background": True})
        told = next((text for text in reversed((*seen.said, *seen.results)) if "built with care" in text), "")
        if told:
            self.news = told
            return Say(f"TOLD {told}")
        if any("as you end your turn" in text for text in seen.said):
            self.calls.append("await")
            self._gate.open("care")
            return Use(wait, {"jobs": ["build"]})
        return Say("It builds.")


@pytest.fixture
def hooks(policy: str) -> list[str]:
    return ["--on-turn-end", policy]


async def after(model: Model, requests: int, gate: Gate) -> None:
    """Let the job end once the model has ended its turn."""
    with anyio.fail_after(PATIENCE):
        while len(model.seen) < requests:  # noqa: ASYNC110
            await anyio.sleep(0.05)
    gate.open("care")


@pytest.mark.parametrize("policy", ["await", "inquire"])
@pytest.mark.parametrize("cli", LOOKS_UP)
async def test_36_140_142_the_end_of_a_job_reaches_the_model_without_a_polling_call(
    served: Jobs, model: Model, client: Client, gate: Gate, cli: str, policy: str
) -> None:
    script = Builder(gate)
    model.script = script
    said = ""
    async with anyio.create_task_group() as group:
        if policy == "await":
            group.start_soon(after, model, LOOKS_UP[cli] + 2, gate)
        said = await client()
    assert "TOLD" in said
    assert "built with care" in said
    assert script.calls == (["run"] if policy == "await" else ["run", "await"])
    assert len(model.seen) == LOOKS_UP[cli] + (3 if policy == "await" else 4)
    if policy == "await":
        assert len(script.news) / 4 < MOST
    (job,) = (await served.list(bide.Filter(name="build"))).jobs
    assert isinstance(job.phase, bide.Ended)
    assert job.phase.end.status == 0


async def test_claude_speaks_the_handshake_with_a_server_that_is_a_channel(
    served: Jobs, model: Model, env: dict[str, str], work: Path, home: Path
) -> None:
    """Only there does it listen to a channel; what it does with one needs a person's session, and is not seen here."""
    words = [sys.executable, "-P", "-m", "bide", "mcp", "install", "claude", "--channel", "--home", str(home)]
    await anyio.run_process(words, env=env, cwd=work)
    log = work / "debug.log"
    flags = ["--debug-file", str(log), "--dangerously-load-development-channels", "server:bide"]
    model.script = lambda _: Say("hello")
    with anyio.fail_after(PATIENCE):
        await anyio.run_process([*COMMANDS["claude"], *flags], env=env, cwd=work, stdin=subprocess.DEVNULL)
    (opened,) = [line for line in log.read_text().splitlines() if "Connection established with capabilities" in line]
    assert '"protocolEra":"legacy"' in opened
    assert (await served.list()).jobs == ()
