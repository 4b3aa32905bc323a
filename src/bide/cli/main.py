"""Picks the command, runs it, and turns what goes wrong into one sentence and one exit status."""

import os
import sys
from importlib import import_module

from bide import config
from bide.cli.exits import BROKEN_PIPE, INTERRUPTED, UNWRITABLE, Usage, status_of
from bide.cli.parser import Parser
from bide.cli.terminal import complain, report, silence
from bide.client.blocking import Link
from bide.model.errors import BideError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "run": "start a command as a job",
    "ask": "ask an LLM's command line, as a job",
    "review": "have several LLMs review the same thing",
    "llm": "LLM command lines: which there are, their versions, logins, models, upgrades",
    "wait": "wait for jobs; the exit status is the job's",
    "logs": "print what a job wrote",
    "send": "write to a job's stdin or terminal, or send it a signal",
    "ask-user": "from within a job: ask whoever looks after it",
    "questions": "what jobs ask and nobody has answered",
    "answer": "answer what a job asks",
    "web": "the address of a page on which a person answers",
    "kill": "end a job with its whole tree",
    "pause": "stop a running job for a while, with its whole tree",
    "resume": "let a paused job go on",
    "group": "how many jobs may run at once; pause and resume groups",
    "ls": "list jobs",
    "show": "all that is known of a job",
    "session": "places to run in, where what one run changes holds for the next",
    "inbox": "what there is to be told, and to whom",
    "events": "be told what happens to jobs, and acknowledge it",
    "hook": "hand an agent what it is to be told, at a point of its turn",
    "hooks": "write those points into an agent's configuration",
    "forget": "remove ended jobs with their output",
    "service": "start, stop, restart, ps or logs of services",
    "up": "start the services of this project's bide.toml",
    "down": "stop the services of this project's bide.toml",
    "task": "run a task of this project's bide.toml",
    "gc": "remove what is over and no longer kept",
    "attend": "be there for an owner while a program runs",
    "mcp": "serve an MCP client on stdio",
    "daemon": "status, start, stop, restart or logs of the daemon",
    "doctor": "check that this machine has what bide needs",
    "completion": "a script that completes commands, options and jobs",
    "tour": "see what bide does, in a few seconds",
    "version": "print the version",
}
HIDDEN = ("__complete",)


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run one command line; the answer is the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    _prepare_stdio()
    try:
        status = _dispatch(list(words))
        sys.stdout.flush()
    except BideError as error:
        status = _report(error, words)
    except KeyboardInterrupt:
        if os.isatty(2):
            os.write(2, b"\n")  # what follows does not belong beside the ^C
        status = INTERRUPTED
    except BrokenPipeError:
        silence(1)
        status = BROKEN_PIPE
    except OSError as error:
        status = _unwritable(error)
    except SystemExit as leave:
        status = leave.code if isinstance(leave.code, int) else 0
    return status


def _dispatch(words: list[str]) -> int:
    home, json = None, False
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word in ("-h", "--help"):
            return _help()
        if word == "--version":
            words.insert(0, "version")
        elif word == "--json":
            json = True
        elif word == "--home" or word.startswith("--home="):
            home = _home_value(word, words)
        else:
            raise Usage(detail=f"no option {word!r} before a command; see 'bide --help'")
    if not words:
        raise Usage(detail="no command; 'bide --help' lists them")
    if words[0] == "help":
        return _help(*words[1:2])
    return _execute(words[0], words[1:], home=home, json=json)


def _home_value(word: str, words: list[str]) -> str:
    if "=" in word:
        return word.partition("=")[2]
    if not words:
        raise Usage(detail="--home needs a folder")
    return words.pop(0)


def _execute(command: str, words: list[str], *, home: str | None, json: bool) -> int:
    parser, module = load(command, home=home, json=json)
    try:
        args = parser.read(words)
    except Usage as error:
        if command != "hook":
            raise
        report(error, as_json=json)
        return 1  # 2 would tell the client that its model may not rest
    link = Link(config.home(args.home))
    try:
        return int(module.execute(args, link))
    finally:
        link.close()


def load(command: str, *, home: str | None = None, json: bool = False):
    """A command's parser and its module; raises Usage for a command that is not there."""
    if command not in COMMANDS and command not in HIDDEN:
        raise Usage(detail=f"no command {command!r}{_nearest(command)}; see 'bide --help'")
    module = import_module(f"bide.cli.{command.strip('_').replace('-', '_')}")
    parser = Parser(command, str(module.__doc__), home=home, json=json)
    module.configure(parser)
    return parser, module


def _nearest(command: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake pays for it

    found = get_close_matches(command, COMMANDS, n=1)
    return f"; did you mean {found[0]!r}" if found else ""


def _help(command: str | None = None) -> int:
    if command is not None:
        load(command)[0].print_help()
        return 0
    from bide.cli.overview import overview  # noqa: PLC0415 - only help pays for it

    print(overview(COMMANDS))
    return 0


def _report(error: BideError, words: list[str]) -> int:
    own = words[: words.index("--")] if "--" in words else words
    try:
        return report(error, as_json="--json" in own)
    except OSError:
        silence(1)
        return status_of(error)


def _unwritable(error: OSError) -> int:
    """Say that the answer cannot be written."""
    silence(1)
    what = f"{error.filename!r} cannot be used" if error.filename else "the answer could not be written"
    complain(f"{what}: {error.strerror or error}")
    return UNWRITABLE


def _prepare_stdio() -> None:
    """Keep 0, 1 and 2 from becoming something else, and never fail on a character the locale cannot show."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name) or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for the process's life
        setattr(sys, name, stream)
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
