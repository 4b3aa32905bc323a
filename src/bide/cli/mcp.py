"""Serve bide to an MCP client on stdio.

MCP clients start this. It copies frames to the daemon, so that jobs and their results outlive
the client. 'bide mcp install CLIENT' writes it into a client's configuration.
"""

import os
import secrets

from bide import config
from bide.client.copier import Copier
from bide.client.opening import Opening
from bide.client.start import prepare_home
from bide.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link


def configure(parser: "Parser") -> None:
    """The options of `bide mcp`."""
    parser.add_argument(
        "--owner", metavar="O", help="whose jobs these are (default: $BIDE_OWNER, else the client and its folder)"
    )
    parser.add_argument(
        "--patience", metavar="S", type=float, help="seconds one call may take (default: known per client)"
    )
    parser.examples("bide mcp                 # in a client's configuration", "claude mcp add bide -- bide mcp")


def execute(args: "Namespace", link: "Link") -> int:
    """Copy until the client goes away."""
    home = link.home
    prepare_home(home)
    hello = {
        "owner": args.owner or os.environ.get(config.DEFAULT_OWNER_VARIABLE, ""),
        "cwd": os.getcwd(),
        "env": dict(os.environ),
        "connection": secrets.token_hex(8),
        "patience": args.patience,
    }
    return Copier(home, hello, Opening(os.path.join(home, f"mcp-opening-{VERSION}.json"))).run()
