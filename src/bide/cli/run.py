"""Start a command as a job.

In the foreground its output is passed through and its exit status is yours. The
job belongs to bide, not to your shell: it goes on when the terminal, this command
or the daemon dies, and 'bide wait' comes back to it.
"""

import os

from bide import config
from bide.cli import turns
from bide.cli.exits import TIMED_OUT, Usage
from bide.cli.parser import key_value, parse_notify
from bide.cli.terminal import complain, print_json, silence
from bide.cli.units import parse_ms, parse_number, parse_owner, parse_size, parse_whole
from bide.model.errors import FolderNotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link
    from bide.client.http1 import Json

LANGUAGES = ("python", "shell")

_LIMITS = {
    "timeout": "timeout_ms",
    "idle": "idle_ms",
    "output_cap": "output_bytes",
    "on_output_cap": "on_output_cap",
    "memory": "memory_bytes",
    "cpus": "cpus",
    "pids": "pids",
    "grace": "grace_ms",
}


def configure(parser: "Parser") -> None:
    """The options of `bide run`."""
    parser.command_follows = True
    parser.usage = (
        "bide run [options] -- CMD [ARG...]\n       bide run [options] -c 'SHELL COMMAND'\n"
        "       bide run [options] --lang LANG (-c CODE | FILE | -)"
    )
    parser.add_argument("words", nargs="...", metavar="CMD", help="the program and its arguments; with --lang, a file")
    parser.add_argument("-c", "--command", metavar="TEXT", help="a command for the shell, or code, instead of CMD")
    parser.add_argument(
        "--lang", choices=LANGUAGES, help="run code: that of -c, of a FILE as it is now, or of stdin (-)"
    )
    parser.add_argument("--bg", action="store_true", help="print the job's id as soon as it runs, and leave")
    parser.add_argument("--name", metavar="N", help="call it so; unique among your active jobs")
    parser.add_argument("--label", metavar="L", help="a word to filter by")
    parser.add_argument("--owner", metavar="O", type=parse_owner, help="whose job it is (default: $BIDE_OWNER)")
    parser.add_argument(
        "--session", metavar="S", help="run it in this session: what it changes there holds for the next"
    )
    parser.add_argument("--cwd", metavar="DIR", help="run there (default: here, or where the session is)")
    parser.add_argument(
        "--env", metavar="K=V", type=key_value, action="append", default=[], help="set a variable; repeatable"
    )
    parser.add_argument(
        "--no-env-defaults", action="store_true", help="do not set what suits unattended runs (no pager, no colour, CI)"
    )
    parser.add_argument("--stdin", action="store_true", help="give it a stdin; in the foreground, yours")
    parser.add_argument("--pty", action="store_true", help="give it a terminal; with --stdin, you type into it")
    parser.add_argument("--merge", action="store_true", help="stderr goes where stdout goes, in one order")
    parser.add_argument("--no-fence", action="store_true", help="let its signals reach processes outside the job")
    parser.add_argument("--key", metavar="K", help="asking again with the same key gives the same job")
    parser.add_argument(
        "--deadline", metavar="D", type=parse_ms, help="leave after this long, with status 75; the job goes on"
    )
    parser.add_argument(
        "--notify",
        metavar="WORDS",
        type=parse_notify,
        help="what to tell of it, as 'content,no-success': success failure kill waiting ready stalled error content, and ambient: content wakes nobody",
    )
    parser.add_argument("--raw", action="store_true", help="pass escape sequences through to the terminal")
    parser.add_argument(
        "--lifetime", choices=("free", "session", "owner"), help="end it with its session or owner (default: free)"
    )
    parser.add_argument("--ttl", metavar="D", type=parse_ms, help="end it this long after now, running or queued")
    _configure_limits(parser)
    turns.configure(parser)
    parser.examples(
        "bide run -- make test",
        "bide run --bg --name build -- make -j4      # then: bide wait build",
        "bide run --timeout 10m --memory 2G -c 'npm ci && npm test'",
        "echo hello | bide run --stdin -- cat",
        "bide run --bg --after build -- make deploy     # when 'build' has succeeded",
        "bide run --reuse recent -- make test           # at most one of these runs, and one an hour",
        'bide run --lang python -c \'print((await cmd("git", "status").exec()).stdout)\'',
        "bide run --lang python report.py            # the project's Python: .venv, else python3",
        "bide run --session work -c 'cd src && export DEBUG=1'      # see: bide session --help",
    )


def _configure_limits(parser: "Parser") -> None:
    limits = parser.add_argument_group("limits", "Durations: 500ms, 10s, 5m, 2h, 1d. Sizes: 512K, 10M, 2G.")
    limits.add_argument("--timeout", metavar="D", type=parse_ms, help="end it after this long")
    limits.add_argument("--idle", metavar="D", type=parse_ms, help="end it after this long without output")
    limits.add_argument("--idle-cpu", action="store_true", help="it is not idle while it uses the CPU")
    limits.add_argument("--output-cap", metavar="SIZE", type=parse_size, help="output kept on disk (default: 256M)")
    limits.add_argument(
        "--on-output-cap", choices=("keep", "kill"), help="past it, keep the newest (default) or end the job"
    )
    limits.add_argument("--memory", metavar="SIZE", type=parse_size, help="memory of the whole tree")
    limits.add_argument("--cpus", metavar="N", type=parse_number, help="cores it may use, as 1.5")
    limits.add_argument("--pids", metavar="N", type=parse_whole, help="processes and threads of the whole tree")
    limits.add_argument("--grace", metavar="D", type=parse_ms, help="between TERM and KILL at a limit (default: 5s)")


def execute(args: "Namespace", link: "Link") -> int:
    """Run it; in the foreground the answer is the job's own status."""
    body = request_body(args)
    if args.bg:
        return _background(args, link, body)
    if args.json:
        return _foreground_json(args, link, body)
    from bide.cli.foreground import Foreground  # noqa: PLC0415 - a background run does not pay for it

    joins = bool(args.reuse or args.key)
    return Foreground(link, body, raw=args.raw, deadline_ms=args.deadline, joins=joins).run()


def request_body(args: "Namespace") -> "Json":
    """The body of the request: what was asked, and the caller's folder, environment and umask."""
    body: Json = {
        "command": _command(args) if args.lang is None else _code(args),
        "language": args.lang,
        "session": args.session,
        **_surroundings(args),
        "env": dict(args.env),
        "env_defaults": not args.no_env_defaults,
        "umask": _umask(),
        "owner": args.owner or os.environ.get(config.DEFAULT_OWNER_VARIABLE) or None,
        "fence": not args.no_fence,
        "key": args.key or os.urandom(16).hex(),
        "limits": _limits(args),
    }
    body |= turns.request_fields(args)
    body |= {key: getattr(args, key) for key in ("name", "label", "stdin", "pty", "merge", "lifetime")}
    body |= {"ttl_ms": args.ttl, "notify": args.notify}
    return {key: value for key, value in body.items() if value is not None}


def _surroundings(args: "Namespace") -> "Json":
    """The caller's folder and environment; a session has its own, and a folder given is one from there."""
    if args.session is not None:
        return {"cwd": args.cwd, "parent": os.environ.get("BIDE_JOB")}
    return {"cwd": here(args.cwd), "base_env": dict(os.environ)}


def _command(args: "Namespace") -> "str | list[str]":
    words: list[str] = args.words
    if args.command is not None and words:
        raise Usage(detail="give either -c 'SHELL COMMAND' or -- CMD, not both; see 'bide run --help'")
    if args.command is None and not words:
        raise Usage(detail="there is no command to run; give one, as in: bide run -- make test")
    return words if args.command is None else str(args.command)


def _code(args: "Namespace") -> str:
    from bide.cli.code import read_code  # noqa: PLC0415 - a plain command does not pay for it

    return read_code(args.lang, args.command, args.words, stdin=args.stdin)


def here(given: str | None) -> str:
    """The folder that was given, or the one we are in. Raises FolderNotFound if that was removed."""
    try:
        return os.path.abspath(given) if given else os.getcwd()
    except FileNotFoundError:
        raise FolderNotFound(cwd=os.environ.get("PWD", ".")) from None


def _umask() -> int:
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


def _limits(args: "Namespace") -> "Json":
    limits = {field: getattr(args, option) for option, field in _LIMITS.items() if getattr(args, option) is not None}
    if args.idle_cpu:
        if args.idle is None:
            raise Usage(detail="--idle-cpu says what counts as idle; give --idle as well")
        limits["idle_needs_no_cpu"] = True
    return limits


def _background(args: "Namespace", link: "Link", body: "Json") -> int:
    answer = link.call("POST", "/v1/jobs", body | {"background": True})
    job: Json = answer["job"]
    failed = job["reason"] == "spawn_failed"
    if args.json:
        print_json(answer)
    elif failed:
        from bide.model.words import called, ended_how  # noqa: PLC0415 - only a job that could not start pays for it

        complain(f"job {called(job)} {ended_how(job)}")
    else:
        _print_id(job["id"])
        # A key of our own may find the job of our own first attempt.
        said = turns.told(answer | {"joined": answer["joined"] and bool(args.reuse or args.key)})
        if said:
            complain(said)
    return int(job["status"]) if failed else 0


def _print_id(job: str) -> None:
    try:
        print(job, flush=True)
    except OSError:
        silence(1)  # what could not be written is still there, and would fail again before anything is said
        complain(f"job {job} was started")
        raise


def _foreground_json(args: "Namespace", link: "Link", body: "Json") -> int:
    try:
        answer = link.call("POST", "/v1/jobs", body | {"deadline_ms": args.deadline})
    except KeyboardInterrupt:
        link.close()
        print_json(link.call("POST", "/v1/jobs", body | {"background": True}) | {"deferred": True})
        raise
    print_json(answer)
    return TIMED_OUT if answer["deferred"] else int(answer["job"]["status"])
