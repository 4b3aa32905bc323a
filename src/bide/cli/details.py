"""The page that `bide show` prints for people."""

from bide.cli.times import local
from bide.model.sanitize import one_line
from bide.model.units import show_duration, show_size
from bide.model.words import STALLED, asked, ended_how, how_to_answer, missing, short_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bide.client.http1 import Json


def details(job: "Json") -> "Iterator[tuple[str, str]]":
    """The lines of the page, as (name, text); what is not so is left out."""
    yield "job", job["id"]
    for name in ("name", "label", "owner", "session", "parent"):
        if job[name]:
            yield name, one_line(job[name])
    if job["kind"] != "shell":
        yield "kind", job["kind"]
    yield "command", one_line(job["command"])
    yield "folder", one_line(job["cwd"])
    how = [name for name in ("stdin", "pty", "merge") if job[name]] + ([] if job["fence"] else ["no fence"])
    if how:
        yield "with", ", ".join(how)
    yield from _lives(job)
    yield "status", ended_how(job) if job["phase"] == "ended" else short_status(job)
    yield from _queue(job)
    yield from _service(job)
    yield from _trouble(job)
    yield from _times(job)
    yield from _limits(job)
    yield from _usage(job)
    yield from _output(job)
    name, processes = ("alive", job["alive"]) if job["alive"] else ("outlived", job["survivors"])
    for process in processes:
        yield name, f"{process['pid']} {one_line(process['command'])}"


def _lives(job: "Json") -> "Iterator[tuple[str, str]]":
    if job["lifetime"] != "free":
        yield "lives", f"with its {job['lifetime']}"
    if job["ttl_ms"]:
        yield "lives", f"at most {show_duration(job['ttl_ms'])} from when it was asked for"


def _queue(job: "Json") -> "Iterator[tuple[str, str]]":
    queue: Json | None = job.get("queue")
    turn: Json = job.get("turn") or {}
    if queue:
        place = f"  (place {queue['place']})" if queue["place"] else ""
        yield "waits", f"{queue['why']}{place}"
    if turn.get("group"):
        yield "group", turn["group"]
    if turn.get("priority"):
        yield "priority", str(turn["priority"])
    if turn.get("after"):
        yield "after", f"{', '.join(turn['after'])} ({'any end' if turn['after_any'] else 'success'})"
    if turn.get("at"):
        yield "at", local(turn["at"])


def children(page: "Json") -> "Iterator[tuple[str, str]]":
    """A line for each job that was started from it, newest first."""
    for job in page["jobs"]:
        yield "child", f"{job['id']} {short_status(job)}: {one_line(job['command'])}"
    if page["next"]:
        yield "child", f"and older ones; see them with: bide ls --all --parent {page['jobs'][0]['parent']}"


def _service(job: "Json") -> "Iterator[tuple[str, str]]":
    for port in job.get("ports") or ():
        address = f"[{port['address']}]" if ":" in port["address"] else port["address"]
        yield "listens", f"{address}:{port['port']}, pid {port['pid']}"
    service = job.get("service")
    if not service:
        return
    if job.get("ready_at"):
        yield "ready", local(job["ready_at"])
    yield "restart", f"{service['restart']}, at most {service['restarts']} times in a row"
    if service["run"]:
        yield "run", f"number {service['run'] + 1}"
    if job.get("successor"):
        yield "then", f"started again as {job['successor']}"
    if job.get("gave_up"):
        yield "given up", one_line(job["gave_up"])


def _trouble(job: "Json") -> "Iterator[tuple[str, str]]":
    if job["waiting"]:
        question: Json | None = job["waiting"].get("question")
        text = job["waiting"]["prompt"] or "" if question is None else asked(question)
        yield "may ask" if job["waiting"].get("unsure") else "asks", f"{one_line(text)}  (answer: {how_to_answer(job)})"
    if job["stalled"]:
        yield "stalled", STALLED
    if job["taken_over"]:
        count = job["taken_over"]
        yield "keeper", f"replaced {'once' if count == 1 else f'{count} times'}"
    if job["escaped"]:
        yield "escaped", f"a process left the job's control group: {_after_escape(job)}"
    lost = missing(job)
    if lost:
        yield "missing", lost


def _after_escape(job: "Json") -> str:
    since = {"sampled": "sampled since", "none": "not limited since"}
    return ", ".join(f"{name} is {since.get(job['enforced'].get(name), '')}" for name in job["escaped"])


def _times(job: "Json") -> "Iterator[tuple[str, str]]":
    yield "created", local(job["created_at"])
    if job["started_at"]:
        yield "started", f"{local(job['started_at'])}, pid {job['pid']}"
    if job["ended_at"]:
        ran = "or before" if job["reason"] == "lost" else f"ran {show_duration(job['duration_ms'] or 0)}"
        yield "ended", f"{local(job['ended_at'])}, {ran}"


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
    backend = job["enforced"].get("cpu" if name == "cpus" else name)
    return f" ({'not enforced here' if backend == 'none' else backend})" if backend else ""


def _usage(job: "Json") -> "Iterator[tuple[str, str]]":
    usage = job["usage"]
    if not usage:
        return
    if usage["cpu_ms"] is None:
        yield "used", "unknown" if job["phase"] == "ended" else "not sampled yet"
        return
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
            if job["output_dropped_at"]:
                dropped = f", dropped {local(job['output_dropped_at'])} to make room"
            yield name, f"{show_size(kept['size'])}{dropped}"
