"""Schemas of the answers, as clients are shown them."""

from __future__ import annotations

from bide.model.schema import Json, flag, text, whole

STATES = ("completed", "running", "killed", "timed_out")
_ID = text("Unique identifier of the process.")
_STATE = text(
    "'completed': it exited by itself; 'running'; 'killed': it was killed, or exceeded a limit; 'timed_out': it exceeded its timeout.",
    enum=list(STATES),
)
_EXIT_CODE = {
    "anyOf": [{"type": "integer"}, {"type": "null"}],
    "description": "0 typically indicates success. Null while it runs, and if it was killed or timed out.",
}
_COUNT = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
USAGE: Json = {
    "type": "object",
    "description": "Resource consumption; null is not known.",
    "properties": dict.fromkeys(("cpu_ms", "memory_peak_bytes", "io_read_bytes", "io_write_bytes"), _COUNT),
    "required": ["cpu_ms", "memory_peak_bytes", "io_read_bytes", "io_write_bytes"],
}
_NOTES: Json = {
    "type": "array",
    "items": {"type": "string"},
    "description": "What differs from what was asked for, and what to do next.",
}
_ERROR: Json = {
    "type": "object",
    "description": "What went wrong: the end of a process may be an error. recovery: [{action, description}].",
    "properties": {
        "type": {"type": "string"},
        "message": {"type": "string"},
        "recovery": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "object", "required": ["action", "description"]},
        },
        "retryable": {"type": "boolean"},
        "code": {"type": "integer"},
        "context": {"type": "object"},
    },
    "required": ["type", "message", "recovery", "retryable", "context"],
}


def _answer(**properties: Json) -> Json:
    """All of the properties are there; notes may be, and notices of other jobs, which come with any answer."""
    more = {"notes": _NOTES, "notices": {"type": "array", "items": {"type": "object"}}, "error": _ERROR}
    # Some clients hold errors against the schema as well.
    either = [{"required": list(properties)}, {"required": ["error"]}]
    return {"type": "object", "properties": {**more, **properties}, "anyOf": either}


def _with_error(schema: Json, **more: Json) -> Json:
    """Beside what is always there, an error may be, and `more`."""
    return {**schema, "properties": {**schema["properties"], "error": _ERROR, **more}}


_ROW: dict[str, Json] = {
    "process_id": _ID,
    "command": text("The command that was executed."),
    "state": _STATE,
    "exit_code": _EXIT_CODE,
    "started_at": text("ISO 8601 timestamp of the start.", format="date-time"),
    "duration_ms": whole("Elapsed time since the start; fixed after the end."),
    "resource_usage": USAGE,
}
_CAUSE = text("What explains a failure, from before the last lines: only where those are not all.")
RUN = _with_error(
    _answer(
        exit_code=_EXIT_CODE,
        stdout_summary=text("Last lines of stdout."),
        stderr_summary=text("Last lines of stderr."),
        duration_ms=whole("Wall-clock execution time in milliseconds."),
        process_id=_ID,
        state=_STATE,
        resource_usage=USAGE,
    ),
    cause=_CAUSE,
)
MONITOR = _with_error(_answer(**_ROW))
KILL = _answer(
    killed=flag("True if the process was successfully terminated."),
    signal_sent=text("The signal that ended it, or that was sent."),
    process_id=_ID,
    state=_STATE,
)
_ENTRY: Json = {"type": "object", "properties": {**_ROW, "error": _ERROR}, "required": list(_ROW)}
LIST = _answer(
    processes={"type": "array", "items": _ENTRY, "description": "Most recent first."},
    total=whole("Number of processes that match the filter; may exceed limit."),
)
_NEXT: Json = {
    "anyOf": [{"type": "integer"}, {"type": "null"}],
    "description": "The offset that continues the streams asked for; null if they continue at different offsets.",
}
LOGS = _answer(
    stdout=text("Stdout content; empty if it was not asked for."),
    stderr=text("Stderr content; empty if it was not asked for."),
    stdout_size=whole("Total size of stdout in bytes."),
    stderr_size=whole("Total size of stderr in bytes."),
    truncated=flag("True if the limit left output out."),
    next_offset=_NEXT,
    process_id=_ID,
    state=_STATE,
)
LOGS["properties"] |= {
    "stdout_next_offset": whole("The offset that continues stdout."),
    "stderr_next_offset": whole("The offset that continues stderr."),
}
SESSION = _answer(
    session_id=text(),
    agent=text("The owner of the processes."),
    connected_at=text(format="date-time"),
    duration_seconds=whole(),
    invocation_count=whole("Calls of this toolset since the server started."),
    resource_usage=USAGE,
    workspace_path=text(),
    accessible_directories={"type": "array", "items": {"type": "string"}},
    allocation={
        "type": "object",
        "properties": {
            "cpu_limit": {"type": "number"},
            "memory_limit": {"type": "integer"},
            "max_pids": {"type": "integer"},
        },
        "required": ["cpu_limit", "memory_limit", "max_pids"],
    },
    processes={
        "type": "object",
        "properties": {"started": {"type": "integer"}, "running": {"type": "integer"}},
        "required": ["started", "running"],
    },
    state_quota={"type": "null"},
)
_SUMMARY: Json = {
    "name": text("The name with dots."),
    "tool": text("The name of the MCP tool."),
    "permission": text(
        "'autonomous': it runs; 'notify': it runs and the person is told.", enum=["autonomous", "notify"]
    ),
    "version": text(),
    "purpose": text(),
    "tags": {"type": "array", "items": {"type": "string"}},
}
CAPABILITIES = _answer(
    capabilities={
        "type": "array",
        "items": {"type": "object", "properties": _SUMMARY, "required": list(_SUMMARY)},
    },
    total=whole(),
)
_OBJECTS: Json = {"type": "array", "items": {"type": "object"}}
CAPABILITY = _answer(
    **_SUMMARY,
    when_to_use=text(),
    inputs={**_OBJECTS, "description": "name, type, required, default, description"},
    outputs={**_OBJECTS, "description": "name, type, description"},
    side_effects={**_OBJECTS, "description": "description, reversible"},
    common_patterns={**_OBJECTS, "description": "title, steps"},
    errors={**_OBJECTS, "description": "type, description, recovery, retryable"},
)
