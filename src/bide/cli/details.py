"""The page that `bide show` prints for people."""

from bide.cli.sanitize import one_line
from bide.cli.times import local
from bide.model.units import show_duration, show_size
from bide.model.words import ended_how, missing, short_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bide.client.http1 import Json


def details(job: "Json") -> "Iterator[tuple[str, str]]":
    """The lines of the page, as (name, text); what is not so is left out."""
    yield "job", job["id"]
    for name in ("name", "label", "owner", "session"):
        if job[name]:
            yield name, one_line(job[name])
    yield "command", one_line(job["command"])
    yield "folder", one_line(job["cwd"])
    how = [name for name in ("stdin", "pty", "merge") if job[name]] + ([] if job["fence"] else ["no fence"])
    if how:
        yield "with", ", ".join(how)
    yield "status", ended_how(job) if job["phase"] == "ended" else short_status(job)
    yield from _trouble(job)
    yield from _times(job)
    yield from _limits(job)
    yield from _usage(job)
    yield from _output(job)
    for name in ("alive",) if job["alive"] else ("survivors",):
        for process in job[name]:
            yield ("still runs" if name == "alive" else "outlived"), f"{process['pid']} {one_line(process['command'])}"


def _trouble(job: "Json") -> "Iterator[tuple[str, str]]":
    if job["waiting"]:
        yield "asks", f"{one_line(job['waiting']['prompt'] or '')}  (answer: bide send {job['id']} TEXT)"
    if job["stalled"]:
        yield "stalled", "the disk is full; its output waits, nothing is lost yet"
    if job["taken_over"]:
        yield "keeper", f"replaced {job['taken_over']} times"
    lost = missing(job)
    if lost:
        yield "missing", lost


def _times(job: "Json") -> "Iterator[tuple[str, str]]":
    yield "created", local(job["created_at"])
    if job["started_at"]:
        yield "started", f"{local(job['started_at'])}, pid {job['pid']}"
    if job["ended_at"]:
        yield "ended", f"{local(job['ended_at'])}, ran {show_duration(job['duration_ms'] or 0)}"


def _limits(job: "Json") -> "Iterator[tuple[str, str]]":
    limits = job["limits"]
    words = [
        f"{name} {show(limits[key])}{_by(job, name)}"
        for name, key, show in (
            ("timeout", "timeout_ms", show_duration),
            ("idle", "idle_ms", show_duration),
            ("memory", "memory_bytes", show_size),
            ("cpus", "cpus", str),
            ("pids", "pids", str),
            ("output", "output_bytes", show_size),
        )
        if limits.get(key) is not None
    ]
    if words:
        yield "limits", ", ".join(words)


def _by(job: "Json", name: str) -> str:
    backend = job["enforced"].get(name)
    return f" ({backend})" if backend else ""


def _usage(job: "Json") -> "Iterator[tuple[str, str]]":
    usage = job["usage"]
    if usage:
        sampled = ", sampled" if usage["sampled"] else ""
        yield (
            "used",
            f"cpu {show_duration(usage['cpu_ms'])}, memory {show_size(usage['memory_peak_bytes'])} at its peak"
            f"{sampled}, read {show_size(usage['read_bytes'])}, wrote {show_size(usage['written_bytes'])}",
        )


def _output(job: "Json") -> "Iterator[tuple[str, str]]":
    output: Json = job["output"] or {}
    for stream, name in (("out", "stdout"), ("err", "stderr")):
        kept = output.get(stream)
        if kept and kept["size"]:
            dropped = f", the first {show_size(kept['head'])} dropped" if kept["head"] else ""
            yield name, f"{show_size(kept['size'])}{dropped}"
