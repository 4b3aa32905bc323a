"""Print the version."""

from bide.cli.terminal import print_json
from bide.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link


def configure(parser: "Parser") -> None:
    """It has no options of its own."""
    parser.examples("bide version", "bide version --json")


def execute(args: "Namespace", link: "Link") -> int:  # noqa: ARG001 - every command is given a link
    """Print it."""
    if args.json:
        print_json({"version": VERSION})
    else:
        print(f"bide {VERSION}")
    return 0
