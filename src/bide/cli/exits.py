"""Exit statuses: one table from an error's code to a status, and the error of a wrong command line."""

from bide.model.errors import BideError

USAGE = 2
NOT_RUNNING = 3
UNWRITABLE = 74
TIMED_OUT = 75
INTERRUPTED = 130
BROKEN_PIPE = 141

STATUS_OF_CODE = {
    "usage": USAGE,
    "bad_request": USAGE,
    "folder_not_found": USAGE,
    "approval_denied": USAGE,
    "bad_project": USAGE,
    "job_not_found": 97,
    "job_forgotten": 97,
    "not_allowed": 98,
    "session_not_found": 97,
    "conversation_not_found": 97,
    "question_not_found": 97,
    "question_closed": 98,
    "queue_full": 98,
    "limits_unavailable": 98,
    "cli_resting": 98,
    "name_in_use": 98,
    "job_queued": 98,
    "port_in_use": 98,
    "job_active": 98,
    "job_ended": 98,
    "no_stdin": 98,
    "home_busy": 98,
    "daemon_unavailable": 99,
    "home_unusable": 99,
    "bad_settings": 99,
    "database_in_use": 99,
    "database_newer": 99,
    "disk_full": 99,
    "home_read_only": 99,
    "too_many_files": 99,
    "too_many_connections": 99,
    "too_much_at_once": 99,
    "internal_error": 99,
}
"""What a command exits with when it fails with an error of this code."""


class Usage(BideError):
    """The command line cannot be meant."""

    code = "usage"
    sentence = "{detail}"


def status_of(error: BideError) -> int:
    """The exit status for an error."""
    return STATUS_OF_CODE.get(error.code, 99)
