"""Errors in the words of seed 003: a type, a message, what to do about it, and the facts."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from bide.mcpserver.tool import Answer
from bide.model.errors import (
    BadRequest,
    BideError,
    DiskFull,
    FolderNotFound,
    HomeReadOnly,
    JobForgotten,
    JobNotFound,
    LimitsUnavailable,
    NotAllowed,
    QueueFull,
    TooManyConnections,
    TooManyFiles,
    TooMuchAtOnce,
)
from bide.model.schema import Json

INVALID_PARAMS, RATE_LIMITED, DENIED = -32602, -32000, -32001
"""The codes of JSON-RPC that an envelope without results would use for the same errors."""
_SHOWN = 200
"""Characters of a value in a message: an argv may have 140,000."""


class Kind(Struct, frozen=True):
    """A type of error."""

    sentence: str
    recovery: tuple[tuple[str, str], ...]
    """At least one action, each with its description."""
    retryable: bool = False
    """Whether the same call may succeed later."""
    code: int | None = None


_LIST = (("list_processes", "Use process__list to see all tracked processes."),)
KINDS: Mapping[str, Kind] = {
    "CommandNotFound": Kind(
        "The specified command does not exist in the sandbox PATH.",
        (
            (
                "check_path",
                "Use process__run(command='which', args=['command_name']) to check if the command is installed.",
            ),
            ("use_full_path", "Specify the full absolute path to the executable."),
        ),
    ),
    "ResourceLimitExceeded": Kind(
        "Process was killed because it exceeded its memory or CPU limit.",
        (
            ("increase_limits", "Retry with higher cpu_limit or memory_limit if within agent allocation."),
            ("optimize", "Modify the command or script to use fewer resources."),
        ),
    ),
    "PathOutOfScope": Kind(
        "The working_directory is outside the agent's workspace.",
        (("check_scope", "Call agent__session to see accessible directories."),),
    ),
    "SpawnFailed": Kind(
        "Failed to start the process due to OS-level error.",
        (
            ("check_permissions", "Verify the command is executable and the sandbox has required permissions."),
            ("retry", "Retry the operation."),
        ),
        retryable=True,
    ),
    "ProcessNotFound": Kind("No process with the given ID exists or it has been cleaned up.", _LIST),
    "ProcessAlreadyExited": Kind(
        "The process has already completed or been killed.",
        (("check_status", "Use process__monitor to see the final state and exit code."),),
    ),
    "KillFailed": Kind(
        "The OS refused to deliver the signal.",
        (("force_kill", "Retry with signal='SIGKILL'."),),
        retryable=True,
    ),
    "InvalidFilter": Kind(
        "The state_filter value is not one of the valid options.",
        (("use_valid_filter", "Use one of: 'running', 'completed', 'killed', 'timed_out', 'all'."),),
        code=INVALID_PARAMS,
    ),
    "InvalidStream": Kind(
        "The stream value is not one of 'stdout', 'stderr', or 'both'.",
        (("use_valid_stream", "Use one of: 'stdout', 'stderr', 'both'."),),
        code=INVALID_PARAMS,
    ),
    "InvalidInput": Kind(
        "An input is not valid.",
        (("correct_input", "Correct the field that the context names and call again."),),
        code=INVALID_PARAMS,
    ),
    "CapabilityNotFound": Kind(
        "No capability has this name.",
        (("list_capabilities", "Use capabilities__list to see all capabilities."),),
        code=INVALID_PARAMS,
    ),
    "PermissionDenied": Kind(
        "The caller may not do this.",
        (("ask_owner", "Ask the person who started you to do it."),),
        code=DENIED,
    ),
    "ResourceExhausted": Kind(
        "There is no room for another process.",
        (("free_resources", "Wait for running processes to end, or end some with process__kill, and retry."),),
        retryable=True,
        code=RATE_LIMITED,
    ),
    "ServiceUnavailable": Kind(
        "The operation could not be done.",
        (("retry", "Retry the operation; if it fails again, tell the person who started you."),),
        retryable=True,
    ),
}
_OF_FIELD = {"state_filter": "InvalidFilter", "stream": "InvalidStream"}
"""Fields whose wrong values have a type of their own."""


class Failure(BideError):
    """An error of this vocabulary."""

    def __init__(self, kind: str, detail: str, *, retryable: bool | None = None, **context: object) -> None:
        """`detail` says what happened in this case; `context` has the facts, of which long texts are cut."""
        self.kind = kind
        self.retryable = KINDS[kind].retryable if retryable is None else retryable
        self.context = {key: _cut(value) if isinstance(value, str) else value for key, value in context.items()}
        super().__init__(detail=f"{KINDS[kind].sentence} {detail}".rstrip())


def shown(value: str) -> str:
    """A value as a message quotes it, cut to a bounded length."""
    return repr(_cut(value))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def failure_of(error: BideError) -> Failure:
    """Any error of ours as one of this vocabulary."""
    if isinstance(error, Failure):
        return error
    if isinstance(error, JobNotFound):
        return _not_found(error)
    if isinstance(error, BadRequest):
        return _unlimited(error) if isinstance(error, LimitsUnavailable) else _bad_input(error)
    if isinstance(error, NotAllowed):
        return Failure("PermissionDenied", f"{_cut(error.facts['what'])}.", owner=error.facts["owner"])
    return _unavailable(error)


def _not_found(error: JobNotFound) -> Failure:
    id_, what = error.facts["job"], "is none of yours, and none is on record as cleaned up"
    if isinstance(error, JobForgotten):
        what = f"was cleaned up at {error.facts['at']} ({error.facts['why']})"
    return Failure("ProcessNotFound", f"{shown(id_)} {what}.", process_id=id_)


def _bad_input(error: BadRequest) -> Failure:
    if isinstance(error, FolderNotFound):
        field, why = "working_directory", f"there is no working_directory {shown(error.facts['cwd'])}"
    else:
        field, why = error.facts.get("field", ""), str(error)
    facts: Json = {"field": field} if field else {}
    return Failure(_OF_FIELD.get(field, "InvalidInput"), f"{_cut(why[:1].upper() + why[1:])}.", **facts, reason=why)


def _unlimited(error: LimitsUnavailable) -> Failure:
    detail = (
        "The machine cannot enforce the limits of a process, and its owner refuses processes whose limits do not hold: "
        f"{_cut(error.facts['why'])}."
    )
    return Failure("ServiceUnavailable", detail, retryable=False, resource="limits")


_EXHAUSTED: Mapping[type[BideError], tuple[str, str]] = {
    QueueFull: ("queue", "As many processes as may wait for their turn do so already."),
    DiskFull: ("disk", "The disk has no space left for the record of a process."),
    TooManyFiles: ("files", "The server has as many files open as it may."),
    TooManyConnections: ("connections", "The server has as many connections as it takes."),
    TooMuchAtOnce: ("memory", "The server holds as much of unfinished requests as it may."),
}


def _unavailable(error: BideError) -> Failure:
    """An error of the server, without advice that only a person at its terminal could follow."""
    found = _EXHAUSTED.get(type(error))
    if found is not None:
        return Failure("ResourceExhausted", found[1], resource=found[0])
    if isinstance(error, HomeReadOnly):
        detail = "The server cannot record anything: its file system is read-only."
        return Failure("ServiceUnavailable", detail, retryable=False, resource="disk")
    detail = "The server failed; its log has the details."
    return Failure("ServiceUnavailable", detail, code=error.code)


def error_data(failure: Failure) -> Json:
    """An error as data."""
    kind = KINDS[failure.kind]
    return {
        "type": failure.kind,
        "message": str(failure),
        "recovery": [{"action": action, "description": what} for action, what in kind.recovery],
        "retryable": failure.retryable,
        **({} if kind.code is None else {"code": kind.code}),
        "context": failure.context,
    }


def error_text(failure: Failure) -> str:
    """An error as text."""
    steps = [f"- {action}: {what}" for action, what in KINDS[failure.kind].recovery]
    return "\n".join([f"{failure.kind}: {failure}", *steps])


def refuse(error: BideError) -> Answer:
    """A refusal in this vocabulary's shape."""
    failure = failure_of(error)
    return Answer(error_text(failure), {"error": error_data(failure)}, is_error=True)
