"""Shell-like places to run things in: what one run changes holds for the next.

After shell code in the foreground ('bide run --session S -c ...') the folder, the
environment, functions, aliases and options are kept. A list of words, or a run in
the background, begins with them and changes nothing. Ending a session kills what
runs in it.
"""

import json
import os

from bide.cli.exits import Usage
from bide.cli.parser import key_value
from bide.cli.table import lines
from bide.cli.terminal import complain, print_json, to_the_end
from bide.cli.times import local, seconds_since
from bide.cli.units import parse_owner
from bide.client.http1 import quote
from bide.model.sanitize import one_line
from bide.model.units import show_age
from bide.model.words import short_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link
    from bide.client.http1 import Json

_HEAD = ("SESSION", "OWNER", "RUNNING", "JOBS", "ACTIVE", "FOLDER")


def configure(parser: "Parser") -> None:
    """The options of `bide session`."""
    parser.usage = "bide session start|update|show|list|end [S] [options]"
    parser.add_argument("what", choices=tuple(_ACTIONS), metavar="WHAT", help="start, update, show, list or end")
    parser.add_argument(
        "session", nargs="?", metavar="S", help="its id; with start, the one to have (default: a short one)"
    )
    parser.add_argument("job", nargs="?", metavar="JOB", help="with show: one of its jobs, by id, name or pid")
    parser.add_argument("--cwd", metavar="DIR", help="with start (default: here) and update: its folder")
    parser.add_argument(
        "--env",
        metavar="K=V",
        type=key_value,
        action="append",
        default=[],
        help="with start and update: set a variable",
    )
    parser.add_argument("--unset", metavar="K", action="append", default=[], help="with update: unset a variable")
    parser.add_argument(
        "--var",
        metavar="K=JSON",
        type=key_value,
        action="append",
        default=[],
        help="with start and update: a value for code",
    )
    parser.add_argument("--drop", metavar="K", action="append", default=[], help="with update: drop such a value")
    parser.add_argument(
        "--owner",
        metavar="O",
        type=parse_owner,
        help="with start: whose it is (default: $BIDE_OWNER); with list: only theirs",
    )
    parser.add_argument("--forget", action="store_true", help="with end: forget its jobs as well")
    parser.examples(
        "bide session start work --cwd ~/project",
        "bide run --session work -c 'python3 -m venv .venv && . .venv/bin/activate'",
        "bide run --session work -c 'pip list'",
        "bide session show work",
        "bide session end work",
    )


def execute(args: "Namespace", link: "Link") -> int:
    """Do it."""
    _check(args)
    return _ACTIONS[args.what](args, link)


_TAKEN = {
    "start": ("cwd", "env", "var", "owner"),
    "update": ("cwd", "env", "unset", "var", "drop"),
    "show": ("job",),
    "list": ("owner",),
    "end": ("forget",),
}


def _check(args: "Namespace") -> None:
    if args.session is None and args.what in ("update", "show", "end"):
        raise Usage(detail=f"which session? as in: bide session {args.what} work; 'bide session list' shows them")
    if args.session is not None and args.what == "list":
        raise Usage(detail=f"'bide session list' takes no session; did you mean: bide session show {args.session}")
    for name in ("job", "cwd", "env", "unset", "var", "drop", "owner", "forget"):
        if getattr(args, name) and name not in _TAKEN[args.what]:
            shown = "a job" if name == "job" else f"--{name}"
            raise Usage(detail=f"'bide session {args.what}' does not take {shown}; see 'bide session --help'")


def _start(args: "Namespace", link: "Link") -> int:
    from bide.cli.run import here  # noqa: PLC0415 - only those who start one pay for it

    body: Json = {
        "id": args.session,
        "cwd": here(args.cwd),
        "env": dict(args.env),
        "vars": _values(args.var),
        "base_env": dict(os.environ),
        "owner": args.owner or os.environ.get("BIDE_OWNER") or None,
    }
    answer = link.call("POST", "/v1/sessions", body)
    if args.json:
        print_json(answer)
        return 0
    for evicted in answer["evicted"]:
        complain(f"session {evicted} was evicted to make room; what runs in it goes on")
    print(answer["session"]["id"])
    return 0


def _update(args: "Namespace", link: "Link") -> int:
    body: Json = {"cwd": args.cwd, "env": dict(args.env), "unset": args.unset}
    body |= {"vars": _values(args.var), "drop": args.drop}
    return _print(args, link.call("POST", _path(args.session), body))


def _show(args: "Namespace", link: "Link") -> int:
    if args.job is None:
        return _print(args, link.call("GET", _path(args.session)))
    job = link.call("GET", f"{_path(args.session)}/jobs/{quote(args.job)}")
    if args.json:
        print_json(job)
        return 0
    from bide.cli.details import details  # noqa: PLC0415 - a script that asks for JSON does not pay for it

    for name, text in details(job):
        print(f"{name:<10}{text}")
    return 0


def _print(args: "Namespace", session: "Json") -> int:
    if args.json:
        print_json(session)
        return 0
    print(f"session   {session['id']}")
    print(f"owner     {session['owner']}")
    print(f"folder    {one_line(session['cwd'])}")
    print(f"started   {local(session['created_at'])}")
    print(f"active    {local(session['last_active_at'])}, {session['running']} running, {session['seq']} so far")
    for name, text in session["env"].items():
        print(f"env       {one_line(name)}={one_line(text)}")
    for name in session["unset"]:
        print(f"unset     {one_line(name)}")
    for name, value in session["vars"].items():
        print(f"var       {one_line(name)}={one_line(json.dumps(value))}")
    if session["note"]:
        print(f"note      {one_line(session['note'])}")
    for job in session["jobs"]:
        print(f"job       {job['id']}  {short_status(job)}  {one_line(job['command'])}")
    return 0


def _list(args: "Namespace", link: "Link") -> int:
    answer = link.call("GET", "/v1/sessions", query={"owner": args.owner})
    if args.json:
        print_json(answer)
        return 0
    sessions: list[Json] = answer["sessions"]
    if not sessions:
        complain("no session is open; start one with: bide session start")
        return 0
    rows = [
        (
            one["id"],
            one["owner"],
            str(one["running"]),
            str(one["seq"]),
            show_age(seconds_since(one["last_active_at"])),
            one_line(one["cwd"]),
        )
        for one in sessions
    ]
    print("\n".join(lines(_HEAD, rows, lambda _row, _column: None, limited=os.isatty(1))))
    return 0


@to_the_end
def _end(args: "Namespace", link: "Link") -> int:
    answer = link.call("DELETE", _path(args.session), query={"forget": int(args.forget)})
    if args.json:
        print_json(answer)
    else:
        killed, forgotten = len(answer["killed"]), answer["forgotten"]
        said = [f"{killed} killed"] if killed else []
        said += [f"{forgotten} forgotten"] if forgotten else []
        print(f"session {args.session} ended" + (f": {', '.join(said)}" if said else ""))
    for job in answer["unverified"]:
        complain(f"something of {job} may still run; see: bide show {job}")
    return 1 if answer["unverified"] else 0


def _values(pairs: list[tuple[str, str]]) -> "Json":
    found: Json = {}
    for name, text in pairs:
        try:
            found[name] = json.loads(text)
        except ValueError:
            hint = f"write {name}={json.dumps(text)} for a text, in quotes for your shell"
            raise Usage(detail=f"the value of --var {name} is not JSON: {text!r}; {hint}") from None
    return found


def _path(session: str) -> str:
    return f"/v1/sessions/{quote(session)}"


_ACTIONS = {"start": _start, "update": _update, "show": _show, "list": _list, "end": _end}
