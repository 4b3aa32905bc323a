"""Look after services: jobs that stay, are ready at some point, and come back when they fail.

'start' runs a command as a service, or one of this project's bide.toml, or again one
that was stopped; it returns when the service is ready. 'stop' returns when nothing of
it is left. In a project, its services have their short names.
"""

from bide.cli.awaiting import show_tail, until_ready, why_not
from bide.cli.exits import TIMED_OUT, Usage
from bide.cli.parser import key_value
from bide.cli.projects import caller, configure_file, maybe_project
from bide.cli.run import here
from bide.cli.terminal import complain, print_json, to_the_end
from bide.cli.units import parse_ms, parse_whole
from bide.client.http1 import quote
from bide.model.words import called, listens_on

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link
    from bide.client.http1 import Json
    from bide.project.file import Project

NOT_READY = 1


def configure(parser: "Parser") -> None:
    """The options of `bide service`."""
    parser.command_follows = True
    parser.set_defaults(words=[])
    parser.usage = "bide service start NAME [options] [-- CMD [ARG...]]\n       bide service stop|restart|logs NAME\n       bide service ps"
    parser.add_argument("what", choices=tuple(_ACTIONS), metavar="WHAT", help="start, stop, restart, ps or logs")
    parser.add_argument("name", nargs="?", metavar="NAME", help="the service")
    configure_file(parser)
    start = parser.add_argument_group("start")
    start.add_argument("-c", "--command", metavar="TEXT", help="a command for the shell, instead of CMD")
    start.add_argument("--cwd", metavar="DIR", help="run there (default: here)")
    start.add_argument("--env", metavar="K=V", type=key_value, action="append", default=[], help="set a variable")
    start.add_argument(
        "--port", metavar="N", type=parse_whole, help="it listens on this TCP port, and is ready when it does"
    )
    ready = start.add_mutually_exclusive_group()
    ready.add_argument("--ready-log", metavar="RE", help="it is ready when a line of its output matches")
    ready.add_argument("--ready-port", metavar="N", type=parse_whole, help="it is ready when this TCP port accepts")
    ready.add_argument("--ready-http", metavar="URL", help="it is ready when this http URL answers")
    ready.add_argument("--ready-command", metavar="TEXT", help="it is ready when this command exits with 0")
    start.add_argument("--ready-timeout", metavar="D", type=parse_ms, help="wait this long for that (default: 30s)")
    start.add_argument("--restart", choices=("no", "on-failure", "always"), help="start it again when it ends so")
    start.add_argument("--restarts", metavar="N", type=parse_whole, help="give up after so many in a row (default: 10)")
    other = parser.add_argument_group("stop, restart and logs")
    other.add_argument("--grace", metavar="D", type=parse_ms, help="between TERM and KILL (default: 5s)")
    other.add_argument("-f", "--follow", action="store_true", help="with logs: go on until it ends")
    other.add_argument("--tail", metavar="N", help="with logs: only the last N lines")
    parser.examples(
        "bide service start web --port 8000 --restart on-failure -- python3 -m http.server 8000",
        "bide service ps",
        "bide service logs -f web",
        "bide service restart web && bide service stop web",
    )


def execute(args: "Namespace", link: "Link") -> int:
    """Do it."""
    project = maybe_project(args)
    if args.name is None and args.what != "ps":
        raise Usage(detail=f"which service? bide service {args.what} NAME; 'bide service ps' lists them")
    if (args.words or args.command is not None) and args.what != "start":
        raise Usage(detail=f"only 'start' takes a command, not {args.what!r}")

    def act(args: "Namespace", link: "Link") -> int:
        return _ACTIONS[args.what](args, link, project)

    return (act if args.what in ("ps", "logs") else to_the_end(act))(args, link)


def _full(args: "Namespace", project: "Project | None") -> str:
    return str(args.name) if project is None or args.name not in project.services else project.full_name(args.name)


def _start(args: "Namespace", link: "Link", project: "Project | None") -> int:
    if args.words or args.command is not None:
        answer = link.call("POST", "/v1/jobs", caller() | _request(args) | {"background": True})
        return _tell_start(args, link, answer["job"])
    if project is not None and args.name in project.services:
        from bide.cli.up import raise_all  # noqa: PLC0415 - only a project pays for it

        return raise_all(link, project, [args.name], as_json=args.json)
    job = link.call("GET", f"/v1/jobs/{quote(args.name)}")
    if job["phase"] != "ended":
        complain(f"{called(job)} runs already; end it with: bide service stop {args.name}")
        return _tell_start(args, link, job)
    return _again(args, link, args.name)


def _again(args: "Namespace", link: "Link", name: str) -> int:
    body: Json = {"by": "user"} if args.grace is None else {"by": "user", "grace_ms": args.grace}
    answer = link.call("POST", f"/v1/services/{quote(name)}/restart", body)
    return _tell_start(args, link, answer["job"])


def _request(args: "Namespace") -> "Json":
    if args.words and args.command is not None:
        raise Usage(detail="give either -c 'SHELL COMMAND' or -- CMD, not both")
    conditions: Json = {"log": args.ready_log, "port": args.ready_port, "http": args.ready_http}
    if args.port is not None and args.ready_command is None and not any(conditions.values()):
        conditions["port"] = args.port
    service: Json = {
        "ready": conditions,
        "ready_command": args.ready_command,
        "ready_timeout_ms": args.ready_timeout,
        "port": args.port,
        "restart": args.restart,
        "restarts": args.restarts,
    }
    command = args.command if args.command is not None else args.words
    return {"command": command, "name": args.name, "cwd": here(args.cwd), "env": dict(args.env), "service": service}


def _tell_start(args: "Namespace", link: "Link", job: "Json") -> int:
    job = until_ready(link, job, quiet=args.json)
    if args.json:
        print_json({"job": job})
    elif job["ready"]:
        where = f", listens on {listens_on(job)}" if job.get("ports") else ""
        print(f"{called(job)} is ready{where}")
    else:
        complain(f"{called(job)} {why_not(job)}")
        show_tail(link, job)
    if job["ready"]:
        return 0
    return NOT_READY if job["phase"] == "ended" else TIMED_OUT


def _stop(args: "Namespace", link: "Link", project: "Project | None") -> int:
    from bide.cli.down import SURVIVED, stop, stopped_how  # noqa: PLC0415 - only this action pays for it

    grace = args.grace
    if grace is None and project is not None and args.name in project.services:
        grace = project.services[args.name].get("grace")
    killed = stop(link, _full(args, project), grace)
    if args.json:
        print_json(killed)
    else:
        print(f"{args.name}: {'had ended before' if killed['already_ended'] else stopped_how(killed)}")
    return 0 if killed["verified_empty"] else SURVIVED


def _restart(args: "Namespace", link: "Link", project: "Project | None") -> int:
    if project is not None and args.name in project.services:
        from bide.cli.projects import newest  # noqa: PLC0415 - only a project pays for it
        from bide.cli.up import raise_all  # noqa: PLC0415

        if newest(link, project.full_name(args.name)) is not None:
            _stop_first(args, link, project)
        return raise_all(link, project, [args.name], as_json=args.json)
    return _again(args, link, args.name)


def _stop_first(args: "Namespace", link: "Link", project: "Project") -> None:
    from bide.cli.down import stop, stopped_how  # noqa: PLC0415 - only a project pays for it

    grace = args.grace if args.grace is not None else project.services[args.name].get("grace")
    killed = stop(link, project.full_name(args.name), grace)
    if not killed["verified_empty"]:
        raise Usage(detail=f"{args.name} {stopped_how(killed)}; it was not started again")


def _ps(args: "Namespace", link: "Link", project: "Project | None") -> int:
    from bide.cli.servicelist import show  # noqa: PLC0415 - only this action pays for it

    return show(link, None if args.name is None else _full(args, project), as_json=args.json)


def _logs(args: "Namespace", link: "Link", project: "Project | None") -> int:
    from bide.cli.main import load  # noqa: PLC0415 - the options of `logs`, from the one place that knows them

    parser, module = load("logs", home=args.home, json=args.json)
    options = (["--follow"] if args.follow else []) + (["--tail", args.tail] if args.tail else [])
    return int(module.execute(parser.read([*options, _full(args, project)]), link))


_ACTIONS = {"start": _start, "stop": _stop, "restart": _restart, "ps": _ps, "logs": _logs}
