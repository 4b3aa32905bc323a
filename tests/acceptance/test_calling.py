"""The real command lines use bide's tools: what `bide mcp install` wrote is all that they know of it."""

import pytest
from tests.acceptance.conftest import COMMANDS, Client
from tests.acceptance.dialects import Reply, Say, Seen, Use
from tests.acceptance.models import Model, Script
from tests.support.gates import Gate

import bide
from bide.api import Jobs

REQUESTS = {"claude": 4, "codex": 3, "gemini": 3}
"""One for each call and one for the answer; Claude Code has to look its tools up first."""


def tool(seen: Seen, name: str) -> str | None:
    """A tool of bide's, by the name that the client gave it."""
    return next((one for one in seen.tools if "bide" in one and one.endswith((f"_{name}", f".{name}"))), None)


def builds(gate: Gate) -> Script:
    """A model that starts a job in the background, awaits it, and says what it was told."""

    def script(seen: Seen) -> Reply:
        run, wait = tool(seen, "run"), tool(seen, "await")
        told = [result for result in seen.results if "build" in result]
        if run is None or wait is None:
            known = "ToolSearch" in seen.tools and len(seen.results) == 0
            return Use("ToolSearch", {"query": "select:mcp__bide__run,mcp__bide__await"}) if known else Say("no tools")
        if not told:
            command = f"echo building; {gate.wait}; sleep 0.5; echo built with $line"
            return Use(run, {"command": command, "name": "build", "background": True})
        if len(told) == 1:
            gate.open("care")
            return Use(wait, {"jobs": ["build"]})
        return Say(f"TOLD {told[-1]}")

    return script


@pytest.mark.parametrize("cli", COMMANDS)
async def test_a_client_starts_a_job_and_awaits_it_without_polling(
    served: Jobs, model: Model, client: Client, gate: Gate, cli: str
) -> None:
    model.script = builds(gate)
    said = await client()
    assert "TOLD" in said
    assert "built with care" in said
    assert len(model.seen) == REQUESTS[cli]
    (job,) = (await served.list(bide.Filter(name="build"))).jobs
    assert isinstance(job.phase, bide.Ended)
    assert job.phase.end.status == 0


@pytest.mark.parametrize("cli", ["codex"])
async def test_codex_which_does_not_wait_has_the_tools_on_its_very_first_start(model: Model, client: Client) -> None:
    await client()
    (seen,) = model.seen
    assert tool(seen, "run") is not None
