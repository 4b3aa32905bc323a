"""List what jobs ask and nobody has answered, oldest first.

Those that jobs put with 'bide ask-user' or through a tool, and the prompts of programs
that wait for input. 'bide answer' answers them, and so does the page of 'bide web'.
"""

import os

from bide.cli.table import lines
from bide.cli.terminal import complain, print_json
from bide.cli.times import seconds_since
from bide.cli.units import parse_owner
from bide.model.sanitize import one_line
from bide.model.units import show_age
from bide.model.words import asked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link
    from bide.client.http1 import Json

_HEAD = ("ID", "JOB", "AGE", "FOR", "ASKS")


def configure(parser: "Parser") -> None:
    """The options of `bide questions`."""
    parser.add_argument("--owner", metavar="O", type=parse_owner, help="only of this owner's jobs")
    parser.add_argument("--job", metavar="ID", help="only of this job")
    parser.examples("bide questions", "bide answer build yes")


def execute(args: "Namespace", link: "Link") -> int:
    """Print the list."""
    found = link.call("GET", "/v1/questions", query={"owner": args.owner, "job": args.job})
    if args.json:
        print_json(found)
        return 0
    rows = [_row(one) for one in found["questions"]]
    if rows:
        print("\n".join(lines(_HEAD, rows, lambda _row, _column: None, limited=os.isatty(1))))
    else:
        complain("nothing is asked")
    return 0


def _row(one: "Json") -> tuple[str, ...]:
    whom = "a person" if one["exclusive"] or one["secret"] else "anybody"
    return one["id"], one["job"], show_age(seconds_since(one["posed_at"])), whom, one_line(asked(one))
