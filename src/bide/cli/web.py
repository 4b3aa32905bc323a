"""Print the address of a page on which a person answers what jobs ask.

The address signs a browser of this machine in, once, within ten minutes; it is given
only to a person: at a terminal, outside of any job. From another machine, forward the
port under the same number: 'ssh -L PORT:127.0.0.1:PORT HOST'.
"""

from bide.cli.answer import is_person
from bide.cli.exits import Usage
from bide.cli.terminal import print_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link


def configure(parser: "Parser") -> None:
    """`bide web` has no options of its own."""
    parser.examples("bide web")


def execute(args: "Namespace", link: "Link") -> int:
    """Print an address."""
    if not is_person():
        raise Usage(detail="the page is for people: its address is given at a terminal, outside of any job")
    found = link.call("POST", "/v1/web", {})
    if args.json:
        print_json(found)
    else:
        print(found["url"])
    return 0
