"""What is so of a job, in words: never success unless it succeeded."""

from bide.model.units import show_duration, show_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

_SHORT = {
    "killed": "killed",
    "timed_out": "timed out",
    "idle": "idle",
    "overflow": "overflow",
    "oom": "out of memory",
    "spawn_failed": "not started",
    "lost": "lost",
}


STALLED = "the disk is full; its output waits, nothing is lost yet"


def signal_name(number: int | None) -> str:
    """`SIGTERM` for 15; the number itself where it has no name."""
    import signal  # noqa: PLC0415 - only jobs that met a signal pay for it

    try:
        return signal.Signals(number or 0).name
    except ValueError:
        return f"signal {number}"


def signal_of(text: str) -> int | None:
    """The number of a signal given as `TERM`, `SIGTERM` or `15`; `None` if there is none of this name."""
    import signal  # noqa: PLC0415 - likewise

    if text.isdecimal() and len(text) < 3 and int(text) in signal.valid_signals():
        return int(text)
    name = text.upper()
    found = signal.Signals.__members__.get(name if name.startswith("SIG") else f"SIG{name}")
    return None if found is None else int(found)


def short_status(job: "Json") -> str:
    """One or two words: `running`, `waiting`, `stalled`, `ready`, `exit 3`, `SIGSEGV`, `timed out`."""
    if job["phase"] != "ended":
        return _status_of_active(job)
    reason = str(job["reason"])
    if reason == "exited":
        return f"exit {job['exit_code']}"
    if reason == "signaled":
        return signal_name(job["signal"])
    return _SHORT.get(reason, reason)


def _status_of_active(job: "Json") -> str:
    if job["phase"] == "running" and job.get("ready") is not None and not (job.get("waiting") or job.get("stalled")):
        return "ready" if job["ready"] else "not ready"
    states = ("paused", "stalled", "waiting")
    return next((state for state in states if job.get(state)), str(job["phase"]))


def succeeded(job: "Json") -> bool:
    """Whether it ended, by itself, with 0."""
    return job["phase"] == "ended" and job["reason"] == "exited" and job["exit_code"] == 0


def called(job: "Json") -> str:
    """The id, with the name beside it if there is one."""
    return f"{job['id']} ({job['name']})" if job.get("name") else str(job["id"])


def ended_how(job: "Json") -> str:
    """The end of a job as what follows `job j…`: `timed out after 10.0s`, `was killed by user`, `is lost: …`."""
    reason = str(job["reason"])
    limits: Json = job.get("limits") or {}
    if reason == "exited":
        return f"exited with {job['exit_code']}"
    if reason == "signaled":
        return f"was ended by {signal_name(job['signal'])}"
    if reason == "killed":
        why = job.get("error")
        return f"never started: {why}" if why else f"was killed by {job.get('by') or 'user'}"
    if reason == "timed_out":
        return f"timed out after {_limit(limits.get('timeout_ms'), job)}"
    return _ended_by_limit(job, reason, limits)


def _ended_by_limit(job: "Json", reason: str, limits: "Json") -> str:
    if reason == "idle":
        return f"was ended after {_limit(limits.get('idle_ms'), job)} without output"
    if reason == "overflow":
        return f"was ended because it wrote more than {show_size(limits.get('output_bytes') or 0)}"
    if reason == "oom":
        limit = limits.get("memory_bytes")
        return f"ran out of memory (limit {show_size(limit)})" if limit else "ran out of memory"
    if reason in ("spawn_failed", "lost"):
        error = job.get("error") or "no reason is known"
        return f"could not start: {error}" if reason == "spawn_failed" else f"is lost: {error}"
    return f"ended: {reason}"


def _limit(ms: int | None, job: "Json") -> str:
    return show_duration(ms if ms is not None else job.get("duration_ms") or 0)


def asked(question: "Json") -> str:
    """A question in one line, with what can be answered."""
    choices = "yes/no" if question["type"] == "boolean" else "/".join(question["options"])
    default = {True: "yes", False: "no"}.get(question["default"], question["default"])
    text = " ".join(str(question["text"]).split())
    return text + (f" [{choices}]" if choices else "") + (f" (default {default})" if default else "")


def how_to_answer(job: "Json") -> str:
    """The command that answers a job that waits."""
    question: Json | None = job["waiting"].get("question")
    if question is None or question["typed_at"] is not None:
        return f"bide send {job['id']} TEXT"
    return f"bide answer {question['id']}" + ("" if question["secret"] else " VALUE")


def listens_on(job: "Json") -> str:
    """The ports of a job, as `8000, [::]:9000`; an address is named unless it is this machine's own."""
    own = ("127.0.0.1", "::1")
    shown = [
        str(port["port"]) if port["address"] in own else f"{_bracketed(port['address'])}:{port['port']}"
        for port in job.get("ports") or ()
    ]
    return ", ".join(dict.fromkeys(shown))


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def outlived(job: "Json") -> str | None:
    """Return a sentence that names what still runs of a job that bide ended; `None` if nothing does."""
    if job["phase"] != "ended" or job["reason"] in ("exited", "signaled") or not job["alive"]:
        return None
    return f"not everything of it ended: {processes(job['alive'])}"


def processes(left: "list[Json]") -> str:
    """Name processes by pid and command, as `12 (sleep), 13 (sh)`."""
    from bide.model.sanitize import one_line  # noqa: PLC0415 - only survivors pay for it

    return ", ".join(f"{process['pid']} ({one_line(process['command'])})" for process in left)


def missing(job: "Json") -> str | None:
    """Return a sentence on bytes that the job wrote and that could not be kept, or may not have been."""
    count = job.get("missing_bytes", 0)
    if count is None:
        return "the end of its output may be missing: nobody held its pipes when it ended"
    return f"{show_size(count)} of its output could not be kept (disk full)" if count else None
