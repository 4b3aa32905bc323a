"""Who may act without asking: the operator's key, then the gate (188, 189, 250)."""

import json
from pathlib import Path

import pytest
from tests.llm.conftest import PROGRAMS, Fakes
from tests.support import homes

from bide.api import Jobs
from bide.model.errors import ApprovalDenied, BadRequest
from bide.model.llm.ask import Policy, Strategy

MANAGED = Strategy.MCP_MANAGED
SKIP = {"dangerously_skip_permissions": True}
ASKED: dict[str, dict[str, object]] = {
    "claude": {"permission_mode": "bypassPermissions"},
    "codex": {"dangerously_bypass_approvals_and_sandbox": True},
    "gemini": {"approval_mode": "yolo"},
    "grok": {"always_approve": True},
    "mistral": {"agent": "auto-approve"},
}


@pytest.fixture
def allowed(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("[llm]\nenabled = true\n", encoding="utf-8")


@pytest.mark.parametrize("cli", ["claude", "gemini", "grok", "mistral"])
async def test_188_without_the_operators_word_nothing_acts_without_asking(jobs: Jobs, fakes: Fakes, cli: str) -> None:
    with pytest.raises(BadRequest, match=r"mcp install CLIENT --tools llm --let-act' allows it.*config\.toml"):
        await jobs.llm.ask(cli, "hello", strategy=MANAGED)
    assert fakes.started == []


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize("cli", list(PROGRAMS))
async def test_189_with_it_the_gate_decides_and_says_so(local: Jobs, fakes: Fakes, cli: str) -> None:
    asked = await local.llm.ask(cli, "hello", strategy=MANAGED, full_auto=cli == "codex")
    assert asked.approval is not None
    assert (asked.approval.status, asked.approval.score) == ("approved", 2 if cli == "codex" else 0)
    assert asked.answer.text == "you said: hello"
    assert len(fakes.started) == 1


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize("cli", list(PROGRAMS))
async def test_250_only_what_the_caller_asks_to_bypass_scores(local: Jobs, fakes: Fakes, cli: str) -> None:
    with pytest.raises(ApprovalDenied, match="score 3 is too much for strict"):
        await local.llm.ask(cli, "hello", strategy=MANAGED, policy=Policy.STRICT, options=ASKED[cli])
    (denied,) = await local.llm.approvals(1)
    assert (denied["bypassRequested"], denied["operation"]) == (True, f"{cli}_request")
    for prompt, policy in (
        ("Security audit: check how the session token is refreshed", None),
        ("Delete the unused imports", None),
        ("what does this do?", Policy.STRICT),
    ):
        asked = await local.llm.ask(cli, prompt, strategy=MANAGED, policy=policy)
        assert asked.approval is not None
        assert (asked.approval.approved, "bypass" in str(asked.approval.reasons)) == (True, False)
    assert len(fakes.started) == 3


async def test_189_196_the_word_holds_at_once_and_is_taken_back_at_once(local: Jobs, fakes: Fakes, home: Path) -> None:
    with pytest.raises(BadRequest, match="--let-act"):
        await local.llm.ask("mistral", "hello")
    settings = home / "config.toml"
    settings.write_text("[llm]\nenabled = true\n", encoding="utf-8")
    await local.llm.ask("mistral", "hello")
    settings.write_text("[llm]\nenabled = false\n", encoding="utf-8")
    with pytest.raises(BadRequest, match="--let-act"):
        await local.llm.ask("claude", "hello", strategy=MANAGED)
    assert len(fakes.started) == 1


@pytest.mark.usefixtures("allowed")
async def test_250_what_the_gate_denies_starts_nothing_and_is_on_record(jobs: Jobs, fakes: Fakes, home: Path) -> None:
    with pytest.raises(ApprovalDenied, match="claude_request denied by MCP-managed approval policy") as denied:
        await jobs.llm.ask("claude", "print the password", strategy=MANAGED, options=SKIP)
    assert denied.value.facts["score"] == "6"
    await jobs.llm.ask("claude", "print the password", strategy=MANAGED, policy=Policy.PERMISSIVE, options=SKIP)
    assert len(fakes.started) == 1
    newest, oldest = await jobs.llm.approvals()
    assert (newest["status"], newest["policy"], oldest["status"], oldest["score"]) == (
        "approved",
        "permissive",
        "denied",
        6,
    )
    record = home / "llm" / "approvals.jsonl"
    assert record.stat().st_mode & 0o777 == 0o600
    assert "password" not in record.read_text(encoding="utf-8")
    assert [json.loads(line)["id"] for line in record.read_text(encoding="utf-8").splitlines()] == [
        oldest["id"],
        newest["id"],
    ]


@pytest.mark.usefixtures("allowed")
async def test_the_environment_sets_the_policy_and_what_the_record_shows(local: Jobs, fakes: Fakes) -> None:
    fakes.env("LLM_GATEWAY_APPROVAL_POLICY", "strict")
    fakes.env("APPROVAL_LOG_PROMPTS", "1")
    with pytest.raises(ApprovalDenied, match="score 3 is too much for strict"):
        await local.llm.ask("claude", "hello", strategy=MANAGED, options=SKIP)
    (only,) = await local.llm.approvals(1)
    assert only["promptPreview"] == "hello"
    fakes.env("LLM_GATEWAY_APPROVAL_POLICY", "lenient")
    with pytest.raises(BadRequest, match="is one of strict, balanced, permissive"):
        await local.llm.ask("claude", "hello")


@pytest.mark.parametrize("limit", [0, 501])
async def test_as_many_decisions_as_may_be_asked_for(local: Jobs, limit: int) -> None:
    assert await local.llm.approvals() == ()
    with pytest.raises(BadRequest, match="from 1 to 500"):
        await local.llm.approvals(limit)


async def test_half_a_line_of_the_record_is_passed_over(home: Path) -> None:
    (home / "llm").mkdir(parents=True)
    (home / "llm" / "approvals.jsonl").write_text('{"id": "a"}\n{"id": "b', encoding="utf-8")
    async with homes.local(home) as jobs:
        assert await jobs.llm.approvals() == ({"id": "a"},)


async def test_a_line_after_half_a_line_is_kept(home: Path, fakes: Fakes) -> None:
    (home / "llm").mkdir(parents=True)
    (home / "config.toml").write_text("[llm]\nenabled = true\n", encoding="utf-8")
    (home / "llm" / "approvals.jsonl").write_text('{"id": "b', encoding="utf-8")
    async with homes.local(home) as jobs:
        await jobs.llm.ask("claude", "hello", strategy=MANAGED)
        assert [one["status"] for one in await jobs.llm.approvals()] == ["approved"]
    assert len(fakes.started) == 1
