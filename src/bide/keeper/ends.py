"""From the keeper's end record to the model's End: which facts, and the one sentence that goes with them."""

from __future__ import annotations

import errno
import os
from datetime import timedelta
from typing import Annotated, Any

import msgspec

from bide.keeper import folder
from bide.keeper.folder import Started, instant, read_end
from bide.model import task
from bide.model.job import Job
from bide.model.messages import descendants_from_json
from bide.model.phase import NO_FOLDER, NO_INTERPRETER, End, Ended, Kept, Reason, Usage

_INT32, _INT64 = (1 << 31) - 1, (1 << 63) - 1
LOST_BOTH = "its keeper and the daemon were both gone when it ended, so nobody saw how"
LOST_BOOT = "the machine restarted while it ran"
LOST_START = "the machine restarted before it was seen to start, so nobody knows whether it ran"
LOST_FOLDER = "its folder was removed while it ran"
LOST_RECORD = "the record of its start cannot be read"
LOST_END = (
    f"it ended, and the record of its end cannot be read; what is left of it is '{folder.UNREADABLE_END}' in its folder"
)
LOST_SPEC = "its folder was damaged, or the machine went down, while it was active"

_Count = Annotated[int, msgspec.Meta(ge=0, le=_INT64)]
_Figure = _Count | None


class _Record(msgspec.Struct, frozen=True):
    """The types of what an end record holds, of this version's and of earlier ones."""

    reason: Reason
    code: Annotated[int, msgspec.Meta(ge=-1, le=_INT32)]
    signal: Annotated[int, msgspec.Meta(ge=-1, le=_INT32)]
    by: str
    errno: _Count
    duration_ms: Annotated[int, msgspec.Meta(ge=-_INT64, le=_INT64)]
    started_wall: int
    ended_wall: int
    out_head: _Count
    out_size: _Count
    err_head: _Count
    err_size: _Count
    missing: _Figure
    taken_over: _Count
    pid: _Count
    cpu_ms: _Figure
    peak: _Figure
    read: _Figure
    written: _Figure
    processes: _Figure
    memory_source: str | None = None
    error: str | None = None
    stage: str | None = None
    never_ran: bool | int | None = None
    sampled: bool | int | None = None
    cgroup: bool | int | str | None = None
    escaped: _Count = 0
    left: list[dict[str, int | str | None]] | None = None


def read(job: Job, path: str, *, unfinished: bool = False) -> Ended | None:
    """The end that a folder has on record; `None` if there is none that can be read."""
    record = read_end(path, unfinished=unfinished)
    try:
        if record is not None:
            msgspec.convert(record, _Record)
        if record is not None and record["taken_over"] and folder.is_unheld(path):
            record["missing"] = None
        if record is not None and record["reason"] == Reason.LOST and os.path.exists(f"{path}/{folder.UNREADABLE_END}"):
            record["error"] = record.get("error") or LOST_END
        return None if record is None else ended(job, record)
    except (KeyError, ValueError, TypeError, AttributeError, ArithmeticError):
        return None


def ended(job: Job, record: dict[str, Any]) -> Ended:
    """The end of a job from its record."""
    reason = Reason(record["reason"])
    code: int | None = record["code"] if record["code"] >= 0 else None
    never_ran = reason is Reason.SPAWN_FAILED or bool(record.get("never_ran"))
    if never_ran or (code == 0 and reason is not Reason.EXITED):
        code = None
    end = End(
        reason=reason,
        exit_code=code,
        signal=record["signal"] if record["signal"] >= 0 else None,
        by=_text(record["by"]),
        error=record.get("error") or _sentence(job, reason, record),
        errno=record["errno"],
        duration=timedelta(milliseconds=max(record["duration_ms"], 0)),
        usage=usage(record),
        out=Kept(record["out_head"], record["out_size"]),
        err=Kept(record["err_head"], record["err_size"]),
        missing_bytes=record["missing"],
        taken_over=record["taken_over"],
        escaped=escaped(record),
        survivors=descendants_from_json(record.get("left")),
    )
    if job.spec.kind == task.NAME:
        end = task.end_of(end)
    started_at = None if never_ran else instant(record["started_wall"])
    return Ended(ended_at=instant(record["ended_wall"]), end=end, started_at=started_at, pid=record["pid"] or None)


def _text(written: str) -> str:
    """What the keeper wrote, which escapes bytes and not characters, and may have cut the last one."""
    return written.encode("latin-1", "ignore").decode("utf-8", "ignore")


_ESCAPED = {"memory": 1, "cpu": 2, "pids": 4}


def escaped(record: dict[str, Any]) -> tuple[str, ...]:
    """The limits whose control group a process of the job has left, from the keeper's page or its end record."""
    bits = int(record.get("escaped", 0))
    return tuple(name for name, bit in _ESCAPED.items() if bits & bit)


def usage(record: dict[str, Any], *, live: bool = False) -> Usage:
    """Return what the tree used, from the record of an end or from `live`."""
    partial = live or record.get("reason") == Reason.LOST or bool(record["taken_over"])
    source = record.get("memory_source")
    if source is None:  # an earlier version wrote it, with zeros where nothing was measured
        if (live or record.get("reason") == Reason.LOST) and not record.get("sampled"):
            return Usage(sampled=partial)
        source = "cgroup" if record.get("cgroup") else "sampled" if record.get("sampled") else "maxrss"
    return Usage(
        cpu_ms=record["cpu_ms"],
        memory_peak_bytes=record["peak"],
        memory_source=source,
        read_bytes=record["read"],
        written_bytes=record["written"],
        sampled=partial,
        processes=record["processes"] if live else 0,
    )


_FIGURES = ("cpu_ms", "peak", "read", "written")


def record_of(
    reason: Reason,
    *,
    error: str,
    now_ms: int,
    started: Started | None = None,
    code: int = 0,
    by: str = "",
    live: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the end record that the daemon writes because no keeper can; the usage is that of the last sample in `live`."""
    sampled = live if live and live.get("sampled") else {}
    began = now_ms if started is None else int(started.at.timestamp() * 1000)
    return {
        "v": 1,
        "reason": str(reason),
        "code": -1,
        "signal": -1,
        "errno": code,
        "by": by.encode().decode("latin-1"),
        "never_ran": reason is Reason.KILLED,
        "error": error,
        "started_wall": began,
        "ended_wall": now_ms,
        "duration_ms": 0,
        "missing": None if reason is Reason.LOST else 0,
        "pid": 0 if started is None else started.pid,
        **dict.fromkeys(("out_head", "out_size", "err_head", "err_size"), 0),
        **{key: sampled.get(key) for key in _FIGURES},
        "memory_source": sampled.get("memory_source", ""),
        **dict.fromkeys(("processes", "sampled", "taken_over"), 0),
    }


def _sentence(job: Job, reason: Reason, record: dict[str, Any]) -> str:
    if reason is Reason.EXITED:
        return ""
    limits, how = job.spec.limits, dict(job.spec.enforced).get("memory", "")
    if "memory" in escaped(record):
        how = "sampled, since a process left its control group"
    timeout, idle = limits.timeout or timedelta(0), limits.idle or timedelta(0)
    sentences = {
        Reason.SPAWN_FAILED: lambda: _spawn_sentence(job, record),
        Reason.LOST: lambda: LOST_BOTH,
        Reason.OOM: lambda: f"it went over its memory limit of {limits.memory_bytes} bytes ({how})",
        Reason.TIMED_OUT: lambda: f"it ran longer than {timeout.total_seconds():g} s",
        Reason.IDLE: lambda: f"it wrote nothing for {idle.total_seconds():g} s",
        Reason.OVERFLOW: lambda: f"it wrote more than {limits.output_bytes} bytes",
    }
    return sentences.get(reason, str)()


_REMEDIES = {
    errno.EACCES: "; it must be a program, or a script that may be executed (chmod +x)",
    errno.ENOEXEC: "; it must be a program for this machine, or begin with #! and the program that runs it",
    errno.E2BIG: "; give what is large in a file or by stdin",
}


_NAME_MAX = 200
"""Characters of a program's name in a sentence: an argv may have 140,000."""


def _spawn_sentence(job: Job, record: dict[str, Any]) -> str:
    code, stage = record["errno"], record.get("stage", "")
    why = os.strerror(code)
    if stage == "cwd":
        return f"{NO_FOLDER} {job.spec.cwd!r}: {why}"
    name = job.spec.argv[0]
    program = repr(name if len(name) <= _NAME_MAX else f"{name[: _NAME_MAX - 1]}…")
    if stage == "interpreter":
        return f"{program} {NO_INTERPRETER}; correct its first line (#!), or install what it names"
    return _exec_sentence(program, code) if stage == "exec" else f"could not be started ({stage}): {why}"


def _exec_sentence(program: str, code: int) -> str:
    if code == errno.ENOENT and " " in program:
        return f"no program is named {program}; shell code is given with -c (in Python: as one string)"
    if code == errno.ENOENT:
        return f"no command {program} was found; check the spelling and PATH"
    return f"could not execute {program}: {os.strerror(code)}{_REMEDIES.get(code, '')}"
