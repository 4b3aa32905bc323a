"""Hand an agent what it is to be told: called by its hooks, with their JSON on stdin.

'stop' keeps the agent going if there is news, or if jobs of it still run and it was not
asked about them (see --on-turn-end); 'prompt' puts the news beside the next
prompt, 'session-end' gives back what nobody may have read. Nothing due, or no daemon:
nothing is said, and the agent is not disturbed. 'bide hooks install' writes them.
"""

import json
import os
import sys

from bide import config
from bide.cli import turnend
from bide.client.blocking import Link
from bide.client.http1 import quote
from bide.model.errors import BideError, DaemonUnavailable
from bide.model.owners import CLIENT_NAMES, owner_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.http1 import Json

POINTS = ("stop", "prompt", "session-end")


def configure(parser: "Parser") -> None:
    """The options of `bide hook`."""
    parser.add_argument("point", choices=POINTS, help="where the agent is in its turn")
    parser.add_argument("--client", choices=tuple(CLIENT_NAMES), required=True, help="which agent calls")
    parser.examples("bide hook stop --client claude      # in .claude/settings.json: see bide hooks")
    turnend.configure(
        parser,
        "with stop, for jobs that still run: ask the agent once (default), wait and then abort, abort, or leave them",
    )
    parser.add_argument(
        "--owner", metavar="O", help="whose news (default: $BIDE_OWNER, else the client and its folder)"
    )


def execute(args: "Namespace", link: "Link") -> int:
    """Say what is due, in the words of the client; never in its way."""
    quiet = Link(link.home, starts=False)
    try:
        said = _said(args, quiet, _given())
    except DaemonUnavailable:
        return 0  # where none runs nothing is due, and that is no news
    except BideError as error:
        print(f"bide: {error}", file=sys.stderr)
        return 0
    finally:
        quiet.close()
    if said:
        print(json.dumps(said), flush=True)
    return 0


def _given() -> "Json":
    """What the client says of itself."""
    try:
        found: Json = json.loads(sys.stdin.buffer.read() or b"{}")
    except ValueError:
        return {}
    return found if type(found) is dict else {}


def _said(args: "Namespace", link: Link, given: "Json") -> "Json | None":
    owner = args.owner or config.owner() or owner_of(CLIENT_NAMES[args.client], str(given.get("cwd") or os.getcwd()))
    carrier = f"hook:{args.client}:{given.get('session_id') or owner}"
    link.asker = carrier  # who owns no job, so that looking at one tells nobody
    if args.point == "session-end":
        link.call("POST", f"/v1/carriers/{quote(carrier)}/release", {})
        return None
    # A hook that is called has gone on since the last one: what that handed over was read.
    link.call("POST", f"/v1/carriers/{quote(carrier)}/settle", {})
    if args.point == "stop":
        return _at_stop(args, link, owner, carrier)
    text = _due(link, owner, carrier)
    return {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": text}} if text else None


def _due(link: Link, owner: str, carrier: str) -> str:
    return link.call("POST", f"/v1/outbox/{quote(owner)}/pull", {"carrier": carrier, "timeout_ms": 0})["text"]


def _at_stop(args: "Namespace", link: Link, owner: str, carrier: str) -> "Json | None":
    """News keeps the agent going; without any, what still runs is done with as the policy has it."""
    reason = _due(link, owner, carrier)
    if reason and args.on_turn_end in ("inquire", "leave"):
        return {"decision": "block", "reason": reason}
    jobs = turnend.active(link, owner) if args.on_turn_end != "leave" else []
    if not jobs:
        return {"decision": "block", "reason": reason} if reason else None
    if args.on_turn_end == "inquire":
        reason = turnend.inquire(link, carrier, jobs)
    elif args.on_turn_end == "await":
        turnend.wait(link, jobs, args.await_timeout)
        left = turnend.abort(link, owner, turnend.active(link, owner))
        reason = "\n".join(filter(None, (reason, _due(link, owner, carrier), left)))
    else:
        left = turnend.abort(link, owner, jobs)
        return {"decision": "block", "reason": reason, "systemMessage": left} if reason else {"systemMessage": left}
    return {"decision": "block", "reason": reason} if reason else None
