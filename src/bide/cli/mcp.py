"""Serve bide to an MCP client on stdio.

MCP clients start this. It copies frames to the daemon, so that jobs and their results outlive
the client. 'bide mcp install CLIENT' writes it into a client's configuration.
"""

import os
import sys
import time

from bide import config
from bide.cli.exits import Usage
from bide.cli.terminal import print_json
from bide.cli.units import parse_owner
from bide.client.copier import Copier
from bide.client.opening import Opening
from bide.client.start import prepare_home
from bide.model.errors import BideError
from bide.version import VERSION

TOOLSETS = ("core", "job", "sessions", "handles", "process", "llm")

_ACTS = {
    True: "LLM command lines may act without asking where a request wants that and the gate agrees (llm.enabled)",
    False: "LLM command lines may not act without asking; the same with --let-act allows it (llm.enabled)",
}

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link


def configure(parser: "Parser") -> None:
    """The options of `bide mcp`."""
    parser.usage = "bide mcp [options]\n       bide mcp install [--print] [options] CLIENT"
    parser.add_argument("action", nargs="?", choices=("install",), help="write bide into a client's configuration")
    parser.add_argument("client", nargs="?", help="claude, codex, gemini, cursor or vscode")
    parser.add_argument("--print", action="store_true", help="with install: only show what would be written")
    parser.add_argument(
        "--tools",
        metavar="T",
        default="core",
        help="toolsets, with commas between: core (default), job, sessions, handles, process, llm; or all",
    )
    parser.add_argument(
        "--owner",
        metavar="O",
        type=parse_owner,
        help="whose jobs these are (default: $BIDE_OWNER, else the client and its folder)",
    )
    parser.add_argument(
        "--patience", metavar="S", type=float, help="seconds one call may take (default: known per client)"
    )
    parser.add_argument(
        "--output",
        choices=("text", "data"),
        help="which part of an answer carries output to its model (default: known per client, else text)",
    )
    parser.add_argument(
        "--scope",
        choices=("own", "project", "all"),
        default="own",
        help="let it see and touch also the jobs of others: those in its folder and below, or all",
    )
    parser.add_argument(
        "--shared", metavar="O", action="append", default=[], help="and those of this owner (repeatable)"
    )
    parser.add_argument(
        "--channel",
        action="store_true",
        help="wake a client that takes bide as a channel (Claude Code) when there is news",
    )
    parser.add_argument(
        "--let-act",
        action="store_true",
        help="with install and the toolset llm: let LLM command lines act without asking (else you are asked, once)",
    )
    parser.examples("bide mcp                 # in a client's configuration", "claude mcp add bide -- bide mcp")


def execute(args: "Namespace", link: "Link") -> int:
    """Copy until the client goes away; or write a client's configuration."""
    tools = _toolsets(args.tools)
    if args.patience is not None and not 0 < args.patience < float("inf"):
        raise Usage(detail="'--patience' is a number of seconds, and more than 0")
    if args.let_act and (args.action != "install" or "llm" not in tools):
        raise Usage(
            detail="--let-act goes with install and the toolset llm: bide mcp install CLIENT --tools llm --let-act"
        )
    if args.action == "install":
        return _install(args, tools, link.home)
    home = link.home
    prepare_home(home)
    return Copier(home, _hello(args, tools), _opening(home, tools, channel=args.channel)).run()


def _hello(args: "Namespace", tools: list[str]) -> "dict[str, object]":
    """Who we are, for the daemon."""
    return {
        "owner": args.owner or os.environ.get(config.DEFAULT_OWNER_VARIABLE, ""),
        "cwd": os.getcwd(),
        "env": dict(os.environ),
        "connection": os.urandom(8).hex(),
        "tools": tools,
        "patience": args.patience,
        "output": args.output,
        "scope": args.scope,
        "shared": args.shared,
        "channel": args.channel,
        "connected_at": time.time(),
    }


def _opening(home: str, tools: list[str], *, channel: bool = False) -> Opening:
    kept = f"mcp-opening-{VERSION}-{'+'.join(tools)}{'-channel' if channel else ''}.json"
    return Opening(os.path.join(home, kept))


def _toolsets(given: str) -> list[str]:
    names = [name.strip() for name in given.split(",") if name.strip()]
    names = list(TOOLSETS) if "all" in names else names
    unknown = [name for name in names if name not in TOOLSETS]
    if unknown or not names:
        raise Usage(detail=f"no toolset {', '.join(unknown) or given!r}; known are {', '.join(TOOLSETS)}, and all")
    return list(dict.fromkeys(names))


def _install(args: "Namespace", tools: list[str], served: str) -> int:
    from bide.cli import clients  # noqa: PLC0415 - a client that starts us does not pay for it
    from bide.client import warming  # noqa: PLC0415 - likewise

    if args.client is None:
        raise Usage(detail=f"name the client: {', '.join(clients.CLIENTS)}")
    home = os.path.abspath(args.home) if args.home else None
    if args.channel and args.client != "claude":
        raise Usage(detail=f"{args.client} has no channels; leave --channel out")
    words = _words(args)
    if args.print:
        print(clients.snippet(args.client, words, home=home), end="")
        return 0
    path = clients.install(args.client, words, home=home)
    acts = _settled(args, served) if "llm" in tools else None
    if args.client in warming.HASTY:
        try:
            prepare_home(served)
            warming.warm(served, _hello(args, tools), _opening(served, tools, channel=args.channel), args.client)
        except BideError as error:
            print(f"{args.client} may see no tools of bide when it is first started: {error}", file=sys.stderr)
    if args.json:
        print_json({"client": args.client, "path": path, **({} if acts is None else {"lets_act": acts})})
    else:
        flag = " with --dangerously-load-development-channels server:bide" if args.channel else ""
        print(f"wrote bide into {path}; start {args.client} anew{flag} to use it")
        if acts is not None:
            print(_ACTS[acts])
    return 0


def _settled(args: "Namespace", served: str) -> bool:
    from bide.cli import letact  # noqa: PLC0415 - as above

    return bool(letact.settle(served, allowed=args.let_act))


def _words(args: "Namespace") -> list[str]:
    """What a client is to start `bide` with: the same options, where they say anything."""
    options = {
        "--tools": None if args.tools == "core" else args.tools,
        "--owner": args.owner,
        "--patience": None if args.patience is None else f"{args.patience:g}",
        "--output": args.output,
        "--scope": None if args.scope == "own" else args.scope,
    }
    words = [word for option, value in options.items() if value for word in (option, value)]
    channel = ["--channel"] if args.channel else []
    return ["mcp", *channel, *words, *(word for owner in args.shared for word in ("--shared", owner))]
