"""Whether what is on record after a power cut can be true."""

from collections.abc import Iterator

from tests.vm.asks import Ask, Json

SAME = (
    "reason",
    "exit_code",
    "signal",
    "status",
    "by",
    "ended_at",
    "started_at",
    "duration_ms",
    "missing_bytes",
    "output",
)
"""What an end that was reported says for ever."""


def faults(ask: Ask, job: Json | None, out: bytes, err: bytes) -> Iterator[str]:
    """Yield a sentence for everything on record that contradicts what was asked and answered."""
    if job is None:
        if ask.id is not None:
            yield f"{ask.id} was given out and is not known"
        return
    if ask.id is not None and job["id"] != ask.id:
        yield f"{ask.id} was given out and is now {job['id']}"
    if (job["command"], job["key"]) != (ask.script, ask.key):
        yield "is not what was asked for"
    yield from _of_output(ask, out, err)
    if job["phase"] == "ended":
        yield from _of_end(ask, job, out, err)
    elif job["phase"] == "running" and ask.kind not in ("queued", "keyed"):
        yield "runs, on a machine that was restarted"
    if ask.end is not None:
        yield from _of_report(ask.end, job, out, err)


def _of_output(ask: Ask, out: bytes, err: bytes) -> Iterator[str]:
    for name, got, whole in (("out", out, ask.out), ("err", err, ask.err)):
        if not whole.startswith(got):
            yield f"{name} has bytes that were never written: {_difference(got, whole)}"


def _of_end(ask: Ask, job: Json, out: bytes, err: bytes) -> Iterator[str]:
    reason = job["reason"]
    if reason == "exited":
        if job["exit_code"] != ask.code:
            yield f"exited with {job['exit_code']}; it exits with {ask.code}"
        if job["missing_bytes"] == 0 and (out, err) != (ask.out, ask.err):
            yield f"passes as complete with {len(out)} of {len(ask.out)} bytes of out, {len(err)} of {len(ask.err)} of err"
    elif reason == "lost":
        if job["exit_code"] is not None or job["status"] != 255:
            yield f"is lost, with exit code {job['exit_code']} and status {job['status']}"
    elif not (reason == "killed" and ask.killed) and not (reason == "timed_out" and ask.kind == "timed"):
        yield f"ended as {reason} by {job['by']!r}, which nothing did ({job['error']})"


def _of_report(reported: Json, job: Json, out: bytes, err: bytes) -> Iterator[str]:
    for name in SAME:
        if job[name] != reported[name]:
            yield f"{name} was reported as {reported[name]!r} and is now {job[name]!r}"
    sizes = (reported["output"]["out"]["size"], reported["output"]["err"]["size"])
    if (len(out), len(err)) != sizes:
        yield f"of the output of {sizes[0]} and {sizes[1]} bytes that was reported, {len(out)} and {len(err)} are there"


def _difference(got: bytes, whole: bytes) -> str:
    at = next(
        (number for number, pair in enumerate(zip(got, whole, strict=False)) if pair[0] != pair[1]),
        min(len(got), len(whole)),
    )
    return f"at {at} {got[at : at + 40]!r}"
