"""Be told what happens to jobs: ends, failures, questions; each once.

Prints everything that is due as one message, then acknowledges it. With --follow it
waits for more; with --follow --once it waits for the first message and leaves, so that an
agent that started it in the background is woken by its end.
"""

import sys
import time

from bide import config
from bide.cli.exits import TIMED_OUT
from bide.cli.terminal import print_json, write_text
from bide.cli.units import parse_ms, parse_owner
from bide.client.http1 import quote
from bide.model.errors import BadRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link
    from bide.client.http1 import Json

DEFAULT_OWNER = "user"
LEVELS = ("ambient", "info", "warning", "error", "critical")
"""What model/notice.py has, which takes long to import."""


def configure(parser: "Parser") -> None:
    """The options of `bide events`."""
    parser.add_argument("--follow", "-f", action="store_true", help="wait for what happens, until interrupted")
    parser.add_argument("--once", action="store_true", help="with --follow: leave after the first message")
    parser.add_argument("--timeout", metavar="D", type=parse_ms, help="with --follow: at most this long (status 75)")
    parser.add_argument(
        "--least", choices=LEVELS, default="ambient", help="only what matters so much; the rest stays due"
    )
    parser.add_argument(
        "--owner", metavar="O", type=parse_owner, help="of whose jobs (default: $BIDE_OWNER, else user)"
    )
    parser.add_argument(
        "--as",
        dest="consumer",
        metavar="NAME",
        type=parse_owner,
        help="be told as NAME, of everybody's jobs or of --owner's, from now on",
    )
    parser.examples(
        "bide events                      # what is due to you, now",
        "bide events --follow --once      # as a background command: its end wakes you",
        "bide events --follow --once --least error   # be woken by what fails",
        "bide events --follow --as board --json",
    )


def execute(args: "Namespace", link: "Link") -> int:
    """Print and acknowledge, message by message."""
    if (args.once or args.timeout is not None) and not args.follow:
        raise BadRequest(detail="--once and --timeout say how long to follow; give --follow as well")
    consumer = args.consumer or args.owner or config.owner() or DEFAULT_OWNER
    if args.consumer:
        link.call("POST", f"/v1/outbox/{quote(consumer)}", {"owner": args.owner})
    until = None if args.timeout is None else time.monotonic() + args.timeout / 1000
    show = _show_json if args.json else _show_text
    while True:
        told, more = show(link, consumer, _left(args, until), args.least)
        if not told:
            return TIMED_OUT if args.follow else 0
        # Only now: whoever dies before has told nobody.
        link.call("POST", f"/v1/outbox/{quote(consumer)}/ack", {"notices": told})
        if args.once or (not args.follow and not more):
            return 0


def _left(args: "Namespace", until: float | None) -> int | None:
    if not args.follow:
        return 0
    return None if until is None else max(0, round((until - time.monotonic()) * 1000))


def pull(link: "Link", consumer: str, timeout_ms: int | None, least: str = "ambient") -> "Json":
    """What is due to a consumer, once there is something or the time is up."""
    return link.call("POST", f"/v1/outbox/{quote(consumer)}/pull", {"timeout_ms": timeout_ms, "least": least})


def _show_json(link: "Link", consumer: str, timeout_ms: int | None, least: str) -> tuple[list[str], bool]:
    """Print what is due; the ids of it, and whether there is more."""
    message = pull(link, consumer, timeout_ms, least)
    if message["notices"]:
        print_json(message)
        sys.stdout.flush()
    return [one["id"] for one in message["notices"]], bool(message["more"])


def _show_text(link: "Link", consumer: str, timeout_ms: int | None, least: str) -> tuple[list[str], bool]:
    """The same in words, which come as they are printed: nothing lies between an event and its line that need not."""
    wanted: Json = {"timeout_ms": timeout_ms, "least": least, "text": True}
    answer = link.raw("POST", f"/v1/outbox/{quote(consumer)}/pull", wanted)
    if answer.status >= 400:
        answer.json()
    told = answer.headers["bide-notices"].split()
    if told:
        write_text(answer.take() + b"\n")
    return told, answer.headers["bide-more"] != "0"
