"""Ask whoever looks after this job, and print the answer.

For scripts that run as a job with --stdin or --pty: the job is 'waiting' until a line
is sent to it, by 'bide send', by an agent, or by whoever is at its terminal. An answer
that does not fit is asked for again. With --boolean the exit status says it: 0 for yes,
1 for no. If the input ends first, nobody can answer: --nobody says what holds then, and
a question that is denied exits with 1 and prints nothing.
"""

import sys

from bide.cli.exits import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link

_WORDS = {"y": "yes", "yes": "yes", "true": "yes", "n": "no", "no": "no", "false": "no"}


def configure(parser: "Parser") -> None:
    """The options of `bide ask-user`."""
    parser.add_argument("text", metavar="TEXT", help="what to ask")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--boolean", action="store_true", help="yes or no")
    form.add_argument("--select", action="append", default=[], metavar="OPTION", help="one of these; repeatable")
    parser.add_argument("--default", metavar="ANSWER", help="what an empty line means")
    parser.add_argument(
        "--nobody",
        choices=("auto", "defaults", "deny"),
        default="deny",
        help="when the input ends: auto (yes; the default, else the first), defaults, or deny (default)",
    )
    parser.examples(
        "bide ask-user --boolean 'Deploy to production?' && make deploy",
        "colour=$(bide ask-user 'Which colour?' --select red --select blue --default red)",
    )


def execute(args: "Namespace", link: "Link") -> int:  # noqa: ARG001 - every command is called alike
    """Ask until an answer fits."""
    options: list[str] = ["yes", "no"] if args.boolean else args.select
    default: str | None = args.default
    if default is not None and _fitting(default, options, boolean=args.boolean) is None:
        raise Usage(detail=f"--default must be one of {', '.join(options)}, not {default!r}")
    shown = "/".join(options)
    prompt = args.text + (f" [{shown}]" if options else "") + (f" ({default})" if default is not None else "") + " "
    while True:
        sys.stderr.write(prompt)
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            return _tell(_by_policy(args.nobody, default, options), boolean=args.boolean)
        said = line.rstrip("\r\n")
        answer = _fitting(default if not said and default is not None else said, options, boolean=args.boolean)
        if answer is not None:
            return _tell(answer, boolean=args.boolean)
        sys.stderr.write(f"{said!r} is not one of {', '.join(options)}\n")


def _fitting(said: str, options: list[str], *, boolean: bool) -> str | None:
    """The answer that a line gives, if it gives one."""
    word = _WORDS.get(said.strip().lower()) if boolean else said
    return word if word is not None and (not options or word in options) else None


def _by_policy(policy: str, default: str | None, options: list[str]) -> str | None:
    if policy == "deny":
        return None
    return default if default is not None or policy == "defaults" or not options else options[0]


def _tell(answer: str | None, *, boolean: bool) -> int:
    if answer is None:
        sys.stderr.write("\nbide: nobody answered, and the question is denied\n")
        return 1
    answer = _WORDS.get(answer.lower(), answer) if boolean else answer
    print(answer)
    return 1 if boolean and answer == "no" else 0
