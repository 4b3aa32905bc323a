"""List jobs, newest first: the active ones and those that ended recently.

A filter or --all reads through everything instead. Times are ISO 8601, or how
long ago, as 2h.
"""

import os

from bide.cli.table import lines
from bide.cli.terminal import complain, print_json
from bide.cli.times import parse_instant, seconds_since
from bide.cli.units import parse_whole
from bide.client.http1 import quote
from bide.model.errors import JobNotFound
from bide.model.sanitize import one_line
from bide.model.units import show_age, show_duration
from bide.model.words import listens_on, short_status, succeeded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link
    from bide.client.http1 import Json

_FILTERS = ("phase", "reason", "owner", "label", "kind", "name", "session", "parent", "since", "until")
_RECENT = 20
_PAGE = 200
_HEAD = ("ID", "NAME", "STATUS", "AGE", "TIME", "COMMAND")


def configure(parser: "Parser") -> None:
    """The options of `bide ls`."""
    parser.add_argument("--all", action="store_true", help="every job on record")
    parser.add_argument("--ports", action="store_true", help="also what the running jobs listen on")
    parser.add_argument("--phase", choices=("queued", "running", "ended"), help="only jobs in this phase")
    parser.add_argument("--reason", metavar="R", help="only jobs that ended so: exited, killed, timed_out, ...")
    for name in ("owner", "label", "kind", "name", "session"):
        parser.add_argument(f"--{name}", metavar=name[0].upper(), help=f"only jobs with this {name}")
    parser.add_argument("--parent", metavar="ID", help="only jobs that were started from this one")
    parser.add_argument("--since", metavar="T", type=parse_instant, help="only jobs created then or later")
    parser.add_argument("--until", metavar="T", type=parse_instant, help="only jobs created before")
    parser.add_argument("--limit", metavar="N", type=parse_whole, help="at most so many")
    parser.add_argument("--before", metavar="CURSOR", help="go on where an earlier list stopped ('next' in --json)")
    parser.examples(
        "bide ls", "bide ls --phase running", "bide ls --reason timed_out --since 1d", "bide ls --all --json"
    )


def execute(args: "Namespace", link: "Link") -> int:
    """Print the list."""
    page = _page(args, link)
    if args.ports:
        page["jobs"] = [with_ports(link, job) for job in page["jobs"]]
    if args.json:
        print_json(page)
        return 0
    jobs: list[Json] = page["jobs"]
    if not jobs:
        complain("no jobs" if _filters(args) else "no jobs yet; start one with: bide run -- CMD")
        return 0
    head, rows = _HEAD, [_row(job) for job in jobs]
    if args.ports:
        head = (*_HEAD[:-1], "PORTS", _HEAD[-1])
        rows = [(*row[:-1], listens_on(job) or "-", row[-1]) for row, job in zip(rows, jobs, strict=True)]
    print("\n".join(lines(head, rows, lambda row, column: _colour(jobs[row], column), limited=os.isatty(1))))
    if page["next"] and os.isatty(2):
        complain(f"there are older ones; see them with: bide ls --all, or: bide ls --before {page['next']}")
    return 0


def with_ports(link: "Link", job: "Json") -> "Json":
    """The job with what it listens on; only a running one is asked about, and one that is gone meanwhile is as it was."""
    try:
        return link.call("GET", f"/v1/jobs/{quote(job['id'])}") if job["phase"] == "running" else job
    except JobNotFound:
        return job


def _filters(args: "Namespace") -> dict[str, str]:
    return {name: getattr(args, name) for name in _FILTERS if getattr(args, name) is not None}


def _page(args: "Namespace", link: "Link") -> "Json":
    filters = _filters(args)
    if args.all or filters or args.before or args.limit is not None:
        most = args.limit if args.limit is not None else None if args.all else _PAGE
        return _pages(link, filters, most, args.before)
    recent = _pages(link, {}, _RECENT, None)
    active = [job for phase in ("running", "queued") for job in _pages(link, {"phase": phase}, None, None)["jobs"]]
    jobs = {job["id"]: job for job in (*active, *recent["jobs"])}
    newest_first = sorted(jobs.values(), key=lambda job: (job["created_at"], job["id"]), reverse=True)
    return {"jobs": newest_first, "next": recent["next"]}


def _pages(link: "Link", filters: dict[str, str], most: int | None, before: str | None) -> "Json":
    """One page after the other, up to so many jobs."""
    jobs: list[Json] = []
    while True:
        limit = _PAGE if most is None else min(_PAGE, most - len(jobs))
        page = link.call("GET", "/v1/jobs", query=filters | {"limit": limit, "before": before})
        jobs += page["jobs"]
        before = page["next"]
        if not before or not page["jobs"] or (most is not None and len(jobs) >= most):
            return {"jobs": jobs, "next": before}


def _row(job: "Json") -> tuple[str, ...]:
    return (
        job["id"],
        job["name"] or "-",
        short_status(job),
        show_age(seconds_since(job["created_at"])),
        _time(job),
        one_line(job["command"]),
    )


def _time(job: "Json") -> str:
    if job["phase"] == "ended":
        return "-" if job["reason"] == "lost" else show_duration(job["duration_ms"] or 0)
    return show_duration(max(0, 1000 * seconds_since(job["started_at"]))) if job["started_at"] else "-"


def _colour(job: "Json", column: int) -> str | None:
    if column != _HEAD.index("STATUS"):
        return "dim" if column in (3, 4) else None
    if job["phase"] != "ended":
        calm = (
            job["phase"] == "running"
            and not (job["waiting"] or job["paused"] or job["stalled"])
            and job["ready"] is not False
        )
        return "cyan" if calm else "yellow"
    return "green" if succeeded(job) else "red"
