"""The toolset `process`: states, spellings and refusals, by tables."""

import re
import subprocess
from datetime import UTC, datetime, timedelta
from errno import EACCES, ENOENT
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from tests.mcpserver.clients import ERAS, Agent, agent
from tests.mcpserver.test_process_run import failed, steps

from bide.api import Jobs
from bide.mcpserver.elapsed import elapsed
from bide.mcpserver.toolsets.process.catalog import CATALOG
from bide.mcpserver.toolsets.process.errors import KINDS, error_data, failure_of
from bide.mcpserver.toolsets.process.words import entry, failure_of_job, state_of
from bide.model.errors import (
    BadRequest,
    BideError,
    DiskFull,
    HomeReadOnly,
    InternalError,
    JobNotFound,
    LimitsUnavailable,
    NotAllowed,
    QueueFull,
    TooManyFiles,
)
from bide.model.job import Job, JobId, Spec
from bide.model.phase import End, Ended, Phase, Queued, Reason, Running

TOOLSET = "process"

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TOOLS = (
    *("process__run", "process__monitor", "process__kill", "process__list", "process__logs"),
    *("agent__session", "capabilities__list", "capabilities__describe"),
)


def job(phase: Phase, command: str = "x") -> Job:
    return Job(JobId("j0000000000"), Spec(("x",), command, "/"), NOW, phase=phase)


def ended(reason: Reason, **more: Any) -> Job:
    return job(Ended(NOW, End(reason, duration=timedelta(seconds=2), **more), NOW))


@pytest.mark.parametrize(
    ("one", "state", "exit_code", "error"),
    [
        (job(Queued()), "running", None, None),
        (job(Running(NOW, 7)), "running", None, None),
        (ended(Reason.EXITED, exit_code=0), "completed", 0, None),
        (ended(Reason.EXITED, exit_code=1), "completed", 1, None),
        (ended(Reason.SIGNALED, signal=11), "completed", 139, None),
        (ended(Reason.KILLED, signal=15), "killed", None, None),
        (ended(Reason.KILLED, by="pids limit"), "killed", None, "ResourceLimitExceeded"),
        (ended(Reason.TIMED_OUT, signal=9), "timed_out", None, None),
        (ended(Reason.IDLE, signal=15), "killed", None, None),
        (ended(Reason.OVERFLOW, signal=15), "killed", None, "ResourceLimitExceeded"),
        (ended(Reason.OOM, signal=9), "killed", None, "ResourceLimitExceeded"),
        (ended(Reason.SPAWN_FAILED, errno=ENOENT), "completed", 127, "CommandNotFound"),
        (ended(Reason.SPAWN_FAILED, errno=EACCES), "completed", 126, "SpawnFailed"),
        (ended(Reason.LOST), "killed", None, None),
    ],
)
def test_every_end_has_a_state_an_exit_code_and_perhaps_an_error(
    one: Job, state: str, exit_code: int | None, error: str | None
) -> None:
    row = entry(one)
    assert (row["state"], row["exit_code"]) == (state, exit_code)
    assert row.get("error", {}).get("type") == error


def test_every_reason_has_a_state() -> None:
    assert {state_of(ended(reason)) for reason in Reason} == {"completed", "killed", "timed_out"}


@pytest.mark.parametrize(
    ("command", "exit_code", "complaint", "error"),
    [
        ("nosuch --flag", 127, "/bin/bash: line 1: nosuch: command not found\n", "CommandNotFound"),
        ("nosuch", 127, "/bin/sh: 1: nosuch: not found\n", "CommandNotFound"),
        ("./run.sh", 127, "bash: line 1: ./run.sh: No such file or directory\n", "CommandNotFound"),
        ("./run.sh", 126, "bash: line 1: ./run.sh: Permission denied\n", "SpawnFailed"),
        ("/etc", 126, "/bin/bash: line 1: /etc: Is a directory\n", "SpawnFailed"),
        ("./run.sh", 127, "bash: line 1: ./run.sh: cannot execute: required file not found\n", "SpawnFailed"),
        ("./run.sh", 126, "bash: ./run.sh: /no/such: bad interpreter: No such file or directory\n", "SpawnFailed"),
        ("exit 127", 127, "", None),
        ("make all", 127, "/bin/sh: 1: gcc: not found\n", None),
        ("nosuch; true", 0, "bash: line 1: nosuch: command not found\n", None),
    ],
)
def test_161_a_shell_that_cannot_find_the_command_itself_is_an_error(
    command: str, exit_code: int, complaint: str, error: str | None
) -> None:
    one = job(Ended(NOW, End(Reason.EXITED, exit_code=exit_code), NOW), command)
    found = failure_of_job(one, complaint)
    assert (found.kind if found else None) == error


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("name", ["claude-code", "other"])
async def test_183_tools_are_listed_without_dots_and_taken_in_both_spellings(
    jobs_here: Jobs, tmp_path: Path, era: str, name: str
) -> None:
    async with agent(jobs_here, tmp_path, tools=("process",), era=era, name=name) as ai:
        assert tuple(tool.name for tool in (await ai.client.list_tools()).tools) == TOOLS
        for tool in ("process.list", "process__list"):
            assert (await ai.data(tool))["total"] == 0


async def test_183_an_unknown_tool_and_calls_that_are_none_are_errors_of_the_protocol(ai: Agent) -> None:
    with pytest.raises(MCPError) as caught:
        await ai.ask("process.stop")
    assert (caught.value.error.code, caught.value.error.message) == (
        -32601,
        f"no tool 'process.stop'; known are {', '.join(TOOLS)}",
    )
    assert (await failed(ai, "process.run"))["error"]["code"] == -32602


BAD: list[tuple[str, dict[str, Any], str, str]] = [
    ("process.run", {}, "InvalidInput", "command"),
    ("process.run", {"command": ""}, "InvalidInput", "command"),
    ("process.run", {"command": 3}, "InvalidInput", "command"),
    ("process.run", {"command": "x", "args": "y"}, "InvalidInput", "args"),
    ("process.run", {"command": "x", "args": [1]}, "InvalidInput", "args[0]"),
    ("process.run", {"command": "x", "environment": {"A": 1}}, "InvalidInput", "environment.A"),
    ("process.run", {"command": "x", "cpu_limit": 0}, "InvalidInput", "cpu_limit"),
    ("process.run", {"command": "x", "memory_limit": -1}, "InvalidInput", "memory_limit"),
    ("process.run", {"command": "x", "stdout_lines": -1}, "InvalidInput", "stdout_lines"),
    ("process.run", {"command": "x", "background": "yes"}, "InvalidInput", "background"),
    ("process.run", {"command": "x", "cwd": "/"}, "InvalidInput", "cwd"),
    ("process.monitor", {}, "InvalidInput", "process_id"),
    ("process.monitor", {"process_id": ""}, "InvalidInput", "process_id"),
    ("process.kill", {"process_id": "x", "signal": "SIGNONE"}, "InvalidInput", "signal"),
    ("process.kill", {"process_id": "x", "signal": 15}, "InvalidInput", "signal"),
    ("process.kill", {"process_id": "x", "force_after": -1}, "InvalidInput", "force_after"),
    ("process.list", {"state_filter": "done"}, "InvalidFilter", "state_filter"),
    ("process.list", {"state_filter": 1}, "InvalidFilter", "state_filter"),
    ("process.list", {"limit": 0}, "InvalidInput", "limit"),
    ("process.logs", {"process_id": "x", "stream": "out"}, "InvalidStream", "stream"),
    ("process.logs", {"process_id": "x", "offset": -1}, "InvalidInput", "offset"),
    ("process.logs", {"process_id": "x", "limit": 0}, "InvalidInput", "limit"),
    ("agent.session", {"x": 1}, "InvalidInput", "x"),
]


async def test_173_175_178_what_cannot_be_meant_is_refused_in_this_vocabulary_by_its_field(ai: Agent) -> None:
    for tool, given, kind, field in BAD:
        data = await failed(ai, tool, **given)
        assert (data["error"]["type"], data["error"]["context"]["field"]) == (kind, field), (tool, given)
        assert data["error"]["message"].startswith(KINDS[kind].sentence)
    assert steps(await failed(ai, "process.list", state_filter="x")) == ["use_valid_filter"]
    assert steps(await failed(ai, "process.logs", process_id="x", stream="x")) == ["use_valid_stream"]
    data = await failed(ai, "process.run", command="x\0y")
    assert (data["error"]["type"], data["error"]["context"]["field"]) == ("InvalidInput", "command")
    data = await failed(ai, "process.run", command="x", args=["a", "y\0"])
    assert (data["error"]["type"], data["error"]["context"]["field"]) == ("InvalidInput", "args[1]")
    for given, field in (({"environment": {"A=B": "x"}}, "environment"), ({"args": ["x" * 3_000_000]}, "command")):
        data = await failed(ai, "process.run", command="x", **given)
        assert (data["error"]["type"], data["error"]["context"]["field"]) == ("InvalidInput", field)
    assert (await ai.data("process.list"))["total"] == 0


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        (QueueFull(waiting="3"), "ResourceExhausted", True),
        (DiskFull(home="/x"), "ResourceExhausted", True),
        (TooManyFiles(home="/x"), "ResourceExhausted", True),
        (HomeReadOnly(home="/x"), "ServiceUnavailable", False),
        (
            LimitsUnavailable(limits="--cpus", why="no control group", advice="see 'bide doctor'"),
            "ServiceUnavailable",
            False,
        ),
        (NotAllowed(what="job j1 belongs to owner 'a'", job="j", owner="b"), "PermissionDenied", False),
        (InternalError(detail="x"), "ServiceUnavailable", True),
        (BadRequest(detail="it is wrong", field="cpu_limit"), "InvalidInput", False),
        (JobNotFound(job="x" * 5000), "ProcessNotFound", False),
    ],
)
def test_181_every_error_has_its_fields_in_the_words_of_this_toolset(
    error: BideError, kind: str, *, retryable: bool
) -> None:
    data = error_data(failure_of(error))
    assert set(data) - {"code"} == {"type", "message", "recovery", "retryable", "context"}
    assert (data["type"], data["retryable"]) == (kind, retryable)
    assert len(data["message"]) < 500
    assert data["context"]
    for word in ("bide ", "daemon", "--", "BIDE_", "ulimit", "/x"):
        assert word not in data["message"]


def test_181_every_type_of_error_has_a_recovery_that_names_tools_of_this_toolset() -> None:
    for kind in KINDS.values():
        assert kind.recovery
        for _, what in kind.recovery:
            assert set(re.findall(r"\w+__\w+", what)) <= set(TOOLS)
            assert not re.search(r"\b(process|agent|capabilities)\.\w", what)


def test_every_code_of_a_capability_is_a_type() -> None:
    assert {kind for one in CATALOG.values() for kind in one.errors} <= set(KINDS)


@pytest.mark.parametrize("days", [-1, 1])
def test_267_how_long_it_has_run_does_not_depend_on_a_clock_that_is_set(days: int) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        one = job(Running(datetime.now(UTC) + timedelta(days=days), process.pid))
        assert timedelta(0) <= elapsed(one) < timedelta(seconds=30)
        process.kill()
        process.wait()
    # Of one that is gone only its start is known.
    assert elapsed(one) == timedelta(0) if days > 0 else elapsed(one) > timedelta(hours=23)
