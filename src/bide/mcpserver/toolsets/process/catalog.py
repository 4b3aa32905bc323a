"""What each capability is beside its tool: permission, version, tags, when to use it, effects, patterns and errors."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

AUTONOMOUS, NOTIFY = "autonomous", "notify"
"""It runs; or it runs and the person is told."""


class Capability(Struct, frozen=True):
    """A tool as data."""

    permission: str
    version: str
    purpose: str
    tags: tuple[str, ...]
    when_to_use: str
    side_effects: tuple[tuple[str, bool], ...] = ()
    """What it does to the world, and whether that can be undone."""
    common_patterns: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """A title and its steps."""
    errors: tuple[str, ...] = ()
    """The types of its own; InvalidInput, ServiceUnavailable and ResourceExhausted may come from any."""


CATALOG: Mapping[str, Capability] = {
    "process.run": Capability(
        NOTIFY,
        "1.1",
        "Executes a command within the agent's sandbox and returns the exit code, captured output, duration, and resource usage.",
        ("process", "execute", "sandbox"),
        "Use it to execute shell commands, scripts, or binaries. Pass an explicit timeout (up to 3600) for commands expected to exceed "
        "5 minutes, and background=true for those that may exceed 1 hour and for servers. A timeout is no error: check state == 'timed_out'.",
        (
            (
                "Executes a process in the agent's sandbox which may modify files, consume resources, or produce network traffic "
                "within sandbox limits.",
                False,
            ),
            ("Background processes persist until they complete, are killed, or the session ends.", True),
        ),
        (
            (
                "Run a command and check output",
                (
                    "process__run(command='python3', args=['script.py'])",
                    "Check exit_code == 0 for success",
                    "Parse stdout_summary for results",
                ),
            ),
            (
                "Long test suite (5-60 minutes)",
                (
                    "process__run(command='pytest', args=['-q', 'tests/'], timeout=1800)",
                    "If state is 'running', process__monitor(process_id=..., wait=45) until it is not",
                    "If state is 'timed_out', inspect stdout_summary and rerun with a higher timeout or background=true",
                ),
            ),
            (
                "Multi-hour operation",
                (
                    "process__run(command='python3', args=['train.py'], background=true)",
                    "process__monitor(process_id=..., wait=45) to wait for its end",
                    "process__logs(process_id=..., stream='stdout') for its output",
                    "process__kill(process_id=...) if cancellation is needed",
                ),
            ),
            (
                "Background task with resource limits",
                (
                    "process__run(command='make', args=['build'], cpu_limit=0.5, memory_limit=536870912, timeout=600)",
                    "Check resource_usage in the answer to verify consumption",
                ),
            ),
        ),
        ("CommandNotFound", "ResourceLimitExceeded", "PathOutOfScope", "SpawnFailed"),
    ),
    "process.monitor": Capability(
        AUTONOMOUS,
        "1.0",
        "Returns the current status, resource usage, and runtime of a previously started background process.",
        ("process", "monitor", "status"),
        "Use it to check whether a process is still running, or, with wait, to wait for its end. Use process__logs for its output "
        "and process__kill to stop it.",
        common_patterns=(
            (
                "Wait for a background process",
                (
                    "process__monitor(process_id=..., wait=45)",
                    "If state is 'running', call it again",
                    "When state is 'completed', use process__logs to get output",
                ),
            ),
        ),
        errors=("ProcessNotFound",),
    ),
    "process.kill": Capability(
        NOTIFY,
        "1.0",
        "Sends a signal to terminate a running process started by this agent.",
        ("process", "kill", "terminate"),
        "Use it to stop a background process that is no longer needed or is misbehaving. Use process__list to find process IDs.",
        (("Terminates the running process and frees its resources.", False),),
        (
            (
                "Graceful shutdown with fallback to force kill",
                (
                    "process__kill(process_id=..., signal='SIGTERM', force_after=5)",
                    "If killed is false, the process had already exited",
                ),
            ),
            ("Immediate forced termination", ("process__kill(process_id=..., signal='SIGKILL')",)),
        ),
        ("ProcessNotFound", "ProcessAlreadyExited", "KillFailed"),
    ),
    "process.list": Capability(
        AUTONOMOUS,
        "1.0",
        "Lists all processes owned by this agent, including running, completed, and recently killed processes.",
        ("process", "list", "status"),
        "Use it to discover what processes are running or have recently completed. Use process__monitor for one of them and "
        "process__logs for its output.",
        common_patterns=(
            (
                "Find all running background tasks",
                ("process__list(state_filter='running')", "process__monitor(process_id=...) for each"),
            ),
            (
                "Review recent completed processes",
                (
                    "process__list(state_filter='completed', limit=10)",
                    "Check exit_code of each to identify failures",
                ),
            ),
        ),
        errors=("InvalidFilter",),
    ),
    "process.logs": Capability(
        AUTONOMOUS,
        "1.0",
        "Retrieves stdout and/or stderr output from a running or completed process.",
        ("process", "logs", "output"),
        "Use it to get full output, especially when stdout_summary of process__run is not all of it. For output as it comes, call it "
        "again with the next_offset of the answer before.",
        common_patterns=(
            (
                "Get full output after a process completes",
                (
                    "process__monitor(process_id=...) to confirm state is 'completed'",
                    "process__logs(process_id=..., stream='both')",
                ),
            ),
            (
                "Stream output from a running process",
                (
                    "process__logs(process_id=..., stream='stdout', offset=0, limit=4096) for the first chunk",
                    "Use next_offset as the offset of the next call",
                    "Repeat until state is 'completed' and next_offset equals stdout_size",
                ),
            ),
        ),
        errors=("ProcessNotFound", "InvalidStream"),
    ),
    "agent.session": Capability(
        AUTONOMOUS,
        "1.0",
        "Returns the agent's session: workspace and accessible directories, resource allocation and usage.",
        ("agent", "session"),
        "Use it to see where processes may run and what they may use.",
    ),
    "capabilities.list": Capability(
        AUTONOMOUS,
        "1.0",
        "Lists all capabilities with permission, version and tags.",
        ("capabilities", "discovery"),
        "Use it to see what you may do. Use capabilities__describe for one of them.",
    ),
    "capabilities.describe": Capability(
        AUTONOMOUS,
        "1.0",
        "Returns all there is to know about one capability.",
        ("capabilities", "discovery"),
        "Use it for inputs, outputs, side effects, patterns and errors of a capability.",
        errors=("CapabilityNotFound",),
    ),
}
