"""Groups: how many jobs of one may run at once, and whether any start at all.

A job names its group with 'bide run --group'. Without a group, or with --all, it is
all jobs together that are meant. What is set here holds until it is set again, over
restarts and over the [queue] section of the home's config.toml. Running jobs go on in
any case; 'bide pause' stops one of those.
"""

from bide.cli.exits import Usage
from bide.cli.table import lines
from bide.cli.terminal import print_json
from bide.client.http1 import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link
    from bide.client.http1 import Json

_ACTIONS = ("list", "limit", "pause", "resume")
_HEAD = ("GROUP", "LIMIT", "RUNNING", "WAITING", "STATUS")


def configure(parser: "Parser") -> None:
    """The options of `bide group`."""
    parser.usage = (
        "bide group [list]\n       bide group limit (NAME | --all) (N | none)\n"
        "       bide group pause|resume (NAME | --all)"
    )
    parser.add_argument(
        "what", nargs="?", default="list", choices=_ACTIONS, metavar="WHAT", help="list, limit, pause or resume"
    )
    parser.add_argument("words", nargs="*", metavar="NAME", help="a group; with limit, then a number or 'none'")
    parser.add_argument("--all", action="store_true", help="all jobs together, instead of a group")
    parser.examples(
        "bide group",
        "bide group limit build 2",
        "bide group limit --all 8",
        "bide group limit build none",
        "bide group pause build",
        "bide group resume build",
    )


def execute(args: "Namespace", link: "Link") -> int:
    """Show the groups, or change one."""
    if args.what == "list":
        if args.words or args.all:
            raise Usage(detail="'bide group list' shows every group; leave the rest out")
        found = link.call("GET", "/v1/groups")
        _show(args, found, found["groups"])
        return 0
    name, change = _change(args)
    group = link.call("POST", "/v1/groups" if name is None else f"/v1/groups/{quote(name)}", change)
    _show(args, group, [group])
    return 0


def _change(args: "Namespace") -> "tuple[str | None, Json]":
    words: list[str] = list(args.words)
    wanted = (0 if args.all else 1) + (args.what == "limit")
    if len(words) != wanted:
        number = " N (or none)" if args.what == "limit" else ""
        raise Usage(detail=f"write 'bide group {args.what} NAME{number}', or --all in place of NAME")
    name = None if args.all else words.pop(0)
    if args.what == "limit":
        return name, {"limit": _limit(words.pop())}
    return name, {"paused": args.what == "pause"}


def _limit(text: str) -> int | None:
    if text == "none":
        return None
    if not text.isdecimal():
        raise Usage(detail=f"a limit is a whole number or 'none', not {text!r}")
    return int(text)


def _show(args: "Namespace", answer: "Json", groups: "list[Json]") -> None:
    if args.json:
        print_json(answer)
        return
    rows = [
        (
            "(all jobs)" if group["name"] is None else group["name"],
            "-" if group["limit"] is None else str(group["limit"]),
            str(group["running"]),
            str(group["waiting"]),
            "paused" if group["paused"] else "open",
        )
        for group in groups
    ]
    print("\n".join(lines(_HEAD, rows, lambda row, column: _colour(groups[row], column), limited=False)))


def _colour(group: "Json", column: int) -> str | None:
    return "yellow" if column == _HEAD.index("STATUS") and group["paused"] else None
