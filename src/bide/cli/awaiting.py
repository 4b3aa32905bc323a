"""Services that start: each is waited for, also over restarts, until it is ready, has failed, or its time is up."""

import os
import time

from bide.cli.projects import newest
from bide.cli.terminal import complain
from bide.cli.wait import wait
from bide.client.http1 import quote
from bide.model.sanitize import one_line
from bide.model.units import show_duration
from bide.model.words import ended_how

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bide.client.blocking import Link
    from bide.client.http1 import Json

_TAIL = 10


def until_ready(link: "Link", job: "Json", *, quiet: bool) -> "Json":
    """The job of this service that is ready, or the last one, once that is known. `quiet` shows nothing meanwhile."""
    deadline = time.monotonic() + job["service"]["ready_timeout_ms"] / 1000
    while True:
        left = max(0, round((deadline - time.monotonic()) * 1000))
        progress = None
        if os.isatty(2) and not quiet:
            from bide.cli.progress import Progress  # noqa: PLC0415 - only a terminal pays for it

            progress = Progress(link.home, [job["id"]])
        waited = wait(link, {"jobs": [job["id"]], "until": {"ready": True}}, left, progress)
        last = waited["jobs"][0]
        later = newest(link, last["name"]) if waited["met"] == "ended" else None
        if later is None or later["id"] == last["id"]:
            return link.call("GET", f"/v1/jobs/{quote(last['id'])}")
        job = later


def why_not(job: "Json") -> str:
    """Why a service is not ready, as what follows its name."""
    if job["phase"] == "ended":
        given_up = f"; given up: {job['gave_up']}" if job.get("gave_up") else ""
        return f"{ended_how(job)} before it was ready{given_up}"
    waited = show_duration(job["service"]["ready_timeout_ms"])
    return f"is not ready after {waited} and goes on; wait for it with: bide wait --until-ready {job['name']}"


def show_tail(link: "Link", job: "Json") -> None:
    """The last lines it wrote, on stderr."""
    for stream in ("out", "err"):
        answer = link.raw("GET", f"/v1/jobs/{quote(job['id'])}/output", query={"stream": stream, "tail": _TAIL})
        for line in answer.take().splitlines() if answer.status == 200 else ():
            complain(f"  {one_line(line.decode('utf-8', 'replace'))}")
