"""`process.run` with the toolset `process` alone, by the numbers of the checklist."""

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.mcpserver.clients import Agent, agent, text_of
from tests.support import processes
from tests.support.gates import Gate
from tests.support.patience import eventually

from bide.api import Jobs
from bide.mcpserver.toolsets.process.run import plan, slowed
from bide.model.job import Job, JobId, Spec
from bide.model.lifetime import Lifetime
from bide.model.limits import Limits
from bide.model.phase import End, Ended, Reason, Usage
from bide.settings import ProcessSettings

TOOLSET = "process"

MIB = 1024 * 1024
ALLOWED = ProcessSettings()
NOW = datetime(2026, 1, 1, tzinfo=UTC)


async def failed(ai: Agent, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured content of an error, which the text tells as well."""
    answer = await ai.ask(tool, **arguments)
    assert answer.is_error
    assert answer.structured_content is not None
    error = answer.structured_content["error"]
    assert text_of(answer).startswith(f"{error['type']}: {error['message']}\n")
    for step in error["recovery"]:
        assert f"- {step['action']}: {step['description']}" in text_of(answer)
    return answer.structured_content


def steps(data: dict[str, Any]) -> list[str]:
    return [step["action"] for step in data["error"]["recovery"]]


async def test_147_inputs_and_their_defaults(ai: Agent) -> None:
    tools = {tool.name: tool.input_schema for tool in (await ai.client.list_tools()).tools}
    fields = tools["process__run"]["properties"]
    assert set(fields) == {
        *("command", "args", "working_directory", "environment", "timeout", "background", "stdin"),
        *("cpu_limit", "memory_limit", "stdout_lines"),
        "budget",  # beside the document's, as on every tool that returns output
    }
    assert tools["process__run"]["required"] == ["command"]
    defaults = {name: field["default"] for name, field in fields.items() if "default" in field}
    assert defaults == {"timeout": 300, "background": False, "stdout_lines": 100}


async def test_148_outputs_are_complete_as_data_and_as_text(ai: Agent) -> None:
    answer = await ai.ask("process.run", command="echo out; echo err >&2")
    data = answer.structured_content
    assert data is not None
    assert set(data) == {
        *("exit_code", "stdout_summary", "stderr_summary", "duration_ms", "process_id", "state", "resource_usage"),
    }
    assert (data["exit_code"], data["stdout_summary"], data["stderr_summary"]) == (0, "out\n", "err\n")
    assert set(data["resource_usage"]) == {"cpu_ms", "memory_peak_bytes", "io_read_bytes", "io_write_bytes"}
    assert data["resource_usage"]["memory_peak_bytes"] > 0
    text = text_of(answer)
    for said in (data["process_id"], 'state: "completed"', "exit_code: 0", "memory_peak_bytes"):
        assert said in text


@pytest.mark.parametrize(
    ("command", "state", "exit_code"),
    [
        ("true", "completed", 0),
        ("exit 3", "completed", 3),
        ("exit 127", "completed", 127),
        ("kill -9 $$", "completed", 137),
        ("kill -15 $$", "completed", 143),
    ],
)
async def test_149_what_ends_by_itself_is_completed_with_its_exit_code(
    ai: Agent, command: str, state: str, exit_code: int
) -> None:
    data = await ai.data("process.run", command=command)
    assert (data["state"], data["exit_code"]) == (state, exit_code)


async def test_150_151_152_a_timeout_is_an_answer_with_what_was_written_and_the_whole_tree_dies(
    ai: Agent, tmp_path: Path
) -> None:
    command = f"echo before; setsid sleep 1000 & echo $! > {tmp_path}/pid; sleep 1000"
    data = await ai.data("process.run", command=command, timeout=1)
    assert (data["state"], data["exit_code"], data["stdout_summary"]) == ("timed_out", None, "before\n")
    assert 1000 <= data["duration_ms"] < 4000
    pid = int((tmp_path / "pid").read_text())
    await eventually(lambda: not processes.is_alive(pid))
    id_ = data["process_id"]
    assert (await ai.data("process.monitor", process_id=id_))["state"] == "timed_out"
    assert (await ai.data("process.logs", process_id=id_))["stdout"] == "before\n"
    assert (await ai.data("process.list", state_filter="timed_out"))["processes"][0]["process_id"] == id_


@pytest.mark.parametrize("seconds", [0, -5, 1.5, "1.5", "ten"])
async def test_153_a_timeout_that_cannot_be_is_invalid_input(ai: Agent, seconds: object) -> None:
    data = await failed(ai, "process.run", command="true", timeout=seconds)
    assert (data["error"]["type"], data["error"]["context"]["field"]) == ("InvalidInput", "timeout")


async def test_153_a_timeout_above_the_maximum_is_clamped_with_a_note(ai: Agent, jobs_here: Jobs) -> None:
    data = await ai.data("process.run", command="true", timeout=9999)
    assert data["notes"] == ["timeout was clamped to 3600, the maximum; for longer operations use background=true."]
    job = await jobs_here.get(data["process_id"])
    assert job.spec.limits.timeout is not None
    assert job.spec.limits.timeout.total_seconds() == 3600


async def test_154_in_the_background_it_answers_at_once_without_timeout_and_without_stdin(
    ai: Agent, jobs_here: Jobs, gate: Gate
) -> None:
    command = f"{gate.wait}; cat"
    with anyio.fail_after(20):
        data = await ai.data("process.run", command=command, background=True, timeout=1, stdin="ignored")
    assert (data["state"], data["exit_code"]) == ("running", None)
    assert data["notes"] == ["stdin was ignored, as always with background=true."]
    job = await jobs_here.get(data["process_id"])
    assert job.spec.limits.timeout is None
    gate.open()
    await jobs_here.wait([job.id])
    logs = await ai.data("process.logs", process_id=job.id)
    assert (logs["stdout"], logs["state"]) == ("", "completed")


@pytest.mark.parametrize(
    ("lines", "first", "count"), [({}, "101", 100), ({"stdout_lines": 2}, "199", 2), ({"stdout_lines": 0}, "", 0)]
)
async def test_155_summaries_are_the_last_lines_of_each_stream(
    ai: Agent, lines: dict[str, int], first: str, count: int
) -> None:
    data = await ai.data("process.run", command="seq 200; seq 200 >&2", **lines)
    for word in ("stdout_summary", "stderr_summary"):
        found = data[word].splitlines()
        assert len(found) == count
        assert found[:1] == ([first] if first else [])
    logs = await ai.data("process.logs", process_id=data["process_id"])
    assert logs["stdout"] == logs["stderr"] == "".join(f"{number}\n" for number in range(1, 201))


async def test_155_a_summary_of_one_endless_line_is_bounded_and_says_so(ai: Agent) -> None:
    data = await ai.data("process.run", command="head -c 1000000 /dev/zero | tr '\\0' x")
    assert len(data["stdout_summary"]) == 64 * 1024
    assert data["notes"] == [
        "The last 100 lines of stdout are more than 65536 bytes: stdout_summary begins in the middle of a line, at byte 934464 of "
        f"1000000. process__logs(process_id='{data['process_id']}', stream='stdout') has all of it."
    ]


async def test_155_a_summary_has_whole_lines_and_says_what_it_leaves_out(ai: Agent) -> None:
    data = await ai.data(
        "process.run", command="for i in $(seq 200); do printf '%03d %0996d\\n' $i 0; done", stdout_lines=200
    )
    lines = data["stdout_summary"].splitlines()
    assert {len(line) for line in lines} == {1000}
    assert (lines[0][:3], lines[-1][:3], len(lines)) == ("136", "200", 65)
    begin = 200 * 1001 - len(data["stdout_summary"])
    assert data["notes"] == [
        f"The last 200 lines of stdout are more than 65536 bytes: stdout_summary begins at a line, at byte {begin} of 200200. "
        f"process__logs(process_id='{data['process_id']}', stream='stdout') has all of it."
    ]
    rest = await ai.data("process.logs", process_id=data["process_id"], stream="stdout", limit=begin)
    assert rest["stdout"].endswith("\n")


async def test_156_without_args_a_shell_reads_it_and_with_args_nobody_splits_words(ai: Agent) -> None:
    assert (await ai.data("process.run", command="echo $((1 + 1)) | cat"))["stdout_summary"] == "2\n"
    data = await ai.data("process.run", command="printf", args=["<%s>", "a b", "$HOME; *", ""])
    assert data["stdout_summary"] == "<a b><$HOME; *><>"
    assert (await failed(ai, "process.run", command="echo hi", args=[]))["error"]["type"] == "CommandNotFound"


async def test_157_it_runs_in_the_workspace_and_nowhere_else(ai: Agent, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to("/usr")
    assert (await ai.data("process.run", command="pwd"))["stdout_summary"] == f"{tmp_path}\n"
    for inside in ("in", f"{tmp_path}/in", "in/../in"):
        found = await ai.data("process.run", command="pwd", working_directory=inside)
        assert found["stdout_summary"] == f"{tmp_path}/in\n"
    for outside in ("..", "/", "in/../..", "in/link", f"{tmp_path}x"):
        data = await failed(ai, "process.run", command="touch ran", working_directory=outside)
        assert (data["error"]["type"], steps(data)) == ("PathOutOfScope", ["check_scope"])
    assert not (tmp_path.parent / "ran").exists()
    for wrong in ("nowhere", "a\0b"):
        data = await failed(ai, "process.run", command="true", working_directory=wrong)
        assert (data["error"]["type"], data["error"]["context"]["field"]) == ("InvalidInput", "working_directory")


async def test_157_a_link_that_nobody_may_follow_is_out_of_scope(ai: Agent) -> None:
    for outside in ("/proc/1/root/etc", "/proc/1/cwd", "/proc/self/root"):
        data = await failed(ai, "process.run", command="true", working_directory=outside)
        assert (data["error"]["type"], data["error"]["context"]["path"]) == ("PathOutOfScope", outside)


async def test_158_the_environment_is_merged_and_protected_variables_stay(ai: Agent) -> None:
    given = {"MINE": "1", "HOME": "/elsewhere", "LD_PRELOAD": "x.so", "BIDE_JOB": "j1", "PYTHONPATH": "src"}
    command = 'echo "$MINE ${HOME-no} ${LD_PRELOAD-no} $PATH $PYTHONPATH"'
    data = await ai.data("process.run", command=command, environment=given)
    assert data["stdout_summary"] == "1 no no /usr/bin:/bin src\n"
    assert data["notes"] == [
        "Protected variables cannot be overridden and were left as they are: BIDE_JOB, HOME, LD_PRELOAD. "
        "A command can set its own, as in: env NAME=value command."
    ]


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "BASH_FUNC_ls%%", "SHELLOPTS", "BASHOPTS", "BASH_ENV", "ENV", "IFS", "PS4", "GCONV_PATH", "LD_AUDIT"),
        *("PYTHONSTARTUP", "NODE_OPTIONS", "PERL5OPT", "RUBYOPT", "JAVA_TOOL_OPTIONS", "BIDE_OWNER", "USER", "SHELL"),
    ],
)
async def test_158_what_changes_who_or_what_runs_is_left_out_and_named(ai: Agent, name: str) -> None:
    data = await ai.data("process.run", command="env", args=[], environment={name: "() { echo forged; }"})
    assert "forged" not in data["stdout_summary"]
    assert f" {name}. " in data["notes"][0]


def test_159_limits_are_those_of_the_allocation_and_cannot_exceed_it() -> None:
    usual = plan({"command": "x"}, ALLOWED)
    assert (usual.limits.cpus, usual.limits.memory_bytes, usual.limits.pids) == (0.5, 512 * MIB, 100)
    assert usual.notes == ()
    less = plan({"cpu_limit": 0.25, "memory_limit": MIB}, ALLOWED)
    assert (less.limits.cpus, less.limits.memory_bytes, less.notes) == (0.25, MIB, ())
    more = plan({"cpu_limit": 4, "memory_limit": 2**40}, ALLOWED)
    assert (more.limits.cpus, more.limits.memory_bytes) == (0.5, 512 * MIB)
    assert more.notes == (
        "cpu_limit was clamped to 0.5, the agent's allocation.",
        "memory_limit was clamped to 536870912, the agent's allocation.",
    )


@pytest.mark.parametrize(
    ("cpu", "cpus", "used", "took", "said"),
    [
        (0.5, 0.5, 990, 2000, ("Its CPU limit of 0.5 of a core slowed it: it used 0.49 ", "whole allocation")),
        (0.25, 0.5, 600, 4000, ("may have slowed it: it used 0.15 ", "cpu_limit can be up to 0.5.")),
        (0.5, 0.5, 600, 4000, None),
        (0.5, 0.5, 100, 200, None),
    ],
)
def test_159_a_process_that_its_cpu_limit_slows_says_so(
    cpu: float, cpus: float, used: int, took: int, said: tuple[str, str] | None
) -> None:
    spec = Spec(("x",), "x", "/", limits=Limits(cpus=cpu), enforced=(("cpu", "cgroup v2"),))
    end = End(Reason.EXITED, exit_code=0, duration=timedelta(milliseconds=took), usage=Usage(cpu_ms=used))
    job = Job(JobId("j0000000000"), spec, NOW, phase=Ended(NOW, end, NOW))
    notes = slowed(job, ProcessSettings(cpus=cpus))
    assert bool(notes) == bool(said)
    assert all(part in notes[0] for part in said or ())


async def test_160_what_takes_too_much_memory_is_killed_and_says_so(ai: Agent) -> None:
    greedy = ["-c", "x = bytearray(300_000_000); import time; time.sleep(30)"]
    data = await failed(ai, "process.run", command=sys.executable, args=greedy, memory_limit=64 * MIB)
    assert (data["error"]["type"], steps(data)) == ("ResourceLimitExceeded", ["increase_limits", "optimize"])
    assert (data["state"], data["exit_code"]) == ("killed", None)
    listed = (await ai.data("process.list", state_filter="killed"))["processes"]
    assert [(row["process_id"], row["error"]["type"]) for row in listed] == [
        (data["process_id"], "ResourceLimitExceeded")
    ]


@pytest.mark.parametrize(
    ("given", "kind", "recovery"),
    [
        ({"command": "nosuch", "args": ["x"]}, "CommandNotFound", ["check_path", "use_full_path"]),
        ({"command": "nosuch x"}, "CommandNotFound", ["check_path", "use_full_path"]),
        ({"command": "./nosuch"}, "CommandNotFound", ["check_path", "use_full_path"]),
        ({"command": "nosuch", "args": [], "background": True}, "CommandNotFound", ["check_path", "use_full_path"]),
        ({"command": "/etc/passwd", "args": []}, "SpawnFailed", ["check_permissions", "retry"]),
        ({"command": "/etc/passwd"}, "SpawnFailed", ["check_permissions", "retry"]),
    ],
)
async def test_161_what_could_not_start_is_an_error_with_its_process_id(
    ai: Agent, given: dict[str, Any], kind: str, recovery: list[str]
) -> None:
    data = await failed(ai, "process.run", **given)
    assert (data["error"]["type"], steps(data)) == (kind, recovery)
    assert data["error"]["context"] == {"process_id": data["process_id"], "command": given["command"].split()[0]}
    assert data["exit_code"] in (126, 127)


@pytest.mark.parametrize("given", [{"args": []}, {"args": ["x"]}, {}], ids=["program", "program with args", "shell"])
async def test_161_a_script_whose_interpreter_is_missing_is_not_called_missing(
    ai: Agent, tmp_path: Path, given: dict[str, Any]
) -> None:
    script = tmp_path / "run.sh"
    script.write_text("#!/no/such\n")
    script.chmod(0o755)
    data = await failed(ai, "process.run", command="./run.sh", **given)
    assert (data["error"]["type"], data["error"]["message"], data["error"]["retryable"], data["exit_code"]) == (
        "SpawnFailed",
        "Failed to start the process due to OS-level error. './run.sh' exists, but its interpreter does not.",
        False,
        127,
    )


@pytest.mark.parametrize("given", [{"command": "x" * 140_000, "args": []}, {"command": "y", "args": ["x" * 100_000]}])
async def test_161_172_an_error_does_not_repeat_all_of_a_long_command(ai: Agent, given: dict[str, Any]) -> None:
    await failed(ai, "process.run", **given)
    answer = await ai.ask("process.run", **given)
    assert len(text_of(answer)) < 2500
    assert len(json.dumps(answer.structured_content)) < 2500
    listed = await ai.ask("process.list", limit=2)
    assert len(json.dumps(listed.structured_content)) < 4000
    missing = await ai.ask("process.monitor", process_id="x" * 100_000)
    assert len(text_of(missing)) < 1000


async def test_162_a_background_process_lives_with_the_client_and_others_by_themselves(
    jobs_here: Jobs, tmp_path: Path
) -> None:
    for attended, background, lifetime in (
        (True, True, Lifetime.OWNER),
        (True, False, Lifetime.FREE),
        (False, True, Lifetime.FREE),
    ):
        async with agent(jobs_here, tmp_path, tools=("process",), attended=attended) as ai:
            data = await ai.data("process.run", command="true", background=background)
            assert (await jobs_here.get(data["process_id"])).spec.lifetime == lifetime


async def test_163_captured_output_is_exact(ai: Agent) -> None:
    data = await ai.data("process.run", command="echo", args=["hi"])
    logs = await ai.data("process.logs", process_id=data["process_id"])
    assert (logs["stdout"], logs["stderr"], logs["stdout_size"]) == ("hi\n", "", 3)


async def test_stdin_is_fed_and_ends(ai: Agent) -> None:
    data = await ai.data("process.run", command="cat; echo over", stdin='{"a": 1}\nlast')
    assert data["stdout_summary"] == '{"a": 1}\nlastover\n'
    assert (await ai.data("process.run", command="true", stdin="x" * MIB))["exit_code"] == 0
    assert (await ai.data("process.run", command="cat"))["stdout_summary"] == ""


async def test_261_a_run_longer_than_the_client_waits_is_answered_running_and_its_timeout_counts(
    jobs_here: Jobs, tmp_path: Path
) -> None:
    async with agent(jobs_here, tmp_path, tools=("process",), patience=0.3) as ai:
        data = await ai.data("process.run", command="echo so far; sleep 1000", timeout=1)
        assert (data["state"], data["exit_code"], data["stdout_summary"]) == ("running", None, "so far\n")
        (note,) = data["notes"]
        assert "Its timeout of 1 s still counts." in note
        assert f"process__monitor(process_id='{data['process_id']}', wait=1) answers at its end" in note
        found = data
        while found["state"] == "running":
            found = await ai.data("process__monitor", process_id=data["process_id"], wait=1)
        assert (found["state"], found["exit_code"]) == ("timed_out", None)


async def test_a_failure_says_what_explains_it_beside_its_last_lines(ai: Agent) -> None:
    command = "echo 'error: no such user'; seq 5000; exit 3"
    data: dict[str, Any] = (await ai.ask("process.run", command=command)).structured_content or {}
    assert "error: no such user" in data["cause"]
    assert data["stdout_summary"].endswith("4999\n5000\n")
    assert "5000" not in data["cause"]
    short: dict[str, Any] = (await ai.ask("process.run", command="echo oops; exit 3")).structured_content or {}
    assert "cause" not in short


async def test_a_budget_bounds_what_is_shown(ai: Agent) -> None:
    data = await ai.data("process.run", command="seq 100000", budget=100)
    assert len(data["stdout_summary"]) < 700
    assert data["stdout_summary"].endswith("99999\n100000\n")
    found = await ai.data("process.logs", process_id=data["process_id"], budget=100)
    assert len(found["stdout"]) <= 400
    assert found["truncated"]
