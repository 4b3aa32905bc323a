"""Moving from llm-cli-gateway: its tools, parameters, reply fields, resources and settings work, or the error names what does."""

import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.llm.conftest import PROGRAMS, Fakes
from tests.mcpserver.clients import Agent, agent, text_of
from tests.support import homes
from tests.support.patience import eventually

from bide.api import Jobs
from bide.model.llm.choices import CacheSettings, LlmSettings
from bide.model.llm.gateway import gateway_of

LIST_TOKENS = 6_000
"""What the list of the toolset's tools may cost a client, at four characters a token."""


@pytest.fixture
async def jobs_here(home: Path) -> AsyncIterator[Jobs]:
    home.mkdir()
    (home / "config.toml").write_text("[llm]\nenabled = true\n", encoding="utf-8")
    async with homes.local(home) as jobs:
        yield jobs


Connect = Callable[[], AbstractAsyncContextManager[Agent]]


@pytest.fixture
def connect(jobs_here: Jobs, fakes: Fakes, tmp_path: Path) -> Connect:
    """Connects a client with the environment as it is by then."""
    fakes.env("HOME", str(tmp_path / "user"))
    return lambda: agent(jobs_here, tmp_path, tools=("llm",), env=dict(os.environ))


@pytest.fixture
async def ai(connect: Connect) -> AsyncIterator[Agent]:
    async with connect() as one:
        yield one


async def test_184_the_list_of_tools_costs_at_most_6000_tokens(ai: Agent) -> None:
    listed = (await ai.client.list_tools()).tools
    rows = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed]
    assert len(json.dumps(rows)) / 4 <= LIST_TOKENS


async def test_188_207_213_schemas_state_the_defaults_of_the_gateway(ai: Agent) -> None:
    listed = {tool.name: tool.input_schema["properties"] for tool in (await ai.client.list_tools()).tools}
    requests = [listed[f"{cli}_request{how}"] for cli in PROGRAMS for how in ("", "_async")]
    assert [one["approvalStrategy"]["default"] for one in requests] == ["legacy"] * 10
    assert [listed[name]["maxChars"]["default"] for name in ("llm_job_result", "llm_request_result")] == [200_000] * 2
    assert listed["llm_job_watch"]["progressLimit"]["default"] == 32


@pytest.mark.parametrize(
    ("cli", "given", "words"),
    [
        (
            "claude",
            {"agents": {"a": {"description": "d", "prompt": "p"}}},
            ["--agents", '{"a": {"description": "d", "prompt": "p"}}'],
        ),
        ("claude", {"jsonSchema": {"type": "object"}}, ["--json-schema", '{"type": "object"}']),
        ("claude", {"jsonSchema": '{"type": "object"}'}, ["--json-schema", '{"type": "object"}']),
        ("claude", {"excludeDynamicSystemPromptSections": True}, ["--exclude-dynamic-system-prompt-sections"]),
        ("codex", {"sandboxMode": "read-only"}, ["--sandbox", "read-only"]),
        ("codex", {"sandbox": "read-only"}, ["--sandbox", "read-only"]),
        ("codex", {"configOverrides": {"model_reasoning_effort": "high"}}, ["-c", "model_reasoning_effort=high"]),
        ("gemini", {"includeDirs": ["a"]}, ["--include-directories", "a"]),
        ("gemini", {"policyFiles": ["p"]}, ["--policy", "p"]),
        ("gemini", {"adminPolicyFiles": ["p"]}, ["--admin-policy", "p"]),
        ("grok", {"allowedTools": ["a", "b"]}, ["--tools", "a,b"]),
        ("grok", {"systemPromptOverride": "s"}, ["--system-prompt-override", "s"]),
        ("mistral", {"allowedTools": ["a"]}, ["--enabled-tools", "a"]),
        ("mistral", {"permissionMode": "plan"}, ["--agent", "plan"]),
        ("mistral", {"maxTokens": 9}, ["--max-tokens", "9"]),
        ("mistral", {"reasoningEffort": "high"}, ["--reasoning-effort", "high"]),
    ],
)
async def test_192_parameters_of_the_gateway_become_flags(
    connect: Connect, fakes: Fakes, cli: str, given: dict[str, Any], words: list[str]
) -> None:
    fakes.set(
        flags="--agents --json-schema --exclude-dynamic-system-prompt-sections --policy --admin-policy "
        "--system-prompt-override --max-tokens --reasoning-effort"
    )
    async with connect() as ai:
        assert (await ai.data(f"{cli}_request", prompt="hello", **given))["success"]
    said = fakes.started[0]["argv"]
    at = said.index(words[0])
    assert said[at : at + len(words)] == words


async def test_192_gemini_reads_attachments_with_the_prompt(ai: Agent, fakes: Fakes, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("x", encoding="utf-8")
    await ai.data("gemini_request", prompt="hello", attachments=["notes.md"])
    assert fakes.started[0]["argv"][:2] == ["-p", f"@{tmp_path}/notes.md hello"]
    for path, said in (("none.md", "which is not there"), ("a b.md", "without blanks")):
        assert said in (await ai.refusal("gemini_request", prompt="hello", attachments=[path]))[1]


async def test_192_a_field_is_refused_by_the_name_that_was_given(ai: Agent, fakes: Fakes) -> None:
    for tool, given, said in (
        ("codex_request", {"sandboxMode": "none"}, "'sandboxMode' is one of"),
        ("codex_request", {"sandbox": "none"}, "'sandbox' is one of"),
        ("codex_request", {"sandbox": "read-only", "sandboxMode": "workspace-write"}, "give one of them"),
        ("codex_request", {"useLegacyFullAutoFlag": True}, "give fullAuto"),
        ("claude_request", {"permissionMode": "x"}, "'permissionMode' is one of"),
        ("mistral_request_async", {"allowedTools": ["-x"]}, "'allowedTools' is text"),
    ):
        assert said in (await ai.refusal(tool, prompt="hello", **given))[1]
    assert fakes.started == []


async def test_192_an_optimized_prompt_is_shorter_and_its_code_the_same(ai: Agent, fakes: Fakes) -> None:
    prompt = "Could you please  check   this:\n```\nplease   keep\n\n\n\n```\nThanks in advance!"
    await ai.data("claude_request", prompt=prompt, optimizePrompt=True)
    assert fakes.started[0]["argv"][1] == "Check this:\n```\nplease   keep\n\n\n\n```"


async def test_206_a_synchronous_reply_has_model_duration_and_retries(ai: Agent) -> None:
    data = await ai.data("claude_request", prompt="hello")
    assert (data["model"], data["retryCount"], data["durationMs"] >= 0) == ("claude-sonnet-fake", 0, True)


async def test_194_status_and_result_name_the_session(ai: Agent) -> None:
    job = (await ai.data("claude_request", prompt="hello"))["jobId"]
    status, result = await ai.data("llm_job_status", jobId=job), await ai.data("llm_job_result", jobId=job)
    assert (status["success"], status["job"]["sessionId"]) == (True, "c-1")
    assert (result["success"], result["result"]["sessionId"]) == (True, "c-1")


async def test_194_an_async_start_names_a_session_that_a_request_goes_on_with(ai: Agent, fakes: Fakes) -> None:
    begun = await ai.data("codex_request_async", prompt="hello")

    async def over() -> bool:
        return (await ai.data("llm_job_status", jobId=begun["job"]["id"]))["job"]["status"] == "completed"

    await eventually(over)
    data = await ai.data("codex_request", prompt="and?", sessionId=begun["sessionId"])
    assert data["sessionId"] == "c-1"
    assert fakes.started[-1]["argv"][:2] == ["exec", "resume"]
    assert fakes.started[-1]["argv"][-2:] == ["c-1", "and?"]
    assert "asked codex" in (await ai.refusal("claude_request", prompt="a", sessionId=begun["sessionId"]))[1]


@pytest.mark.parametrize("cli", ["claude", "mistral"])
async def test_195_245_a_session_that_was_created_is_begun_and_then_gone_on_with(
    ai: Agent, fakes: Fakes, cli: str
) -> None:
    await ai.data(f"{cli}_request", prompt="hello")  # an equal request of no session
    made = (await ai.data("session_create", cli=cli, description="mine"))["session"]["id"]
    first = await ai.data(f"{cli}_request", prompt="hello", sessionId=made)
    assert (first["sessionId"], "--resume" in fakes.started[-1]["argv"], len(fakes.started)) == (made, False, 2)

    async def begun() -> bool:
        return "cacheState" in await ai.data("session_get", sessionId=made)

    await eventually(begun)
    second = await ai.data(f"{cli}_request", prompt="and?", sessionId=made)
    assert (second["sessionId"], fakes.started[-1]["argv"][-2:]) == (made, ["--resume", "c-1"])
    assert json.loads(await ai.resource(f"cache_state://session/{made}"))["requestCount"] >= 1
    assert f"one of {cli}" in (await ai.refusal("grok_request", prompt="a", sessionId=made))[1]


async def test_205_an_unknown_id_is_answered_with_data(ai: Agent) -> None:
    for tool in ("llm_job_status", "llm_job_result", "llm_job_watch", "job_status", "job_result"):
        answer = await ai.ask(tool, jobId="j0000000000")
        assert answer.is_error
        told = json.loads(text_of(answer))
        assert told == answer.structured_content
        assert (told["success"], told["error"], told["jobId"]) == (False, "Job not found", "j0000000000")


async def test_a_budget_bounds_an_answer_and_keeps_its_end(connect: Connect, fakes: Fakes) -> None:
    fakes.env("FAKE_SAY_CLAUDE", "x" * 50_000 + "the end")
    async with connect() as one:
        asked = await one.data("claude_request", prompt="hello", budget=100)
        found = await one.data("llm_job_result", jobId=asked["jobId"], budget=300)
    assert (len(asked["response"]), asked["responseTruncated"], asked["responseTotalChars"]) == (400, True, 50_007)
    assert asked["response"].endswith("the end")
    assert len(found["parsed"]["text"]) == 400
    assert found["parsed"]["text"].endswith("the end")


async def test_207_maxChars_bounds_the_answer_as_well(connect: Connect, fakes: Fakes) -> None:  # noqa: N802 - the field's name
    fakes.env("FAKE_SAY_CLAUDE", "x" * 50_000 + "the end")
    async with connect() as one:
        job = (await one.data("claude_request", prompt="hello"))["jobId"]
        found = await one.data("llm_job_result", jobId=job, maxChars=1000)
    assert len(found["parsed"]["text"]) == 1000
    assert found["parsed"]["text"].endswith("the end")
    assert (found["parsed"]["textTruncated"], found["parsed"]["textTotalChars"]) == (True, 50_007)
    assert len(json.dumps(found)) < 6_000


async def test_209_parsed_stands_beside_the_result_with_the_words_of_the_gateway(ai: Agent) -> None:
    job = (await ai.data("claude_request", prompt="hello"))["jobId"]
    found = await ai.data("llm_job_result", jobId=job)
    assert set(found) == {"success", "result", "parsed"}
    assert {"text", "costUsd", "usage", "model", "numTurns"} <= set(found["parsed"])
    assert found["parsed"]["usage"] == {
        "inputTokens": 10,
        "outputTokens": 5,
        "cacheReadInputTokens": 100,
        "cacheCreationInputTokens": 7,
    }


async def test_216_the_text_of_a_failure_says_its_exit_code(connect: Connect, fakes: Fakes) -> None:
    fakes.set(mode="crash")
    async with connect() as one:
        answer = await one.ask("codex_request", prompt="hello")
    assert answer.is_error
    assert "Codex failed (exit code 70)" in "\n".join(getattr(block, "text", "") for block in answer.content)


async def test_248_the_plan_of_an_upgrade_names_what_is_there(ai: Agent, fakes: Fakes) -> None:
    found = await ai.data("cli_upgrade", cli="grok")
    assert (found["success"], found["dryRun"]) == (True, True)
    assert found["plan"] == {"cli": "grok", "target": "latest", "command": "grok", "args": ["update"]}
    program = (await ai.data("cli_upgrade", cli="mistral"))["plan"]["command"]
    assert os.access(program, os.X_OK)
    assert fakes.started == []


async def test_250_the_record_of_the_gate_is_told_by_cli(ai: Agent) -> None:
    for cli in ("claude", "gemini"):
        await ai.data(f"{cli}_request", prompt="hello", approvalStrategy="mcp_managed")
    found = await ai.data("approval_list", cli="gemini")
    assert (found["success"], found["count"], found["approvals"][0]["cli"]) == (True, 1, "gemini")


async def test_253_opinions_are_told_with_who_agrees_and_who_is_silent(connect: Connect, fakes: Fakes) -> None:
    fakes.env("FAKE_SAY_CLAUDE", "Rationale: it is so.\nRisks:\n- one\n- two\nVerdict: true")
    fakes.env("FAKE_SAY_CODEX", "It is not.\n**Verdict:** False.")
    async with connect() as one:
        found = (await one.data("consensus_check", claim="water is wet", models=["claude", "codex"]))["report"]
        assert [row["verdict"] for row in found["results"]] == ["true", "False"]
        assert found["results"][0]["risks"] == ["one", "two"]
        assert (found["disagreements"]["hasMaterialDisagreement"], found["disagreements"]["agree"]) == (True, False)
        fakes.remove("codex")
        found = (await one.data("consensus_check", claim="water is dry", models=["claude", "codex"]))["report"]
    assert (found["status"], [row["status"] for row in found["results"]]) == ("partial", ["completed", "skipped"])
    assert (found["disagreements"]["agree"], found["disagreements"]["signals"]) == (False, ["codex gave no verdict"])


async def test_253_silence_is_no_opinion(connect: Connect, fakes: Fakes) -> None:
    fakes.set(mode="empty")
    async with connect() as one:
        found = (await one.data("validate_with_models", question="is 2 + 2 = 4?"))["report"]
    assert [(row["provider"], row["verdict"]) for row in found["results"]] == [("claude", None), ("codex", None)]
    assert all("empty_output" in row["warning"] for row in found["results"])
    assert not found["disagreements"]["agree"]


async def test_253_a_judge_sums_up_what_was_said(ai: Agent, fakes: Fakes) -> None:
    found = (await ai.data("validate_with_models", question="is it?", models=["claude"], judgeModel="gemini"))["report"]
    judge = found["synthesis"]["rawJobReference"]["jobId"]

    async def over() -> bool:
        return (await ai.data("llm_job_status", jobId=judge))["job"]["status"] == "completed"

    await eventually(over)
    assert "claude said" in fakes.started[-1]["argv"][1]


async def test_184_single_opinions_and_comparisons_work_as_in_the_gateway(ai: Agent, fakes: Fakes) -> None:
    (row,) = (await ai.data("second_opinion", answer="42", question="why?"))["report"]["results"]
    assert (row["provider"], row["status"]) == ("codex", "completed")
    (row,) = (await ai.data("ask_model", question="why?"))["report"]["results"]
    assert (row["provider"], row["rationale"]) == ("claude", "you said: why?")
    found = await ai.data("red_team_review", content="a plan", riskLevel="high", models=["mistral"])
    assert found["report"]["results"][0]["provider"] == "mistral"
    assert "plan" in fakes.started[-1]["argv"]
    compared = (await ai.data("compare_answers", question="which?", answers=["a b", "a b", "c"]))["comparison"]
    assert compared["pairs"][-1] == {"answers": [1, 2], "sharedWords": 1.0}


async def test_184_what_is_not_here_names_what_to_call_instead(ai: Agent) -> None:
    for tool, instead in (
        ("synthesize_validation", "validate_with_models"),
        ("codex_fork_session", "codex_request"),
        ("upstream_contracts", "cli_versions"),
    ):
        assert instead in (await ai.refusal(tool, prompt="x"))[1]
        assert tool not in (await ai.refusal("no_such_tool"))[1]


async def test_237_sessions_models_and_figures_can_be_read(ai: Agent) -> None:
    await ai.data("claude_request", prompt="hello")
    figures = json.loads(await ai.resource("metrics://performance"))
    assert figures["totalRequests"] == 1
    assert (figures["overallSuccessRate"], figures["byTool"]["claude"]["successCount"]) == (1.0, 1)
    assert figures["byTool"]["grok"]["requestCount"] == 0
    sessions = json.loads(await ai.resource("sessions://all"))
    assert (sessions["total"], sessions["activeSessions"]["claude"]) == (1, "c-1")
    assert json.loads(await ai.resource("sessions://claude"))["activeSession"] == "c-1"
    assert "sonnet" in json.loads(await ai.resource("models://claude"))["models"]
    listed = {str(one.uri) for one in (await ai.client.list_resources()).resources}
    assert {"sessions://all", "sessions://grok", "models://codex", "metrics://performance"} <= listed


def _config(folder: Path, text: str) -> None:
    path = folder / "user" / ".llm-cli-gateway" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


async def test_241_the_settings_file_of_the_gateway_holds(ai: Agent, tmp_path: Path) -> None:
    _config(tmp_path, "[cache_awareness]\nwarn_on_ttl_expiry = true\nanthropic_ttl_seconds = 300\n")
    await ai.data("claude_request", prompt="hello")
    # Its time is not nearly over, so that there is nothing to warn of.
    assert "warnings" not in await ai.data("claude_request", prompt="and?", sessionId="c-1")


async def test_241_caches_are_told_of_as_the_settings_file_of_the_gateway_has_it(ai: Agent, tmp_path: Path) -> None:
    assert json.loads(await ai.resource("cache_state://global"))["enabledFeatures"] == []
    await ai.data("claude_request", prompt="hello")
    _config(tmp_path, "[cache_awareness]\nwarn_on_ttl_expiry = true\nanthropic_ttl_seconds = 3600\n")
    assert json.loads(await ai.resource("cache_state://global"))["enabledFeatures"] == ["warn_on_ttl_expiry"]
    found = json.loads(await ai.resource("cache_state://session/c-1"))
    got = (await ai.data("session_get", sessionId="c-1"))["cacheState"]
    assert all(3_400_000 < one["ttlRemainingMs"] <= 3_600_000 for one in (found, got))


async def test_244_the_settings_file_is_checked_and_the_environment_goes_before_it(
    ai: Agent, connect: Connect, fakes: Fakes, tmp_path: Path
) -> None:
    _config(tmp_path, "[persistence]\nretentionDays = 7\ndedupWindowMs = 5000\n[limits]\nmax_running_jobs = 3\n")
    kept = (await ai.data("llm_process_health"))["persistence"]
    assert (kept["retentionDays"], kept["dedupWindowMs"]) == (7, 5000)
    assert kept["sources"]["configFile"].endswith(".llm-cli-gateway/config.toml")
    assert "[limits] has no effect here; use [llm] running" in kept["warning"]
    fakes.env("LLM_GATEWAY_DEDUP_WINDOW_MS", "7000")
    async with connect() as one:
        assert (await one.data("llm_process_health"))["persistence"]["dedupWindowMs"] == 7000
    for text, said in (
        ("[cache_awareness]\nwarn = true\n", "[cache_awareness] has no key 'warn'"),
        ("[cache_awareness]\nanthropic_ttl_seconds = 60\n", "anthropic_ttl_seconds is 300 or 3600, not 60"),
        ('[persistence]\nbackend = "mysql"\n', "backend is one of sqlite, postgres, memory, none"),
        ("[persistence\n", "is no TOML"),
    ):
        _config(tmp_path, text)
        assert said in (await ai.refusal("claude_request", prompt="hello"))[1]
    assert fakes.started == []


async def test_204_who_wants_nothing_kept_is_told_what_is_kept_and_for_how_long(
    jobs_here: Jobs, connect: Connect, fakes: Fakes
) -> None:
    for variable in ("LLM_GATEWAY_JOBS_DB", "LLM_GATEWAY_LOGS_DB"):
        fakes.env("LLM_GATEWAY_JOBS_DB", "")
        fakes.env(variable, "none")
        async with connect() as one:
            data = await one.data("claude_request", prompt=f"hello {variable}")
            kept = (await one.data("llm_process_health"))["persistence"]
        assert [note["code"] for note in data["warnings"]] == ["answer_not_kept"]
        assert (kept["backend"], kept["durable"], kept["dbPath"]) == ("memory", False, None)
        facts = (await jobs_here.get(data["jobId"])).spec.ask
        assert facts is not None
        assert facts.own_time.total_seconds() == 3600


def test_241_the_gateways_cache_settings_hold_where_bides_own_are_as_shipped() -> None:
    table = {
        "warn_on_ttl_expiry": True,
        "anthropic_ttl_seconds": 3600,
        "min_stable_tokens_for_cache_control": {"opus": 9},
    }
    found = gateway_of("config.toml", {"cache_awareness": table})
    cache = found.under(LlmSettings()).cache
    assert (cache.warn_on_ttl_expiry, cache.anthropic_ttl, cache.min_stable_tokens["opus"]) == (
        True,
        timedelta(hours=1),
        9,
    )
    own = LlmSettings(dedup_window=timedelta(seconds=1), cache=CacheSettings(anthropic_ttl=timedelta(seconds=7)))
    kept = gateway_of("config.toml", {"persistence": {"dedupWindowMs": 0}, "cache_awareness": table}).under(own)
    assert (kept.dedup_window, kept.cache.anthropic_ttl) == (timedelta(seconds=1), timedelta(seconds=7))
