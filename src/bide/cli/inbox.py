"""See what there is to be told of jobs; nothing is acknowledged by looking.

Without options: what is due to you. With --all: how deliveries stand, to every agent,
sink and other consumer.
"""

from bide import config
from bide.cli.events import DEFAULT_OWNER, pull
from bide.cli.terminal import print_json
from bide.cli.units import parse_owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link
    from bide.client.http1 import Json


def configure(parser: "Parser") -> None:
    """The options of `bide inbox`."""
    parser.add_argument(
        "--owner", metavar="O", type=parse_owner, help="what is due to this owner (default: $BIDE_OWNER, else user)"
    )
    parser.add_argument("--all", action="store_true", help="how deliveries stand, to everybody")
    parser.examples("bide inbox", "bide inbox --all", "bide events      # the same, and acknowledged")


def execute(args: "Namespace", link: "Link") -> int:
    """Show it."""
    if args.all:
        found = link.call("GET", "/v1/outbox")
        if args.json:
            print_json(found)
        else:
            print("\n".join(map(_stands, found["consumers"])) or "nobody is to be told anything")
        return 0
    message = pull(link, args.owner or config.owner() or DEFAULT_OWNER, 0)
    if args.json:
        print_json(message)
    else:
        print(message["text"] or "nothing is due")
    return 0


def _stands(one: "Json") -> str:
    parts = [f"{one['consumer']}: {one['due']} due, {one['carried']} on their way"]
    if one["delivering"]:
        parts.append("being handed over")
    if one["next_retry_at"]:
        parts.append(f"tried again at {one['next_retry_at']}")
    return ", ".join(parts)
