"""Let paused jobs go on."""

from bide.cli.pause import each
from bide.cli.terminal import to_the_end

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link


def configure(parser: "Parser") -> None:
    """The options of `bide resume`."""
    parser.add_argument("jobs", nargs="+", metavar="ID", help="an id or a name")
    parser.examples("bide resume build")


@to_the_end
def execute(args: "Namespace", link: "Link") -> int:
    """Resume each in turn."""
    return each(args, link, pause=False)
