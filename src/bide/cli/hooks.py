"""Write bide's hooks into an agent's configuration, so that it is told what is due.

At the end of a turn, and at the next prompt. What is there already stays.
"""

import json
import os

from bide.cli import turnend
from bide.cli.clients import our_command, read_file, toolsets_of, write_file
from bide.cli.terminal import print_json
from bide.model.errors import BadRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from bide.cli.parser import Parser
    from bide.client.blocking import Link

    Json = dict[str, Any]

FILES = {"claude": ".claude/settings.json", "codex": "~/.codex/hooks.json"}
"""Each client's file, in the project unless it begins with ~."""
_POINTS = {"Stop": "stop", "UserPromptSubmit": "prompt", "SessionEnd": "session-end"}
_OF_CLIENT = {"claude": tuple(_POINTS), "codex": ("Stop", "UserPromptSubmit")}
_SECONDS = 15
_TRUST = (
    "codex runs a hook only once it is trusted: start it, open /hooks and trust them; "
    "'codex exec' alone takes --dangerously-bypass-hook-trust instead"
)


def configure(parser: "Parser") -> None:
    """The options of `bide hooks`."""
    parser.add_argument("action", choices=("install", "remove"), help="write them, or take them out again")
    parser.add_argument("client", choices=tuple(FILES), help="which agent")
    parser.add_argument("--print", action="store_true", help="only show what would be written")
    turnend.configure(parser, "what becomes of jobs that still run at the end of a turn (see: bide hook --help)")
    parser.examples("bide hooks install claude", "bide hooks install --print codex")


def execute(args: "Namespace", link: "Link") -> int:  # noqa: ARG001 - the signature of commands
    """Write the file, and say which."""
    path = os.path.abspath(os.path.expanduser(FILES[args.client]))
    text = read_file(path)
    changed = json.dumps(_changed(_read(text, path), args, wanted=args.action == "install"), indent=2) + "\n"
    if args.print:
        print(changed, end="")
        return 0
    if changed != text:
        write_file(path, changed)
    if args.json:
        print_json({"client": args.client, "path": path})
    else:
        done = "wrote bide's hooks into" if args.action == "install" else "took bide's hooks out of"
        print(f"{done} {path}; start {args.client} anew to use it")
        if args.client == "codex" and args.action == "install":
            print(_TRUST)
    return 0


def _read(text: str, path: str) -> "Json":
    try:
        found: Json = json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise BadRequest(detail=f"{path} cannot be read as JSON ({error}); nothing was written") from None
    hooks: Json | None = found.get("hooks", {}) if type(found) is dict else None
    if type(hooks) is not dict or not all(type(one) is list for one in hooks.values()):
        raise BadRequest(detail=f"{path} is not laid out as hooks are; nothing was written")
    return found


def _changed(found: "Json", args: "Namespace", *, wanted: bool) -> "Json":
    client: str = args.client
    hooks: Json = dict(found.get("hooks", {}))
    for event, point in _POINTS.items():
        kept = [group for group in hooks.get(event, []) if not _is_ours(group, client)]
        if wanted and event in _OF_CLIENT[client]:
            waits = args.await_timeout // 1000 if point == "stop" and args.on_turn_end == "await" else 0
            kept.append({"hooks": [{"type": "command", "command": _command(point, args), "timeout": _SECONDS + waits}]})
        if kept:
            hooks[event] = kept
        else:
            hooks.pop(event, None)
    return {**found, "hooks": hooks}


def _command(point: str, args: "Namespace") -> str:
    from shlex import quote  # noqa: PLC0415 - only an install pays for it

    words = [our_command(), "hook", point, "--client", args.client]
    if point == "stop" and args.on_turn_end != "inquire":
        words += ["--on-turn-end", args.on_turn_end]
    tools = args.tools or toolsets_of(args.client)
    if point == "stop" and tools != "core":
        words += ["--tools", tools]
    if point == "stop" and args.await_timeout != turnend.AWAIT_MS:
        words += ["--await-timeout", f"{args.await_timeout}ms"]
    return " ".join(quote(word) for word in [*words, *(("--home", os.path.abspath(args.home)) if args.home else ())])


def _is_ours(group: "Json", client: str) -> bool:
    found: list[Json] = group.get("hooks", [])
    commands = [str(one.get("command", "")) for one in found]
    return any(f" hook {point} --client {client}" in command for command in commands for point in _POINTS.values())
