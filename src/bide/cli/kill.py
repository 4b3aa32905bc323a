"""End jobs with their whole trees: a signal, the grace time, then KILL.

Also reaches children that left the group or session. Says what was signalled and
whether nothing is left; the exit status is 1 if something survives.
"""

import os

from bide import config
from bide.cli.parser import signal_number
from bide.cli.terminal import print_json, report, to_the_end
from bide.cli.units import parse_ms
from bide.client.http1 import quote
from bide.model.errors import BideError
from bide.model.words import called, ended_how, signal_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link
    from bide.client.http1 import Json

SURVIVED = 1
_KILL = 9


def configure(parser: "Parser") -> None:
    """The options of `bide kill`."""
    parser.add_argument("jobs", nargs="+", metavar="ID", help="an id or a name")
    parser.add_argument("--signal", metavar="NAME", type=signal_number, help="begin with this signal (default: TERM)")
    parser.add_argument("--grace", metavar="D", type=parse_ms, help="then KILL after this long (default: 5s; 0: never)")
    parser.examples("bide kill server", "bide kill --grace 30s build", "bide kill --signal KILL job7 job8")


@to_the_end
def execute(args: "Namespace", link: "Link") -> int:
    """Kill each in turn; the first that fails gives the status, and the others are killed all the same."""
    body: Json = {"by": os.environ.get(config.DEFAULT_OWNER_VARIABLE) or "user"}
    if args.signal is not None:
        body["signal"] = args.signal
    if args.grace is not None:
        body["grace_ms"] = args.grace
    statuses = [_kill(args, link, job, body) for job in args.jobs]
    return next((status for status in statuses if status), 0)


def _kill(args: "Namespace", link: "Link", job: str, body: "Json") -> int:
    try:
        killed = link.call("POST", f"/v1/jobs/{quote(job)}/kill", body)
    except BideError as error:
        return report(error, as_json=args.json)
    if args.json:
        print_json(killed)
    else:
        _tell(killed, signal_name(body.get("signal", 15)))
    return 0 if killed["verified_empty"] else SURVIVED


def _tell(killed: "Json", first_signal: str) -> None:
    job, count = killed["job"], killed["signalled"]
    processes = f"{count} process{'' if count == 1 else 'es'}"
    if killed["already_ended"]:
        what = (
            f"had ended before ({ended_how(job)}); {processes} of it signalled"
            if count
            else f"had ended before ({ended_how(job)})"
        )
    elif job["phase"] == "ended":
        then = ", then SIGKILL" if job["signal"] == _KILL and first_signal != signal_name(_KILL) else ""
        what = f"{ended_how(job)}; {first_signal} sent to {processes}{then}"
    else:
        what = f"still runs; {first_signal} sent to {processes}"
    left = "nothing of it is left" if killed["verified_empty"] else "not everything ended:"
    print(f"{called(job)} {what}; {left}")
    for process in killed["survivors"]:
        from bide.model.sanitize import one_line  # noqa: PLC0415 - only survivors pay for it

        print(f"  {process['pid']}  {one_line(process['command'])}")
