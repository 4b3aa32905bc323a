"""Ask whoever looks after this job, and print the answer.

For scripts that run as a job: the job is 'waiting' until somebody answers: a person
with 'bide answer', an agent, or whoever the settings name. With --boolean the exit
status says it: 0 for yes, 1 for no. When nobody can answer, or has within --timeout,
--nobody says what holds; a question that is denied exits with 1 and prints nothing.

Outside a job, whoever is at the terminal or the pipe is asked.
"""

import os
import sys

from bide.cli.asking import WORDS, ask_here, fitting
from bide.cli.exits import Usage
from bide.cli.units import parse_ms
from bide.client.http1 import quote
from bide.model.errors import QuestionNotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link
    from bide.client.http1 import Json


def configure(parser: "Parser") -> None:
    """The options of `bide ask-user`."""
    parser.add_argument("text", metavar="TEXT", help="what to ask")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--boolean", action="store_true", help="yes or no")
    form.add_argument("--select", action="append", default=[], metavar="OPTION", help="one of these; repeatable")
    parser.add_argument("--default", metavar="ANSWER", help="what an empty line means")
    parser.add_argument("--exclusive", action="store_true", help="only a person may answer")
    parser.add_argument(
        "--secret", action="store_true", help="a password or the like: no model sees it, no file has it"
    )
    parser.add_argument("--timeout", metavar="D", type=parse_ms, help="ask for this long at most, as 90s or 10m")
    parser.add_argument(
        "--nobody",
        choices=("auto", "defaults", "deny"),
        help="when nobody can answer: auto (yes; the default, else the first), defaults, or deny (default)",
    )
    parser.examples(
        "bide ask-user --boolean 'Deploy to production?' && make deploy",
        "colour=$(bide ask-user 'Which colour?' --select red --select blue --default red)",
    )


def execute(args: "Namespace", link: "Link") -> int:
    """Ask until there is an answer."""
    options: list[str] = ["yes", "no"] if args.boolean else args.select
    default: str | None = args.default
    if default is not None and fitting(default, options, boolean=args.boolean) is None:
        raise Usage(detail=f"--default must be one of {', '.join(options)}, not {default!r}")
    job = os.environ.get("BIDE_JOB")
    if job and not _is_embedded(link.home):
        return _ask(args, link, job)
    return _tell(ask_here(args, options), "nobody answered", boolean=args.boolean)


def _is_embedded(home: str) -> bool:
    """Whether a program serves the home itself, so that there is no daemon to ask through, and none can be started."""
    import fcntl  # noqa: PLC0415 - a job that asks waits anyway

    from bide.client.start import try_connect  # noqa: PLC0415 - likewise

    sock = try_connect(home)
    if sock is not None:
        sock.close()
        return False
    try:
        with open(os.path.join(home, "lock"), encoding="ascii") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                with open(f"/proc/{int(lock.read())}/cmdline", "rb") as line:
                    return b"bide.daemon" not in line.read()
    except (OSError, ValueError):
        pass
    return False


def _ask(args: "Namespace", link: "Link", job: str) -> int:
    body: Json = {"job": job, "question": _question(args), "key": os.urandom(16).hex(), "asker": os.getpid()}
    body |= {"policy": args.nobody, "timeout_ms": args.timeout}
    while True:
        posed = link.call("POST", "/v1/questions", body)
        try:
            found = link.call("POST", f"/v1/questions/{quote(posed['id'])}/wait", {})
        except QuestionNotFound:
            continue  # a database that was lost does not know it: it is asked again, under the same key
        break
    value = {True: "yes", False: "no"}.get(found["value"], found["value"])
    return _tell(value, found["why"] or f"it was {found['state']}", boolean=args.boolean)


def _question(args: "Namespace") -> "Json":
    form = "boolean" if args.boolean else "select" if args.select else "text"
    default = WORDS[args.default.strip().lower()] == "yes" if args.boolean and args.default else args.default
    return {
        "text": args.text,
        "type": form,
        "options": args.select,
        "default": default,
        "exclusive": args.exclusive,
        "secret": args.secret,
    }


def _tell(answer: str | None, why: str, *, boolean: bool) -> int:
    if answer is None:
        sys.stderr.write(f"\nbide: the question is denied: {why}\n")
        return 1
    answer = WORDS.get(answer.lower(), answer) if boolean else answer
    print(answer)
    return 1 if boolean and answer == "no" else 0
