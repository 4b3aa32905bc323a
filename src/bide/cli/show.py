"""Show all that is known of a job. The --json object is the one that scripts can rely on."""

from bide.cli.terminal import print_json
from bide.client.http1 import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link
    from bide.client.http1 import Json

_CHILDREN = 20


def configure(parser: "Parser") -> None:
    """The options of `bide show`."""
    parser.add_argument("job", metavar="ID", help="an id or a name")
    parser.examples("bide show build", "bide show --json build | jq .exit_code")


def execute(args: "Namespace", link: "Link") -> int:
    """Print it."""
    job = link.call("GET", f"/v1/jobs/{quote(args.job)}")
    if args.json:
        print_json(job)
        return 0
    from bide.cli.details import children, details  # noqa: PLC0415 - a script that asks for JSON does not pay for it

    for name, text in (*details(job), *children(_below(link, job))):
        print(f"{name:<10}{text}")
    return 0


def _below(link: "Link", job: "Json") -> "Json":
    return link.call("GET", "/v1/jobs", query={"parent": job["id"], "limit": _CHILDREN})
