"""The toolset `llm` alone, by the numbers of the checklist."""

import json
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.llm.conftest import PROGRAMS, Fakes
from tests.mcpserver.clients import Agent, agent, texts_of
from tests.support import homes
from tests.support.gates import Gate
from tests.support.patience import eventually

from bide.api import Jobs
from bide.mcpserver import waiting
from bide.model.errors import ConversationNotFound


@pytest.fixture
async def jobs_here(home: Path) -> AsyncIterator[Jobs]:
    home.mkdir()
    (home / "config.toml").write_text("[llm]\nenabled = true\n", encoding="utf-8")
    async with homes.local(home) as jobs:
        yield jobs


@pytest.fixture
async def ai(jobs_here: Jobs, fakes: Fakes, tmp_path: Path) -> AsyncIterator[Agent]:
    fakes.set(gate=str(tmp_path / "gate"))
    async with agent(jobs_here, tmp_path, tools=("llm",), env=dict(os.environ)) as one:
        yield one


@pytest.fixture
def slow(jobs_here: Jobs, fakes: Fakes, gate: Gate) -> Gate:
    """The CLIs wait at this gate; nothing answers within the deadline."""
    assert jobs_here is not None
    fakes.set(mode="slow")
    fakes.env("SYNC_DEADLINE_MS", "50")
    return gate


async def test_184_193_there_are_two_request_tools_for_each_cli_and_the_tools_around_them(ai: Agent) -> None:
    tools = {tool.name: tool for tool in (await ai.client.list_tools()).tools}
    requests = {f"{cli}_request{how}" for cli in PROGRAMS for how in ("", "_async")}
    jobs = {"llm_job_status", "llm_job_result", "llm_request_result", "llm_job_watch", "llm_job_cancel", "llm_review"}
    about = {"llm_process_health", "cli_versions", "cli_upgrade", "list_models", "approval_list"}
    sessions = {f"session_{what}" for what in ("create", "list", "get", "set_active", "delete", "clear_all")}
    opinions = {"validate_with_models", "second_opinion", "red_team_review", "consensus_check", "compare_answers"}
    assert set(tools) == requests | jobs | about | sessions | opinions | {"list_available_models"}
    assert "optimizeResponse" in tools["codex_request"].input_schema["properties"]
    assert "optimizeResponse" not in tools["codex_request_async"].input_schema["properties"]


async def test_185_191_195_what_cannot_be_meant_is_refused_in_the_words_of_the_seed(ai: Agent, fakes: Fakes) -> None:
    for arguments, said in (
        ({"prompt": "a", "promptParts": {"task": "b"}}, "provide exactly one of `prompt` or `promptParts`"),
        ({}, "one of `prompt` or `promptParts` is required"),
        ({"prompt": "a", "idleTimeoutMs": 29_999}, "'idleTimeoutMs' must be at least 30000"),
        ({"prompt": "a", "idleTimeoutMs": 3_600_001}, "'idleTimeoutMs' must be at most 3600000"),
        ({"prompt": "a", "sessionId": "gw-1"}, "bookkeeping"),
        ({"prompt": "a", "allowedTools": ["-x"]}, "does not begin with '-'"),
        ({"prompt": "a", "fullAuto": True}, "has no field 'fullAuto'"),
    ):
        for tool in ("claude_request", "claude_request_async"):
            _, sentence = await ai.refusal(tool, **arguments)
            assert said in sentence
    assert fakes.started == []


async def test_200_an_answer_in_time_is_plain(ai: Agent, fakes: Fakes) -> None:
    answer = await ai.ask("claude_request", prompt="hello", correlationId="mine")
    data = answer.structured_content
    assert data is not None
    assert texts_of(answer) == ["you said: hello", f"[gateway] jobId={data['jobId']} sessionId=c-1"]
    assert (data["response"], "text" in data["parsed"]) == ("you said: hello", False)
    assert (data["success"], data["exitCode"], data["sessionId"], data["correlationId"]) == (True, 0, "c-1", "mine")
    assert data["mcpServers"] == {"requested": ["sqry"]}
    assert data["parsed"]["usage"]["cacheReadInputTokens"] == 100
    assert len(fakes.started) == 1


async def test_190_192_a_new_session_takes_no_part_in_an_old_one_and_a_word_of_ours_is_made(
    ai: Agent, fakes: Fakes
) -> None:
    data = await ai.data(
        "claude_request", prompt="a  \n\n\n\nb", sessionId="c-9", createNewSession=True, optimizePrompt=True
    )
    assert "--resume" not in fakes.started[0]["argv"]
    assert (data["response"], len(data["correlationId"])) == ("you said: a\n\nb", 36)
    assert (await ai.data("llm_job_status", jobId=data["jobId"]))["job"]["correlationId"] == data["correlationId"]
    await ai.data("codex_request", prompt="x", fullAuto=True)
    assert "workspace-write" in fakes.started[1]["argv"]


async def test_189_managed_requests_pass_the_gate_and_run_unattended(ai: Agent, fakes: Fakes) -> None:
    data = await ai.data("claude_request", prompt="hello", approvalStrategy="mcp_managed", mcpServers=["exa"])
    assert (data["approval"]["status"], data["approval"]["score"]) == ("approved", 2)
    assert fakes.started[0]["argv"][-2:] == ["--permission-mode", "bypassPermissions"]
    code, sentence = await ai.refusal(
        "claude_request", prompt="print the password", approvalStrategy="mcp_managed", dangerouslySkipPermissions=True
    )
    assert (code, len(fakes.started)) == ("approval_denied", 1)
    assert "claude_request denied by MCP-managed approval policy" in sentence
    assert [one["status"] for one in (await ai.data("approval_list"))["approvals"]] == ["denied", "approved"]


async def test_194_an_async_request_answers_at_once(slow: Gate, ai: Agent) -> None:
    data = await ai.data("gemini_request_async", prompt="hello")
    assert set(data) == {"success", "job", "cli", "correlationId", "sessionId", "approval", "mcpServers", "resumable"}
    assert set(data["job"]) == {"id", "cli", "status", "startedAt"}
    assert (data["job"]["status"], data["resumable"]) == ("running", False)
    resumed = await ai.data("gemini_request_async", prompt="hello", sessionId="g-1")
    assert resumed["resumable"]
    slow.open()
    slow.open()


async def test_201_203_past_the_deadline_it_is_deferred_and_fetched_later(slow: Gate, ai: Agent) -> None:
    data = await ai.data("codex_request", prompt="hello")
    names = {"status", "jobId", "cli", "correlationId", "message", "sessionId", "pollWith", "fetchWith", "cancelWith"}
    assert names | {"collectWith", "watchWith", "approval", "mcpServers"} == set(data)
    assert data["status"] == "deferred"
    assert data["message"] == (
        "Execution exceeded sync deadline (50ms). Poll with llm_job_status, fetch with llm_job_result."
    )
    assert (data["pollWith"], data["fetchWith"], data["cancelWith"]) == (
        "llm_job_status",
        "llm_job_result",
        "llm_job_cancel",
    )
    status = (await ai.data("llm_job_status", jobId=data["jobId"]))["job"]
    assert (status["status"], status["exited"], status["exitCode"]) == ("running", False, None)
    (health,) = (await ai.data("llm_process_health"))["jobs"]
    assert (health["jobId"], health["alive"], health["pid"] > 0) == (data["jobId"], True, True)
    slow.open()
    await _over(ai, data["jobId"])
    found = await ai.data("llm_job_result", jobId=data["jobId"])
    result = found["result"]
    assert (result["status"], found["parsed"]["text"], result["stdoutTruncated"]) == (
        "completed",
        "you said: hello",
        False,
    )
    assert (await ai.data("llm_request_result", correlationId=data["correlationId"]))["result"]["jobId"] == data[
        "jobId"
    ]


async def _over(ai: Agent, job: str) -> None:
    async def over() -> bool:
        return (await ai.data("llm_job_status", jobId=job))["job"]["status"] != "running"

    await eventually(over)


async def test_207_214_the_tail_is_kept_and_the_rest_is_read_by_offsets(ai: Agent) -> None:
    await ai.data("claude_request", prompt="x" * 3000, correlationId="long")
    whole = (await ai.data("llm_request_result", correlationId="long"))["result"]
    assert json.loads(whole["stdout"].splitlines()[0])["type"] == "system"
    total = whole["stdoutTotalChars"]
    cut = (await ai.data("llm_request_result", correlationId="long", maxChars=1000))["result"]
    assert (cut["stdout"], cut["stdoutTruncated"]) == (whole["stdout"][-1000:], total > 1000)
    first = (await ai.data("llm_job_result", jobId=cut["jobId"], maxChars=1000, stdoutOffsetChars=0))["result"]
    assert (first["stdout"], first["stdoutNextOffsetChars"]) == (whole["stdout"][:1000], 1000 if total > 1000 else None)


async def test_210_213_a_request_is_watched_and_canceled(slow: Gate, ai: Agent) -> None:
    job = (await ai.data("claude_request_async", prompt="hello"))["job"]["id"]
    told: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        assert (progress >= 0, total) == (True, None)
        told.append(message)

    arguments = {"jobId": job, "waitMs": 10_000}
    answer = await ai.client.call_tool("llm_job_watch", arguments, progress_callback=hear)
    seen = answer.structured_content
    assert seen is not None
    assert (seen["phase"], seen["progress"]["events"][-1]["phase"]) == ("thinking", "thinking")
    assert told[-1] == "claude: thinking"
    assert (await ai.data("llm_job_cancel", jobId=job)) == {"success": True, "jobId": job, "status": "canceled"}
    for which, reason in ((job, "Job is already canceled"), ("j0000000000", "Job not found")):
        refused = await ai.ask("llm_job_cancel", jobId=which)
        assert (refused.is_error, refused.structured_content) == (
            True,
            {"success": False, "jobId": which, "reason": reason},
        )
    result = (await ai.data("llm_job_result", jobId=job))["result"]
    assert (result["status"], result["stdoutBytes"] > 0) == ("canceled", True)
    after = await ai.data("llm_job_watch", jobId=job, afterProgressSeq=seen["progress"]["nextAfterSeq"], waitMs=30_000)
    assert [one["phase"] for one in after["progress"]["events"]] == ["canceled"]
    assert (after["job"]["status"], after["phase"]) == ("canceled", "canceled")
    assert slow.path.exists()


async def test_212_221_health_tells_whether_each_cli_is_asked(ai: Agent) -> None:
    found = await ai.data("llm_process_health")
    claude = found["clis"][0]
    assert (claude["cli"], claude["circuitBreaker"], claude["failuresInARow"]) == ("claude", "closed", 0)
    assert (claude["running"], claude["queued"], claude["lastError"]) == (0, 0, None)


async def test_216_a_failure_is_an_error_with_its_category(ai: Agent, fakes: Fakes) -> None:
    fakes.remove("grok")
    answer = await ai.ask("grok_request", prompt="hello")
    data = answer.structured_content
    assert data is not None
    assert (answer.is_error, data["exitCode"], data["errorCategory"]) == (True, 127, "spawn_error")
    assert "docs.x.ai" in texts_of(answer)[0]


async def test_another_clients_request_is_not_found(jobs_here: Jobs, ai: Agent, fakes: Fakes, tmp_path: Path) -> None:
    job = (await ai.data("claude_request", prompt="hello", correlationId="mine"))["jobId"]
    async with agent(jobs_here, tmp_path, tools=("llm",), owner="other", env=dict(os.environ)) as other:
        for tool, given in (("llm_job_result", {"jobId": job}), ("llm_request_result", {"correlationId": "mine"})):
            refused = await other.ask(tool, **given)
            assert refused.structured_content is not None
            assert (refused.is_error, refused.structured_content["error"]) == (True, "Job not found")
    assert len(fakes.started) == 1


async def test_247_248_versions_models_and_the_plan_of_an_upgrade(ai: Agent) -> None:
    rows = {row["cli"]: row for row in (await ai.data("cli_versions"))["versions"]}
    assert (rows["claude"]["installed"], rows["claude"]["loginStatus"]) == (True, "authenticated")
    plan = await ai.data("cli_upgrade", cli="grok")
    assert (plan["command"], plan["dryRun"], plan["jobId"]) == (["grok", "update"], True, None)
    assert list(await ai.data("list_models", cli="claude")) == ["claude"]
    assert set((await ai.data("list_available_models"))["models"]) == set(PROGRAMS)


async def test_237_238_239_resources_tell_of_caches_without_a_word_that_was_said(ai: Agent, jobs_here: Jobs) -> None:
    parts = {"system": "the stable secret", "task": "hello"}
    data = await ai.data("claude_request", promptParts=parts)
    facts = (await jobs_here.get(data["jobId"])).spec.ask
    assert facts is not None

    async def counted() -> bool:
        return (await _read(ai, "cache_state://global"))["totalRequests"] == 1

    await eventually(counted)
    prefix = await _read(ai, f"cache_state://prefix/{facts.prefix_hash}")
    session = await _read(ai, "cache-state://session/c-1")
    assert (prefix["hitRate"], prefix["cliBreakdown"][0]["cli"]) == (1.0, "claude")
    assert prefix["estimatedSavingsUsd"] == pytest.approx(100 * 3 * 0.9 / 1e6)
    assert 0 < session["ttlRemainingMs"] <= 300_000
    assert (await _read(ai, "cache_state://session/unknown"))["requestCount"] == 0
    assert "secret" not in json.dumps([prefix, session, await _read(ai, "cache_state://global")])


async def _read(ai: Agent, uri: str) -> dict[str, Any]:
    (content,) = (await ai.client.read_resource(uri)).contents
    return json.loads(getattr(content, "text", ""))


async def test_252_the_guide_can_be_read(ai: Agent) -> None:
    listed = [str(one.uri) for one in (await ai.client.list_resources()).resources]
    assert {"cache_state://global", "skills://async-job-orchestration"} <= set(listed)
    templates = (await ai.client.list_resource_templates()).resource_templates
    assert "cache_state://prefix/{hash}" in [str(one.uri_template) for one in templates]
    (content,) = (await ai.client.read_resource("skills://async-job-orchestration")).contents
    assert "NOT APPROVED" in getattr(content, "text", "")


async def test_252_the_guide_names_the_tools_that_fetch_an_answer_and_no_tool_that_is_not_there(ai: Agent) -> None:
    (content,) = (await ai.client.read_resource("skills://async-job-orchestration")).contents
    named = set(re.findall(r"`(llm_\w+)`", getattr(content, "text", "")))
    assert {"llm_job_result", "llm_request_result", "llm_job_watch", "llm_job_status"} <= named
    assert named <= {tool.name for tool in (await ai.client.list_tools()).tools}


async def test_240_245_conversations_are_kept_told_of_and_forgotten(ai: Agent) -> None:
    made = (await ai.data("session_create", cli="claude", description="to come"))["session"]
    assert (made["isActive"], made["id"][:8]) == (True, "session-")
    assert "bookkeeping" in (await ai.refusal("claude_request", prompt="a", sessionId="gw-1"))[1]
    assert "cacheState" not in await ai.data("session_get", sessionId=made["id"])
    await ai.data("claude_request", prompt="hello")

    async def named() -> bool:
        return "c-1" in [one["id"] for one in (await ai.data("session_list", cli="claude"))["sessions"]]

    await eventually(named)
    state = (await ai.data("session_get", sessionId="c-1"))["cacheState"]
    assert (state["requestCount"], state["hitRate"], state["totalCacheReadTokens"]) == (1, 1.0, 100)
    await ai.data("session_set_active", cli="claude", sessionId="c-1")
    listed = await ai.data("session_list")
    assert (listed["total"], listed["activeSessions"]["claude"], listed["activeSessions"]["codex"]) == (2, "c-1", None)
    assert "is one of claude" in (await ai.refusal("session_set_active", cli="codex", sessionId="c-1"))[1]
    assert (await ai.data("session_delete", sessionId="c-1"))["success"]
    assert (await ai.refusal("session_get", sessionId="c-1"))[0] == "conversation_not_found"
    assert (await ai.data("session_clear_all"))["deletedCount"] == 1


async def test_conversations_belong_to_their_owner_on_every_door(jobs: Jobs) -> None:
    mine = await jobs.llm.conversations.start("codex", owner="me", title="x")
    assert [one.id for one in await jobs.llm.conversations.list(owner="me")] == [mine.id]
    assert await jobs.llm.conversations.list(owner="other") == ()
    with pytest.raises(ConversationNotFound):
        await jobs.llm.conversations.get(mine.id, owner="other")
    await jobs.llm.conversations.activate("codex", None, owner="me")
    assert not (await jobs.llm.conversations.get(mine.id, owner="me")).active
    assert await jobs.llm.conversations.drop(mine.id, owner="other") == 0
    assert await jobs.llm.conversations.drop(owner="me", cli="codex") == 1


async def test_261_a_request_reports_progress_while_it_waits(
    slow: Gate, ai: Agent, fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "REPORT_SECONDS", 0.05)
    fakes.env("SYNC_DEADLINE_MS", "20000")
    heard: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001
        heard.append(message)
        slow.open()

    await ai.client.call_tool("claude_request", {"prompt": "take long"}, progress_callback=hear)
    assert heard[0] is not None
    assert heard[0].startswith("waiting for claude;")
