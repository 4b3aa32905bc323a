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
from bide.cli.units import parse_owner
from bide.client.blocking import Link
from bide.client.http1 import quote
from bide.model import toolcalls
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
        "--owner",
        metavar="O",
        type=parse_owner,
        help="whose news (default: $BIDE_OWNER, else the client and its folder)",
    )


def execute(args: "Namespace", link: "Link") -> int:
    """Say what is due, in the words of the client; never in its way."""
    quiet = Link(link.home, starts=False)
    try:
        hook = Hook(args, quiet, _given())
        if said := hook.said():
            print(json.dumps(said), flush=True)
        # Only now: a hook that its client ends before has told nobody.
        hook.note()
    except DaemonUnavailable:
        return 0  # where none runs nothing is due, and that is no news
    except BideError as error:
        print(f"bide: {error}", file=sys.stderr)
        return 0
    finally:
        quiet.close()
    return 0


def _given() -> "Json":
    """What the client says of itself."""
    try:
        found: Json = json.loads(sys.stdin.buffer.read() or b"{}")
    except ValueError:
        return {}
    return found if type(found) is dict else {}


class Hook:
    """One call of a hook: what it says, and what is noted once that is said."""

    def __init__(self, args: "Namespace", link: Link, given: "Json") -> None:
        """`given` is what the client says of itself."""
        self._args = args
        self._link = link
        folder = str(given.get("cwd") or os.getcwd())
        self._owner: str = args.owner or config.owner() or owner_of(CLIENT_NAMES[args.client], folder)
        self._carrier = f"hook:{args.client}:{given.get('session_id') or self._owner}"
        link.asker = self._carrier  # who owns no job, so that looking at one tells nobody
        self._told: list[str] = []
        self._inquiry = turnend.Inquiry(link.home, self._carrier, toolcalls.names(args.tools or "core"))

    def said(self) -> "Json | None":
        """What is due, in the words of the client."""
        carrier = f"/v1/carriers/{quote(self._carrier)}"
        if self._args.point == "session-end":
            self._link.call("POST", f"{carrier}/release", {})
            return None
        # A hook that is called has gone on since the last one: what that handed over was read.
        self._link.call("POST", f"{carrier}/settle", {})
        if self._args.point == "stop":
            return self._at_stop()
        text = self._due("ambient")
        return (
            {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": text}} if text else None
        )

    def note(self) -> None:
        """What was said is in this session's hands, until its next hook or its end."""
        if self._told:
            body = {"notices": self._told, "carrier": self._carrier}
            self._link.call("POST", f"/v1/outbox/{quote(self._owner)}/carry", body)
        self._inquiry.note()

    def _due(self, least: str) -> str:
        wanted = {"timeout_ms": 0, "least": least}
        message = self._link.call("POST", f"/v1/outbox/{quote(self._owner)}/pull", wanted)
        self._told = [one["id"] for one in message["notices"]]
        return message["text"]

    def _at_stop(self) -> "Json | None":
        """News keeps the agent going; without any, what still runs is done with as the policy has it."""
        policy, link, owner = self._args.on_turn_end, self._link, self._owner
        jobs = turnend.active(link, owner) if policy in ("await", "abort") else []
        left = ""
        if policy == "await" and jobs:
            turnend.wait(link, jobs, self._args.await_timeout)
            jobs = turnend.active(link, owner)
        if jobs:
            left = turnend.abort(link, owner, jobs)
        reason = self._due("info")
        if policy == "inquire" and not reason:
            reason = self._inquiry.ask(link, turnend.active(link, owner))
        if policy == "await":
            reason = "\n".join(filter(None, (reason, left)))
        said: Json = {"decision": "block", "reason": reason} if reason else {}
        return said | ({"systemMessage": left} if left and policy == "abort" else {}) or None
