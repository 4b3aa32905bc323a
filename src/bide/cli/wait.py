"""Wait for jobs to end, or for a condition, without polling.

The exit status is the job's. With several jobs: for --any that of the first one
that ended, for --all the first that is not 0. When a condition (--until-...) was
met it is 0; when the jobs ended before that, theirs, or 1 if they ended well. When
the time is up it is 75, and the jobs go on.
"""

import os
import time

from bide.cli.exits import TIMED_OUT
from bide.cli.terminal import complain, print_json
from bide.cli.units import parse_duration, parse_ms, parse_whole
from bide.client.patience import Gone, Patience
from bide.model.errors import DaemonUnavailable
from bide.model.units import show_duration
from bide.model.words import called, ended_how, how_to_answer, outlived, short_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.cli.progress import Progress
    from bide.client.blocking import Link
    from bide.client.http1 import Json

NOT_MET = 1
"""The jobs ended well, but what was waited for did not happen."""
_LINE_SHOWN = 500
"""Characters of a line that matched: one without an end would fill a screen, or an agent's context."""


def configure(parser: "Parser") -> None:
    """The options of `bide wait`."""
    parser.add_argument("jobs", nargs="+", metavar="ID", help="an id or a name")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--any", dest="mode", action="store_const", const="any", help="until one of the jobs ended")
    which.add_argument("--all", dest="mode", action="store_const", const="all", help="until all ended (default)")
    parser.add_argument("--timeout", metavar="D", type=parse_ms, help="at most this long, as 90s or 10m")
    parser.add_argument("--until-log", metavar="RE", help="until a line of the output matches")
    parser.add_argument("--until-port", metavar="N", type=parse_whole, help="until this TCP port accepts")
    parser.add_argument("--until-http", metavar="URL", help="until this http URL answers")
    parser.add_argument("--until-input", action="store_true", help="until one of the jobs asks something")
    parser.add_argument("--until-ready", action="store_true", help="until the services are ready")
    parser.add_argument(
        "--until-quiet", metavar="D", type=parse_duration, help="until there was no output for this long"
    )
    parser.examples(
        "bide wait build && echo built",
        "bide wait --any job1 job2 job3",
        "bide wait --until-port 8080 --timeout 30s server",
        "bide wait --until-log 'ready in' server",
    )


def execute(args: "Namespace", link: "Link") -> int:
    """Wait, then say how it ended."""
    progress = None
    if os.isatty(2) and not args.json:
        from bide.cli.progress import Progress  # noqa: PLC0415 - only a terminal pays for it

        progress = Progress(link.home, args.jobs)
    waited = wait(link, request_body(args), args.timeout, progress)
    if args.json:
        print_json(waited)
    else:
        _tell(args, waited)
    return _status(args, waited)


def request_body(args: "Namespace") -> "Json":
    """What to wait for."""
    names = ("log", "port", "http", "quiet_seconds", "input", "ready")
    flags = (args.until_input or None, args.until_ready or None)
    until = dict(zip(names, (args.until_log, args.until_port, args.until_http, args.until_quiet, *flags), strict=True))
    return {
        "jobs": args.jobs,
        "mode": args.mode or "all",
        "until": {key: value for key, value in until.items() if value is not None},
    }


def wait(link: "Link", body: "Json", timeout_ms: int | None, progress: "Progress | None" = None) -> "Json":
    """The answer to a wait, over as many daemons as it takes; the time does not start anew with each."""
    deadline = None if timeout_ms is None else time.monotonic() + timeout_ms / 1000
    patience = Patience(link.home)
    while True:
        left = None if deadline is None else max(0, round((deadline - time.monotonic()) * 1000))
        try:
            exchange = link.begin("POST", "/v1/wait", body | {"timeout_ms": left})
            complete = False
            while not complete:
                if progress is not None:
                    progress.show_until_readable(exchange.fileno())
                complete = exchange.receive()
        except (Gone, DaemonUnavailable) as error:
            patience.failed(error)
        else:
            return exchange.answer.json()
        finally:
            if progress is not None:
                progress.clear()


def _status(args: "Namespace", waited: "Json") -> int:
    if waited["timed_out"]:
        return TIMED_OUT
    if waited["met"] != "ended":
        return 0
    ended: list[Json] = [job for job in waited["jobs"] if job["phase"] == "ended"]
    if args.mode == "any":
        ended = [min(ended, key=lambda job: job["ended_at"])]
    status: int = next((job["status"] for job in ended if job["status"]), 0)
    return status or (NOT_MET if _has_condition(args) else 0)


def _has_condition(args: "Namespace") -> bool:
    return bool(request_body(args)["until"])


def _tell(args: "Namespace", waited: "Json") -> None:
    active = [job for job in waited["jobs"] if job["phase"] != "ended"]
    if waited["timed_out"]:
        names = ", ".join(f"{called(job)} {short_status(job)}" for job in active)
        complain(f"time is up after {show_duration(args.timeout)}; not ended: {names}")
        return
    if waited["met"] != "ended":
        print(_condition(args, waited))
        return
    for job in waited["jobs"]:
        if job["phase"] == "ended":
            ran = "" if job["reason"] == "lost" else f", ran {show_duration(job['duration_ms'] or 0)}"
            print(f"{called(job)} {ended_how(job)}{ran}")
            if left := outlived(job):
                print(f"{called(job)}: {left}")
    if _has_condition(args):
        complain("the jobs ended before the condition was met")


def _condition(args: "Namespace", waited: "Json") -> str:
    met = waited["met"]
    if met == "log" and waited["match"]:
        from bide.model.sanitize import one_line  # noqa: PLC0415 - only a matched line pays for it

        return f"matched: {one_line(waited['match']['line'], _LINE_SHOWN)}"
    if met == "input":
        asks = [job for job in waited["jobs"] if job["waiting"]]
        return "\n".join(f"{called(job)} asks; answer it with: {how_to_answer(job)}" for job in asks)
    if met == "ready":
        return f"{', '.join(called(job) for job in waited['jobs'])} ready"
    said = {
        "port": f"port {args.until_port} accepts",
        "http": f"{args.until_http} answers",
        "quiet": f"quiet for {show_duration((args.until_quiet or 0) * 1000)}",
    }
    return said.get(met, str(met))
