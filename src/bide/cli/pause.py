"""Stop running jobs for a while, each with its whole tree; 'bide resume' lets them go on.

Returns when all of the tree is seen to be stopped. A paused job keeps its place among
those that run, and its --timeout counts on; its --idle does not. 'bide kill' works on
it as on any other. To start nothing more of a group: 'bide group pause'.
"""

from bide.cli.terminal import print_json, report, to_the_end
from bide.client.http1 import quote
from bide.model.errors import BideError
from bide.model.words import called

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link


def configure(parser: "Parser") -> None:
    """The options of `bide pause`."""
    parser.add_argument("jobs", nargs="+", metavar="ID", help="an id or a name")
    parser.examples("bide pause build", "bide pause job7 job8")


@to_the_end
def execute(args: "Namespace", link: "Link") -> int:
    """Pause each in turn."""
    return each(args, link, pause=True)


def each(args: "Namespace", link: "Link", *, pause: bool) -> int:
    """Pause or resume each; the first that fails gives the status, and the others are done all the same."""
    status = 0
    for job in args.jobs:
        try:
            found = link.call("POST", f"/v1/jobs/{quote(job)}/send", {"pause": pause})
        except BideError as error:
            failed = report(error, as_json=args.json)
            status = status or failed
            continue
        if args.json:
            print_json(found)
        else:
            print(f"{called(found)} {_what(found, pause=pause)}")
    return status


def _what(job: "dict[str, object]", *, pause: bool) -> str:
    if job["phase"] == "ended":
        return "ended meanwhile"
    return "is paused" if pause else "goes on"
