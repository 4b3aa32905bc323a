"""The table of `bide service ps`: each service once, by its newest job."""

import os

from bide.cli.ls import with_ports
from bide.cli.table import lines
from bide.cli.terminal import complain, print_json
from bide.cli.times import seconds_since
from bide.model.sanitize import one_line
from bide.model.units import show_duration
from bide.model.words import listens_on, short_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bide.client.blocking import Link
    from bide.client.http1 import Json

_HEAD = ("NAME", "ID", "STATUS", "RUN", "UPTIME", "PORTS", "COMMAND")
_PAGE = 200


def show(link: "Link", name: str | None, *, as_json: bool) -> int:
    """Print all services, or the one of this name."""
    jobs = [with_ports(link, job) for job in _newest(link, name)]
    if as_json:
        print_json({"services": jobs})
    elif not jobs:
        complain("no services yet; start one with: bide service start NAME -- CMD")
    else:
        rows = [_row(job) for job in jobs]
        print("\n".join(lines(_HEAD, rows, lambda row, column: _colour(jobs[row], column), limited=os.isatty(1))))
    return 0


def _newest(link: "Link", name: str | None) -> "list[Json]":
    found: dict[tuple[str, str], Json] = {}
    before: str | None = None
    while True:
        query = {"kind": "service", "name": name, "limit": _PAGE, "before": before}
        page = link.call("GET", "/v1/jobs", query=query)
        for job in page["jobs"]:
            found.setdefault((job["owner"], job["name"]), job)
        before = page["next"]
        if not before:
            return list(found.values())


def _row(job: "Json") -> tuple[str, ...]:
    up = show_duration(max(0, 1000 * seconds_since(job["started_at"]))) if job["phase"] == "running" else "-"
    run = str(job["service"]["run"] + 1)
    status = f"{short_status(job)}, given up" if job.get("gave_up") else short_status(job)
    return job["name"], job["id"], status, run, up, listens_on(job) or "-", one_line(job["command"])


def _colour(job: "Json", column: int) -> str | None:
    if column != _HEAD.index("STATUS"):
        return None
    if job["phase"] == "ended":
        return "red" if job.get("gave_up") else "dim"
    return "green" if job["ready"] else "yellow"
