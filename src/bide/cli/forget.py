"""Remove ended jobs: the record and the output. Their ids then say that they were forgotten."""

import os

from bide import config
from bide.cli.exits import Usage
from bide.cli.terminal import print_json, report, to_the_end
from bide.cli.units import parse_ms, parse_owner
from bide.client.http1 import quote
from bide.model.errors import BideError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link


def configure(parser: "Parser") -> None:
    """The options of `bide forget`."""
    parser.add_argument("jobs", nargs="*", metavar="ID", help="an id or a name")
    parser.add_argument("--older-than", metavar="D", type=parse_ms, help="all that ended that long ago or longer")
    parser.add_argument(
        "--owner", metavar="O", type=parse_owner, help="with --older-than: only this owner's (default: $BIDE_OWNER)"
    )
    parser.examples("bide forget build", "bide forget job1 job2", "bide forget --older-than 7d")


@to_the_end
def execute(args: "Namespace", link: "Link") -> int:
    """Forget each in turn; the first that fails gives the status, and the others are forgotten all the same."""
    if args.older_than is not None:
        return _forget_old(args, link)
    if not args.jobs or args.owner is not None:
        raise Usage(detail="which jobs? give ids or names, or --older-than 7d (with --owner, only that one's)")
    statuses = [_forget(link, job, as_json=args.json) for job in args.jobs]
    return next((status for status in statuses if status), 0)


def _forget_old(args: "Namespace", link: "Link") -> int:
    if args.jobs:
        raise Usage(detail="give either ids or --older-than, not both")
    owner = args.owner or os.environ.get(config.DEFAULT_OWNER_VARIABLE) or None
    found = link.call("POST", "/v1/gc", {"older_than_ms": args.older_than, "owner": owner})
    if args.json:
        print_json(found)
    else:
        from bide.cli.gc import told  # noqa: PLC0415 - only this pays for it

        print("\n".join(told(found)))
    return 0


def _forget(link: "Link", job: str, *, as_json: bool) -> int:
    try:
        link.call("DELETE", f"/v1/jobs/{quote(job)}")
    except BideError as error:
        return report(error, as_json=as_json)
    if as_json:
        print_json({"forgotten": job})
    else:
        print(f"{job} is forgotten")
    return 0
