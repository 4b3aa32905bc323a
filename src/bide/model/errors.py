"""Everything that can be wrong with a request, as one tree.

    BideError
    ├── BadRequest            bad_request          an argument that cannot be meant
    │   ├── ApprovalDenied    approval_denied      the gate refuses a request to an LLM
    │   ├── LimitsUnavailable limits_unavailable   the home wants limits that hold, and here they would not
    │   ├── FolderNotFound    folder_not_found     the cwd is not there
    │   ├── BadSettings       bad_settings         the home's config.toml says what cannot be meant
    │   ├── BadProject        bad_project          a project's bide.toml says what cannot be meant
    │   └── HomeUnusable      home_unusable        the home cannot be written or is not ours
    ├── JobNotFound           job_not_found        no such id or name, now or ever
    │   └── JobForgotten      job_forgotten        it was here, and was forgotten
    ├── NotAllowed            not_allowed          it is another owner's, and a job asks for it
    ├── SessionNotFound       session_not_found    no such session, or it has ended
    ├── ConversationNotFound  conversation_not_found  no such conversation of this owner
    ├── QuestionNotFound      question_not_found   no such question, and no open one of such a job
    ├── QuestionClosed        question_closed      somebody else was first, or it is asked no longer
    ├── QueueFull             queue_full           no more jobs can wait for their turn
    ├── CliResting            cli_resting          an LLM's command line failed too often in a row
    ├── NameInUse             name_in_use          an active job of this owner has the name
    ├── JobQueued             job_queued           not possible before it runs
    ├── PortInUse             port_in_use          another process listens on a service's port
    ├── JobActive             job_active           not possible before its end
    ├── JobEnded              job_ended            not possible after its end
    ├── NoStdin               no_stdin             it was started without a stdin to write to
    ├── HomeBusy              home_busy            another runtime serves this home
    ├── DatabaseInUse         database_in_use      another program holds it open
    ├── DatabaseNewer         database_newer       written by a newer bide
    ├── DiskFull              disk_full            nothing could be written
    ├── HomeReadOnly          home_read_only       the home is on a file system that cannot be written
    ├── TooManyFiles          too_many_files       no file descriptor is left
    ├── TooManyConnections    too_many_connections a door has as many connections as it takes
    ├── TooMuchAtOnce         too_much_at_once     a door holds as much of unfinished requests as it may
    ├── DaemonUnavailable     daemon_unavailable   no daemon answers and none could be started
    └── InternalError         internal_error       a fault of ours; the daemon's log has it

What happens to a *job* (exit 1, a timeout, a kill) is never one of these: it is the job's end.
A code is stable: it is what JSON and HTTP carry, and each door has a table from it.
"""

import errno

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class BideError(Exception):
    """The base: a stable code, the facts, and one sentence made of them."""

    code = "internal_error"
    sentence = "{detail}"

    def __init__(self, **facts: str) -> None:
        """Keep the facts and say them."""
        self.facts = facts
        super().__init__(self.sentence.format(**facts))

    def to_json(self) -> "dict[str, object]":
        """What a door carries: code, message and facts."""
        return {"code": self.code, "message": str(self), "facts": dict(self.facts)}


class BadRequest(BideError):
    """An argument that cannot be meant."""

    code = "bad_request"


class ApprovalDenied(BadRequest):
    """The gate refuses to let a request act without asking."""

    code = "approval_denied"
    sentence = (
        "{operation} denied by MCP-managed approval policy: score {score} is too much for {policy} ({reasons}); "
        "ask for less, or with another approvalPolicy"
    )


class FolderNotFound(BadRequest):
    """The job's working folder does not exist."""

    code = "folder_not_found"
    sentence = "no folder {cwd!r} to run in; create it or give another cwd"


class BadSettings(BadRequest):
    """The home's settings cannot be used."""

    code = "bad_settings"
    sentence = "cannot use the settings in {path}: {detail}; correct or remove it there and try again"


class BadProject(BadRequest):
    """A project's bide.toml cannot be used."""

    code = "bad_project"
    sentence = "{path}, line {line}: {detail}"


class HomeUnusable(BadRequest):
    """The home folder cannot be used."""

    code = "home_unusable"
    sentence = "cannot use {home!r} as bide's home: {detail}; make it writable or set BIDE_HOME to another folder"


class JobNotFound(BideError):
    """Neither an id nor a name that is known."""

    code = "job_not_found"
    sentence = "no job {job!r} here, and none is on record as forgotten; list jobs to see which exist"


class JobForgotten(JobNotFound):
    """The job existed and was forgotten."""

    code = "job_forgotten"
    sentence = "job {job!r} was forgotten at {at} ({why}); its record and output are gone"


class NotAllowed(BideError):
    """A process within a job asks for what is not its owner's."""

    code = "not_allowed"
    sentence = (
        "{what}; this comes from within job {job} of owner {owner!r}, and a job acts for its own owner alone: "
        "do it from a terminal that no job has started"
    )


class SessionNotFound(BideError):
    """No session of this id is open."""

    code = "session_not_found"
    sentence = "no session {session!r} is open{since}; list sessions to see which are, or start one"

    def __init__(self, **facts: str) -> None:
        """`since`, if it is known, says that it was and when it ended: ` (it ended at …)`."""
        super().__init__(**{"since": "", **facts})
        self.facts = facts


class ConversationNotFound(BideError):
    """No conversation of this id is on record for the owner."""

    code = "conversation_not_found"
    sentence = (
        "no session {conversation!r} is on record here; list them to see which are, or leave it out for a new one"
    )


class QuestionNotFound(BideError):
    """Neither a question's id nor a job that asks something."""

    code = "question_not_found"
    sentence = "no question {question!r} is open here; list questions to see which are"


class QuestionClosed(BideError):
    """It waits for no answer any more."""

    code = "question_closed"
    sentence = "question {question} is closed: {how}; nothing more can be said to it"


class QueueFull(BideError):
    """The queue is as long as it may be."""

    code = "queue_full"
    sentence = "{waiting} jobs wait for their turn already, which is the limit; wait for some to end, or kill some"


class LimitsUnavailable(BadRequest):
    """The home's settings want limits that are enforced, and a limit of this job would not be."""

    code = "limits_unavailable"
    sentence = (
        "{limits} cannot be enforced here ({why}), and the setting limits.required refuses such jobs; {advice}, "
        "or leave the limit out"
    )


class CliResting(BideError):
    """An LLM's command line failed too often in a row and is not asked for a while."""

    code = "cli_resting"
    sentence = (
        "{cli} failed {failures} times in a row and is not asked for another {seconds} s (last: {error}); "
        "ask again then, or ask another CLI"
    )


class NameInUse(BideError):
    """An active job of the same owner has this name."""

    code = "name_in_use"
    sentence = "the name {name!r} belongs to active job {job}; wait for it, kill it, or choose another name"


class JobQueued(BideError):
    """Only possible once the job runs."""

    code = "job_queued"
    sentence = "job {job} has not started, so there is no process to {what}; wait for its turn, or kill it"


class PortInUse(BideError):
    """Another process listens on the port of a service that is to be started."""

    code = "port_in_use"
    sentence = "port {port} is held by {holder}; stop that first, or use another port"


class JobActive(BideError):
    """Only possible once the job has ended."""

    code = "job_active"
    sentence = "job {job} has not ended; kill it or wait for it first"


class JobEnded(BideError):
    """Only possible while the job is active."""

    code = "job_ended"
    sentence = "job {job} has ended ({reason}); nothing can be sent to it"


class NoStdin(BideError):
    """The job was started without a stdin."""

    code = "no_stdin"
    sentence = "job {job} has no open stdin ({detail}); start it with stdin or a pty to send it text"


class HomeBusy(BideError):
    """Another process serves this home."""

    code = "home_busy"
    sentence = "home {home!r} is served by process {pid}; use bide.connect() or stop it with 'bide daemon stop'"


class DatabaseInUse(BideError):
    """Another program has the database open."""

    code = "database_in_use"
    sentence = "{holder} has {path} open, and only one program at a time can use it; close it there, then try again"


class DatabaseNewer(BideError):
    """The database was written by a newer bide."""

    code = "database_newer"
    sentence = (
        "{path} has schema {found}, and this bide knows up to {known}; upgrade bide, or set BIDE_HOME to another folder"
    )


class DiskFull(BideError):
    """The disk has no room for a job."""

    code = "disk_full"
    sentence = "no space left to record a job in {home!r}; free some (bide forget removes ended jobs) and try again"


class TooManyConnections(BideError):
    """A door has as many connections as it takes, and all of them are busy."""

    code = "too_many_connections"
    sentence = "{door} has as many busy connections as it takes ({most} at most); close some, or try again later"


class TooMuchAtOnce(BideError):
    """A door holds as much of large requests that are unfinished, or wait for their turn, as it may."""

    code = "too_much_at_once"
    sentence = (
        "the daemon holds {most_mib} MiB of large requests that are unfinished, the most there may be; send it again"
    )


class HomeReadOnly(BideError):
    """The file system of the home is mounted read-only."""

    code = "home_read_only"
    sentence = (
        "the file system of {home!r} is read-only, so nothing can be recorded there; make it writable, "
        "or copy the home to another folder and set BIDE_HOME to that"
    )


class TooManyFiles(BideError):
    """The process, or the machine, has as many files open as it may."""

    code = "too_many_files"
    sentence = (
        "the daemon of {home!r} has as many files open as it may; wait for jobs to end, "
        "or raise the limit (ulimit -n) and run: bide daemon restart"
    )


class DaemonUnavailable(BideError):
    """No daemon answers and none could be started."""

    code = "daemon_unavailable"
    sentence = "the daemon of {home!r} does not answer: {detail}; see 'bide daemon logs' and 'bide doctor'"


class InternalError(BideError):
    """A fault of bide itself."""

    code = "internal_error"
    sentence = "bide failed: {detail}; 'bide daemon logs' has the details"


ERRORS: "dict[str, type[BideError]]" = {
    error.code: error
    for error in (
        BadRequest,
        ApprovalDenied,
        FolderNotFound,
        BadSettings,
        BadProject,
        HomeUnusable,
        JobNotFound,
        JobForgotten,
        NotAllowed,
        SessionNotFound,
        ConversationNotFound,
        QuestionNotFound,
        QuestionClosed,
        QueueFull,
        LimitsUnavailable,
        CliResting,
        NameInUse,
        JobQueued,
        PortInUse,
        JobActive,
        JobEnded,
        NoStdin,
        HomeBusy,
        DatabaseInUse,
        DatabaseNewer,
        DiskFull,
        HomeReadOnly,
        TooManyFiles,
        TooManyConnections,
        TooMuchAtOnce,
        DaemonUnavailable,
        InternalError,
    )
}


_OF_ERRNO: "dict[int, type[BideError]]" = {
    errno.ENOSPC: DiskFull,
    errno.EDQUOT: DiskFull,
    errno.EROFS: HomeReadOnly,
    errno.EMFILE: TooManyFiles,
    errno.ENFILE: TooManyFiles,
}


def of_os_error(error: OSError, home: str) -> BideError | None:
    """What an error of the system means for a home; None if it may mean anything."""
    found = _OF_ERRNO.get(error.errno or 0)
    return None if found is None else found(home=home)


def from_json(body: "Mapping[str, Any]") -> BideError:
    """The error a door received, as its class; an unknown code becomes InternalError."""
    given: dict[str, object] = body.get("facts") or {}
    facts = {key: str(value) for key, value in given.items()}
    cls = ERRORS.get(str(body.get("code")))
    if cls is not None:
        try:
            return cls(**facts)
        except KeyError:
            pass
    return InternalError(detail=str(body.get("message", "an answer without a message")))
