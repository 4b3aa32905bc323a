"""What a client does with every tool of every toolset, and what must hold then."""

import json
from typing import Any, cast

from bide.mcpserver import spelling, toolsets
from bide.model.schema import Json


def _call(tool: str, arguments: Json | None = None, **must: Any) -> Json:
    """A call; `must` has what must hold of its answer, and `keep` names what later calls use as `$name`."""
    return {"tool": tool, "arguments": arguments or {}, **must}


CALLS: dict[str, list[Json]] = {
    "core": [
        _call("run", {"command": "echo é; exit 3"}, holds={"exit_code": 3, "out.text": "é\n"}),
        _call("run", {"command": ["cat"], "name": "talk", "stdin": True, "background": True}, keep={"job": "job"}),
        _call("send", {"job": "talk", "text": "hello\n", "eof": True}, holds={"out.text": "hello\n"}, says="sent"),
        _call("await", {"jobs": ["$job"], "mode": "all"}, holds={"exit_code": 0}),
        _call("logs", {"job": "talk", "offset": 2.0, "limit": 4}, holds={"out.text": "llo\n"}),
        _call("run", {"code": "print(6 * 7)"}, holds={"out.text": "42\n"}),
        _call("run", {"command": "cat", "name": "stay", "stdin": True, "wait": 0}, holds={"met": "timeout"}),
        _call("kill", {"jobs": ["stay"]}, holds={"jobs.0.verified_empty": True}),
        _call("jobs", {"limit": 1}, holds={"jobs.0.name": "stay", "jobs.0.reason": "killed"}),
        _call("session", {"action": "start", "session": "place"}, holds={"session": "place"}),
        _call("run", {"command": "cd /; pwd", "session": "place"}, holds={"out.text": "/\n"}),
        _call("session", {"action": "show", "session": "place"}, holds={"cwd": "/"}),
        _call("session", {"action": "end", "session": "place"}, holds={"session": "place"}),
        _call("run", {"command": "true", "wiat": 3}, refused=True, says="did you mean 'wait'"),
    ],
    "job": [
        _call("bash", {"command": "echo now"}, holds={"output": "now"}),
        _call("bash", {"command": "sleep 0.1; echo later", "async": True, "id": "late"}, holds={"async.jobId": "late"}),
        _call("job", {"poll": ["late"]}, holds={"jobs.0.resultText": "later\n"}),
        _call("job", {"list": True, "poll": ["late"]}, refused=True, says="cannot be combined"),
    ],
    "sessions": [
        _call("startSession", {"id": "s1", "vars": {"n": 1}}, holds={"sessionId": "s1"}),
        _call("exec", {"sessionId": "s1", "code": "print(session.vars['n'] + 1)"}, holds={"stdout": "2\n"}),
        _call("updateSession", {"sessionId": "s1", "cwd": "/"}, holds={"cwd": "/"}),
        _call("listSessions", {}, holds={"sessions.0.id": "s1"}),
        _call("exec", {"sessionId": "s1", "code": "print('bg')", "background": True}, keep={"job": "jobId"}),
        _call("waitJob", {"sessionId": "s1", "jobId": "$job"}, holds={"stdout": "bg\n"}),
        _call("getJobOutput", {"sessionId": "s1", "jobId": "$job"}, says="bg"),
        _call("exec", {"code": "sleep 60", "language": "shell", "background": True}, keep={"other": "jobId"}),
        _call("killJob", {"jobId": "$other"}),
        _call("listJobs", {"sessionId": "s1"}),
        _call("endSession", {"sessionId": "s1"}, holds={"sessionId": "s1"}),
        _call("endSession", {"sessionId": "s1"}, refused=True, says="Session not found: s1"),
    ],
    "process": [
        _call("process.run", {"command": "echo", "args": ["a b"]}, holds={"exit_code": 0, "stdout_summary": "a b\n"}),
        _call("process.run", {"command": "sleep 60", "background": True}, keep={"id": "process_id"}),
        _call("process.monitor", {"process_id": "$id"}, holds={"state": "running"}),
        _call("process.kill", {"process_id": "$id"}, says="killed"),
        _call("process.logs", {"process_id": "$id", "stream": "both"}),
        _call("process.list", {"state_filter": "killed"}, says="killed"),
        _call("capabilities.list", {"category": "process"}, holds={"total": 5}),
        _call("capabilities.describe", {"name": "process.run"}, holds={"permission": "notify"}),
        _call("agent.session"),
        _call("process.monitor", {"process_id": "none"}, refused=True, says="ProcessNotFound"),
    ],
    "handles": [
        _call("shell", {"command": "echo one"}, says="one"),
        _call("python", {"action": "spawn", "id": "h1", "code": "print(6 * 7)"}, holds={"id": "h1"}),
        _call("await", {"all": ["h1"]}, says="42"),
        _call("terminal", {"action": "spawn", "id": "t1", "command": "cat"}, holds={"state": "running"}),
        _call("terminal", {"action": "apply", "id": "t1", "input": "typed\n"}, says="typed"),
        _call("terminal", {"action": "fetch", "id": "t1"}, says="typed"),
        _call("terminal", {"action": "abort", "id": "t1"}, holds={"state": "stopped"}),
        _call("await", {}, refused=True, says="At least one handle ID required"),
    ],
    "llm": [
        _call("session_create", {"cli": "claude", "description": "mine"}, keep={"id": "session.id"}),
        _call("session_list", {"cli": "claude"}, says="mine"),
        _call("session_get", {"sessionId": "$id"}, says="mine"),
        _call("session_set_active", {"cli": "claude", "sessionId": "$id"}),
        _call("session_delete", {"sessionId": "$id"}),
        _call("session_clear_all", {"cli": "claude"}),
        _call("list_models"),
        _call("list_available_models", holds={"success": True}),
        _call("compare_answers", {"question": "which?", "answers": ["one", "two"]}, holds={"success": True}),
        _call("approval_list", {"limit": 1}),
        _call("llm_process_health"),
        _call("llm_job_status", {"jobId": "none"}, refused=True),
    ],
}


_ASKS = ("_request", "_request_async")
OUTSIDE = frozenset(
    {
        *(tool.name for tool in toolsets.made()["llm"] if tool.name.endswith(_ASKS)),
        *("cli_versions", "cli_upgrade", "llm_job_cancel", "llm_job_result", "llm_job_status", "llm_job_watch"),
        *("llm_request_result", "llm_review", "ask"),
        *("validate_with_models", "second_opinion", "red_team_review", "consensus_check"),
    }
)
"""Tools that start programs of others, which cost money or change the machine, and those for what these said."""


def tools(toolset: str) -> list[str]:
    """The tools that a toolset lists."""
    return [tool.name for tool in toolsets.made()[toolset] if tool.listed]


def used(toolset: str) -> set[str]:
    """The tools that the plan uses and that are not refused there."""
    return {spelling.listed(call["tool"]) for call in CALLS[toolset] if not call.get("refused")}


def filled(arguments: Json, kept: Json) -> Json:
    """Arguments, with what earlier calls left in place of their names."""

    def one(value: Any) -> Any:
        if isinstance(value, list):
            return [one(inner) for inner in cast("list[Any]", value)]
        return kept[value[1:]] if isinstance(value, str) and value.startswith("$") else value

    return {key: one(value) for key, value in arguments.items()}


def check(call: Json, text: str, data: Json | None, kept: Json) -> None:
    """Check that an answer is what it must be, and keep what later calls use. Output is in the text or in the data; the text alone is JSON."""
    assert call.get("says", "") in (text if data is None else f"{text} {data}")
    if data is None and ("holds" in call or "keep" in call):
        data = json.loads(text)
    for path, value in call.get("holds", {}).items():
        assert _at(data, path) == value, (call, data)
    kept |= {name: _at(data, path) for name, path in call.get("keep", {}).items()}


def _at(data: Any, path: str) -> Any:
    """What is there in an answer: `jobs.0.name`."""
    key, _, rest = path.partition(".")
    inner: Any = data[int(key) if key.isdecimal() else key]
    return _at(inner, rest) if rest else inner
