"""Remove ended jobs: the record and the output. Their ids then say that they were forgotten."""

from bide.cli.terminal import print_json, report
from bide.client.http1 import quote
from bide.model.errors import BideError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link


def configure(parser: "Parser") -> None:
    """The options of `bide forget`."""
    parser.add_argument("jobs", nargs="+", metavar="ID", help="an id or a name")
    parser.examples("bide forget build", "bide forget job1 job2")


def execute(args: "Namespace", link: "Link") -> int:
    """Forget each in turn; the first that fails gives the status, and the others are forgotten all the same."""
    statuses = [_forget(link, job, as_json=args.json) for job in args.jobs]
    return next((status for status in statuses if status), 0)


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
