"""The command line's grammar: argparse with errors that can be told as JSON, and without its slow parts."""

import argparse

from bide.cli.exits import Usage
from bide.cli.terminal import width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def _formatter(prog: str) -> argparse.HelpFormatter:
    """A formatter with a given width: left to itself argparse imports shutil, for every option it adds."""
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=28, width=min(width(), 100))


class Parser(argparse.ArgumentParser):
    """The options of one command."""

    def __init__(self, command: str, description: str, *, home: str | None = None, json: bool = False) -> None:
        """With what was said before the command's name as defaults."""
        super().__init__(
            prog=f"bide {command}", formatter_class=_formatter, allow_abbrev=False, description=description
        )
        self.command = command
        self.command_follows = False
        """What follows the options is another program's command line."""
        self.add_argument(
            "--home", metavar="DIR", default=home, help="bide's home; else BIDE_HOME, else the state folder"
        )
        self.add_argument("--json", action="store_true", default=json, help="answer, and fail, in JSON")

    def examples(self, *lines: str) -> None:
        """Show these lines at the end of the help."""
        self.epilog = "examples:\n" + "\n".join(f"  {line}" for line in lines)

    def read(self, words: "Sequence[str]") -> argparse.Namespace:
        """The options, from before and after the positional words; raises Usage."""
        if not self.command_follows:
            return self.parse_intermixed_args(list(words))
        cut = list(words).index("--") if "--" in words else len(words)
        args = self.parse_args(list(words[:cut]))
        after = list(words[cut:])
        args.words = args.words + after if args.words else after[1:]
        return args

    @property
    def options(self) -> dict[str, argparse.Action]:
        """Every option by each of its names."""
        return self._option_string_actions

    @property
    def places(self) -> list[argparse.Action]:
        """The positional words, in order."""
        return self._get_positional_actions()

    def error(self, message: str):
        """Raise Usage instead of leaving."""
        raise Usage(detail=f"{message}; see 'bide {self.command} --help'")


def key_value(text: str) -> tuple[str, str]:
    """The two sides of `K=V`."""
    key, sign, value = text.partition("=")
    if not key or not sign:
        raise argparse.ArgumentTypeError(f"{text!r} is not K=V")
    return key, value


_NOTIFY = ("success", "failure", "kill", "waiting", "ready", "stalled", "error", "content", "ambient")


def parse_notify(text: str) -> dict[str, bool]:
    """What to tell of a job: `content,no-success`."""
    found: dict[str, bool] = {}
    for word in text.split(","):
        flag = word.strip().removeprefix("no-")
        if flag not in _NOTIFY:
            raise argparse.ArgumentTypeError(f"{word!r} is nothing to be told of; use {', '.join(_NOTIFY)}, or no-…")
        found[flag if flag == "ambient" else f"on_{flag}"] = not word.strip().startswith("no-")
    return found


def signal_number(text: str) -> int:
    """The number of a signal given as `TERM`, `SIGTERM` or `15`."""
    from bide.model.words import signal_of  # noqa: PLC0415 - only commands that name a signal pay for it

    found = signal_of(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"there is no signal {text!r}; use TERM, INT, HUP, KILL, USR1 or a number")
    return found
