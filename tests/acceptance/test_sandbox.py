"""What the real Codex may do is what was asked for, also when it goes on with a conversation, where it takes no flag for that."""

import json
from pathlib import Path

from tests.mcpserver.clients import agent

from bide.api import Jobs


def sandboxes(home: Path) -> list[str]:
    """Within what each turn ran, by Codex's own record."""
    (record,) = (home / ".codex" / "sessions").rglob("*.jsonl")
    events = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    return [event["payload"]["sandbox_policy"]["type"] for event in events if event["type"] == "turn_context"]


async def test_full_automation_holds_in_a_conversation_that_goes_on(
    local: Jobs, env: dict[str, str], work: Path
) -> None:
    async with agent(local, work, tools=("llm",), env=env) as ai:
        first = await ai.data("codex_request", prompt="look around")
        for prompt, given in (("work on it", {"fullAuto": True}), ("look again", {"sandbox": "read-only"})):
            await ai.data("codex_request", prompt=prompt, sessionId=first["sessionId"], **given)
    assert sandboxes(Path(env["HOME"])) == ["read-only", "workspace-write", "read-only"]
