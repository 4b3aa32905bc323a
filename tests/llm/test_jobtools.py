"""The tools that look after requests (205, 206, 212, 231), and what they say of bad input."""

import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.llm.conftest import Fakes
from tests.mcpserver.clients import Agent, agent, text_of
from tests.support.gates import Gate
from tests.support.patience import ended, eventually

from bide.api import Jobs
from bide.keeper import vitals
from bide.model.llm.answer import Reading, Status, code_of, status_of
from bide.model.phase import Reason

SNAPSHOT = {
    *("id", "cli", "status", "startedAt", "finishedAt", "exitCode", "correlationId", "outputTruncated"),
    *("stdoutBytes", "stderrBytes", "error", "exited", "attempt", "retryOf", "sessionId"),
}


@pytest.fixture
async def ai(local: Jobs, fakes: Fakes, gate: Gate, tmp_path: Path) -> AsyncIterator[Agent]:
    fakes.set(gate=str(gate.path))
    async with agent(local, tmp_path, tools=("llm",), env=dict(os.environ)) as one:
        yield one


async def test_206_a_snapshot_says_all_that_is_known(ai: Agent) -> None:
    asked = await ai.data("claude_request", prompt="hello", correlationId="mine")
    job = (await ai.data("llm_job_status", jobId=asked["jobId"]))["job"]
    assert set(job) == SNAPSHOT
    assert (job["id"], job["cli"], job["status"], job["exitCode"]) == (asked["jobId"], "claude", "completed", 0)
    assert (job["correlationId"], job["outputTruncated"], job["error"], job["exited"]) == ("mine", False, None, True)
    assert (job["stdoutBytes"] > 0, job["stderrBytes"]) == (True, 0)
    assert job["startedAt"] <= job["finishedAt"]


async def test_205_what_nobody_can_know_is_orphaned_and_all_else_is_what_it_was(local: Jobs, fakes: Fakes) -> None:
    job = (await local.llm.ask("claude", "hello")).job
    phase = ended(job)
    lost = replace(job, phase=replace(phase, end=replace(phase.end, reason=Reason.LOST, exit_code=None)))
    assert (status_of(lost, Reading()), code_of(lost)) == (Status.ORPHANED, None)
    assert len(fakes.started) == 1


async def test_212_health_tells_of_the_process_of_a_running_request(
    local: Jobs, fakes: Fakes, gate: Gate, tmp_path: Path
) -> None:
    fakes.set(mode="slow", gate=str(gate.path))
    async with agent(local, tmp_path, tools=("llm",), env=dict(os.environ)) as ai:
        job = (await ai.data("claude_request_async", prompt="hello"))["job"]["id"]
        await ai.data("llm_job_watch", jobId=job, waitMs=10_000)
        found = await ai.data("llm_process_health")
        (one,) = found["jobs"]
        assert (one["jobId"], one["pid"]) == (job, fakes.started[0]["pid"])
        assert (one["alive"], one["isDead"], one["isZombie"]) == (True, False, False)
        assert one["runningForMs"] >= 0
        assert 0 <= one["cpuPercent"] < 50
        assert 1000 < one["memoryRssKb"] < 10_000_000
        counts = {name: found[name] for name in ("success", "runningJobs", "deadJobs", "zombieJobs")}
        assert counts == {"success": True, "runningJobs": 1, "deadJobs": 0, "zombieJobs": 0}
        assert found["clis"][0]["running"] == 1
        kept = found["persistence"]
        assert (kept["backend"], kept["durable"], kept["retentionDays"], kept["dedupWindowMs"]) == (
            "sqlite",
            True,
            30,
            3_600_000,
        )
        assert os.path.isfile(kept["dbPath"])
        gate.open()


async def test_212_health_tells_what_a_process_uses_now_and_whether_it_is_a_zombie(jobs: Jobs, fakes: Fakes) -> None:
    fakes.set(mode="busy")
    asked = await jobs.llm.ask("claude", "hello", background=True, owner="me")
    await eventually(lambda: len(fakes.started) == 1)

    async def busy() -> bool:
        (one,) = await jobs.llm.processes(owner="me")
        return one.job == asked.job.id and one.cpu_percent > 0 and not one.zombie

    await eventually(busy)
    assert await jobs.llm.processes(owner="another") == ()


def test_a_process_that_is_over_and_not_collected_is_a_zombie() -> None:
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    found = vitals.look(child.pid)
    assert found is not None
    assert found.zombie
    child.wait()
    assert vitals.look(child.pid) is None


async def test_231_force_refresh_runs_it_again(ai: Agent, fakes: Fakes) -> None:
    jobs = [
        (await ai.data("claude_request", prompt="hello", forceRefresh=fresh))["jobId"] for fresh in (False, False, True)
    ]
    assert (jobs[0] == jobs[1], jobs[1] == jobs[2], len(fakes.started)) == (True, False, 2)


async def test_bad_input_is_one_clear_sentence_and_starts_nothing(ai: Agent, fakes: Fakes) -> None:
    for tool, arguments, said in (
        ("claude_request", {"prompt": ""}, "the prompt is empty"),
        ("claude_request", {"promptParts": {"context": "x"}}, "is empty"),
        ("claude_request", {"prompt": "x" * 100_001}, "input_too_large"),
        ("claude_request", {"prompt": "a\0b"}, "invalid_input"),
        ("claude_request", {"prompt": "x", "model": "--help"}, "cannot be a model"),
        ("claude_request", {"prompt": "x", "allowedTools": ["-x"]}, "'allowedTools' is text"),
        ("gemini_request", {"prompt": "x", "includeDirectories": ["--yolo"]}, "'includeDirectories' is text"),
        ("codex_request_async", {"prompt": "x", "config": ["a;b=1"]}, "config"),
        ("claude_request", {"prompt": "x", "mcpServers": ["a b"]}, "cannot be an MCP server"),
        ("grok_request", {"prompt": "x", "sessionId": "gw-1"}, "for bookkeeping only"),
        ("mistral_request", {"prompt": "x", "outputFormat": "xml"}, "cannot write 'xml'"),
        ("llm_job_result", {"jobId": "nothing", "maxChars": 999}, "at least 1000"),
        ("llm_job_result", {"jobId": "nothing", "maxChars": 2_000_001}, "at most 2000000"),
        ("llm_request_result", {"correlationId": "nothing"}, "make it again"),
        ("llm_job_status", {"jobId": "nothing"}, "no request of yours is known as 'nothing'"),
        ("llm_job_watch", {"jobId": "nothing"}, "joined and not run twice"),
    ):
        answer = await ai.ask(tool, **arguments)
        assert answer.is_error, tool
        assert said in text_of(answer), text_of(answer)
        assert "\n" not in text_of(answer)
    assert fakes.started == []


async def test_199_248_255_a_refusal_names_the_field_that_is_wrong(ai: Agent, fakes: Fakes) -> None:
    for tool, given, said in (
        ("codex_request", {"sessionId": "--last"}, "'sessionId': '--last' cannot be a session's id"),
        ("claude_request", {"sessionId": "gw-1"}, "'sessionId': "),
        ("grok_request_async", {"sessionId": "-x"}, "'sessionId': "),
        ("gemini_request", {"outputFormat": "xml"}, "'outputFormat': "),
        ("claude_request", {"mcpServers": ["a b"]}, "'mcpServers': "),
        ("claude_request", {"worktree": {"ref": "-x"}}, "'worktree': '-x' cannot be a ref"),
        ("claude_request", {"model": "a\0b"}, "invalid_input: the model has a NUL in it"),
        ("claude_request", {"allowedTools": ["a\0b"]}, r"'allowedTools' is text without NUL, not 'a\x00b'"),
        ("grok_request", {"rules": "a\0b"}, "'rules' is text without NUL"),
    ):
        assert said in (await ai.refusal(tool, prompt="x", **given))[1]
    for wrong in ("-rf", "1.0 --force", "", "a b", "a\0b"):
        assert "'target': " in (await ai.refusal("cli_upgrade", cli="claude", target=wrong))[1]
    assert fakes.started == []


async def test_malformed_and_truncated_output_is_told_of_and_read_as_far_as_it_goes(
    local: Jobs, fakes: Fakes, tmp_path: Path
) -> None:
    fakes.set(mode="garbage")
    async with agent(local, tmp_path, tools=("llm",), env=dict(os.environ)) as ai:
        data = await ai.data("claude_request", prompt="hello")
    assert (data["response"], [one["code"] for one in data["warnings"]]) == ("you said: hello", ["unreadable_output"])
