"""Print what could stand in the place of the last word, one per line: what the completion scripts ask."""

from bide.cli.main import COMMANDS, load
from bide.cli.terminal import print_json
from bide.model.errors import BideError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Action, Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link

_NEWEST = 50


def configure(parser: "Parser") -> None:
    """The words so far."""
    parser.command_follows = True
    parser.add_argument("words", nargs="...", metavar="WORD", help="the words after 'bide'; the last is being typed")
    parser.examples("bide __complete -- wait bu")


def execute(args: "Namespace", link: "Link") -> int:
    """Print the candidates; a daemon that does not run is not started for it."""
    link.starts = False
    found = candidates(args.words, link)
    if args.json:
        print_json(found)
    else:
        print("\n".join(found))
    return 0


def candidates(words: list[str], link: "Link") -> list[str]:
    """What could stand in the place of the last word."""
    *before, typed = words or [""]
    command = next((word for word in before if not word.startswith("-")), None)
    if command is None:
        found = [*COMMANDS, "--home", "--json", "--version", "--help"]
    elif command not in COMMANDS or (command in ("run", "attend") and "--" in before):
        found = []
    else:
        found = _of_command(command, before, typed, link)
    return [word for word in found if word.startswith(typed)]


def _of_command(command: str, before: list[str], typed: str, link: "Link") -> list[str]:
    parser, _ = load(command)
    option = parser.options.get(before[-1])
    if option is not None and option.nargs != 0:
        return _sessions(link) if option.dest == "session" else _choices(option)
    if typed.startswith("-"):
        return list(parser.options)
    place = parser.places[0] if parser.places else None
    if place is None:
        return []
    if command == "session" and before[before.index(command) + 1 :]:
        return _sessions(link)
    return _jobs(link) if place.metavar == "ID" else _choices(place)


def _choices(action: "Action") -> list[str]:
    return [str(choice) for choice in action.choices or ()]


def _sessions(link: "Link") -> list[str]:
    try:
        return [session["id"] for session in link.call("GET", "/v1/sessions")["sessions"]]
    except BideError:
        return []


def _jobs(link: "Link") -> list[str]:
    """Ids and names of the newest jobs."""
    try:
        jobs = link.call("GET", "/v1/jobs", query={"limit": _NEWEST})["jobs"]
    except BideError:
        return []
    names = dict.fromkeys(job["name"] for job in jobs if job["name"])
    return [*names, *(job["id"] for job in jobs)]
