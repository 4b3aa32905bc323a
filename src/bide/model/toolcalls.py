"""The exact call of an MCP tool that reads, waits for or ends jobs, for a client that has only some of the toolsets."""

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_ORDER = ("core", "job", "sessions", "process", "llm")


def names(text: str) -> "list[str]":
    """Return the toolsets that are named with commas between."""
    found = text.split(",")
    return [*_ORDER, "handles"] if "all" in found else found


def rest(toolsets: "Sequence[str]", job: str) -> str:
    """Return the call that reads what a job wrote; empty if these toolsets have none."""
    return _first(toolsets, job, _RESTS)


def wait(toolsets: "Sequence[str]", jobs: "Sequence[str]") -> "list[str]":
    """Return the calls that wait for these jobs: one where a tool takes several, else one for each."""
    return _calls(toolsets, jobs, _WAITS, _WAIT_ALL)


def abort(toolsets: "Sequence[str]", jobs: "Sequence[str]") -> "list[str]":
    """Return the calls that end these jobs."""
    return _calls(toolsets, jobs, _ABORTS, _ABORT_ALL)


def _calls(
    toolsets: "Sequence[str]",
    jobs: "Sequence[str]",
    one: "dict[str, Callable[[str], str]]",
    several: "dict[str, Callable[[Sequence[str]], str]]",
) -> "list[str]":
    together = next(
        (several[name] for name in ("core", "handles", "job") if name in toolsets and name in several), None
    )
    if together is not None:
        return [together(jobs)]
    return [said for job in jobs if (said := _first(toolsets, job, one))]


def _first(toolsets: "Sequence[str]", job: str, calls: "dict[str, Callable[[str], str]]") -> str:
    in_session = job.startswith("job-")
    for name in sorted(_ORDER, key=lambda name: in_session and name != "sessions"):
        if name in toolsets and name in calls:
            return calls[name](job)
    return ""


def _call(tool: str, **arguments: "Any") -> str:
    return f"{tool} {json.dumps(arguments)}"


def _in_session(job: str) -> "dict[str, str]":
    """Return the arguments that name a job: its session is a part of its id."""
    if not job.startswith("job-"):
        return {"jobId": job}
    return {"sessionId": job[4:].rpartition("-")[0], "jobId": job}


_RESTS: "dict[str, Callable[[str], str]]" = {
    "core": lambda job: _call("logs", job=job),
    "job": lambda job: _call("job", poll=[job]),
    "sessions": lambda job: _call("getJobOutput", **_in_session(job)),
    "process": lambda job: _call("process__logs", process_id=job),
    "llm": lambda job: _call("llm_job_result", jobId=job),
}
_WAITS: "dict[str, Callable[[str], str]]" = {
    "sessions": lambda job: _call("waitJob", **_in_session(job)),
    "process": lambda job: _call("process__monitor", process_id=job, wait=True),
    "llm": lambda job: _call("llm_job_watch", jobId=job),
}
_WAIT_ALL: "dict[str, Callable[[Sequence[str]], str]]" = {
    "core": lambda jobs: _call("await", jobs=list(jobs)),
    "handles": lambda jobs: _call("await", all=list(jobs)),
    "job": lambda jobs: _call("job", poll=list(jobs)),
}
_ABORTS: "dict[str, Callable[[str], str]]" = {
    "sessions": lambda job: _call("killJob", **_in_session(job)),
    "process": lambda job: _call("process__kill", process_id=job),
    "llm": lambda job: _call("llm_job_cancel", jobId=job),
}
_ABORT_ALL: "dict[str, Callable[[Sequence[str]], str]]" = {
    "core": lambda jobs: _call("kill", jobs=list(jobs)),
    "job": lambda jobs: _call("job", cancel=list(jobs)),
}
