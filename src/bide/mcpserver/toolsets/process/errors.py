"""What can be wrong, in the words of seed 003: a type, its sentence, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping

from bide.mcpserver.tool import Answer
from bide.model.errors import (
    BadRequest,
    BideError,
    DiskFull,
    FolderNotFound,
    JobForgotten,
    JobNotFound,
    NotAllowed,
    QueueFull,
)
from bide.model.schema import Json

Recovery = tuple[tuple[str, str], ...]

_LIST = (("list_processes", "Use process.list to see all tracked processes."),)
TYPES: Mapping[str, tuple[str, Recovery]] = {
    "CommandNotFound": (
        "The specified command does not exist in the sandbox PATH.",
        (
            (
                "check_path",
                "Use process.run(command='which', args=['command_name']) to check if the command is installed.",
            ),
            ("use_full_path", "Specify the full absolute path to the executable."),
        ),
    ),
    "ResourceLimitExceeded": (
        "Process was killed because it exceeded its memory or CPU limit.",
        (
            ("increase_limits", "Retry with higher cpu_limit or memory_limit if within agent allocation."),
            ("optimize", "Modify the command or script to use fewer resources."),
        ),
    ),
    "PathOutOfScope": (
        "The working_directory is outside the agent's workspace.",
        (("check_scope", "Call agent.session to see accessible directories."),),
    ),
    "SpawnFailed": (
        "Failed to start the process due to OS-level error.",
        (
            ("check_permissions", "Verify the command is executable and the sandbox has required permissions."),
            ("retry", "Retry the operation."),
        ),
    ),
    "ProcessNotFound": ("No process with the given ID exists or it has been cleaned up.", _LIST),
    "ProcessAlreadyExited": (
        "The process has already completed or been killed.",
        (("check_status", "Use process.monitor to see the final state and exit code."),),
    ),
    "KillFailed": (
        "The OS refused to deliver the signal.",
        (("force_kill", "Retry with signal='SIGKILL'."),),
    ),
    "InvalidFilter": (
        "The state_filter value is not one of the valid options.",
        (("use_valid_filter", "Use one of: 'running', 'completed', 'killed', 'timed_out', 'all'."),),
    ),
    "InvalidStream": (
        "The stream value is not one of 'stdout', 'stderr', or 'both'.",
        (("use_valid_stream", "Use one of: 'stdout', 'stderr', 'both'."),),
    ),
    "InvalidInput": (
        "An input is not what it must be.",
        (("correct_input", "Correct the field that is named and call again."),),
    ),
    "PermissionDenied": (
        "The caller may not do this.",
        (("ask_owner", "Have it done from a terminal that no process has started."),),
    ),
    "ResourceExhausted": (
        "There is no room for another process.",
        (("free_resources", "Wait for running processes to end, or end some with process.kill, and retry."),),
    ),
    "ServiceUnavailable": (
        "The operation could not be done.",
        (("retry", "Retry the operation."),),
    ),
}
_OF_FIELD = {"state_filter": "InvalidFilter", "stream": "InvalidStream"}
"""Fields whose wrong values have a type of their own."""


class Failure(BideError):
    """An error of this vocabulary."""

    def __init__(self, kind: str, detail: str, **context: str) -> None:
        """`detail` says what is so in this case; `context` has the facts."""
        self.kind = kind
        self.context = context
        super().__init__(detail=f"{TYPES[kind][0]} {detail}".rstrip())


def failure_of(error: BideError) -> Failure:
    """Any error of ours as one of this vocabulary."""
    if isinstance(error, Failure):
        return error
    if isinstance(error, JobNotFound):
        return _not_found(error)
    if isinstance(error, BadRequest):
        return _bad_input(error)
    if isinstance(error, NotAllowed):
        return Failure("PermissionDenied", _sentence(error))
    return Failure(
        "ResourceExhausted" if isinstance(error, QueueFull | DiskFull) else "ServiceUnavailable", _sentence(error)
    )


def _not_found(error: JobNotFound) -> Failure:
    id_, what = error.facts["job"], "is none of yours, and none is on record as cleaned up"
    if isinstance(error, JobForgotten):
        what = f"was cleaned up at {error.facts['at']} ({error.facts['why']})"
    return Failure("ProcessNotFound", f"{id_!r} {what}.", process_id=id_)


def _bad_input(error: BadRequest) -> Failure:
    if isinstance(error, FolderNotFound):
        detail = f"There is no working_directory {error.facts['cwd']!r}."
        return Failure("InvalidInput", detail, field="working_directory")
    field = error.facts.get("field", "")
    return Failure(_OF_FIELD.get(field, "InvalidInput"), _sentence(error), **({"field": field} if field else {}))


def _sentence(error: BideError) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."


def error_data(failure: Failure) -> Json:
    """An error as data."""
    recovery = [{"action": action, "description": what} for action, what in TYPES[failure.kind][1]]
    data: Json = {"type": failure.kind, "message": str(failure), "recovery": recovery}
    return {**data, "context": failure.context} if failure.context else data


def error_text(failure: Failure) -> str:
    """An error as text."""
    steps = [f"- {action}: {what}" for action, what in TYPES[failure.kind][1]]
    return "\n".join([f"{failure.kind}: {failure}", *steps])


def refuse(error: BideError) -> Answer:
    """A refusal in this vocabulary's shape."""
    failure = failure_of(error)
    return Answer(error_text(failure), {"error": error_data(failure)}, is_error=True)
