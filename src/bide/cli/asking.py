"""A question to whoever is at this command's stdin, where there is no daemon to put it to anybody else."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

WORDS = {"y": "yes", "yes": "yes", "true": "yes", "n": "no", "no": "no", "false": "no"}


def fitting(said: str, options: list[str], *, boolean: bool) -> str | None:
    """The answer that a line gives, if it gives one."""
    word = WORDS.get(said.strip().lower()) if boolean else said
    return word if word is not None and (not options or word in options) else None


def ask_here(args: "Namespace", options: list[str]) -> str | None:
    """The first line that answers; when the input ends, what the policy says. What is for people needs a terminal."""
    default: str | None = args.default
    for_people = args.exclusive or args.secret
    if for_people and not os.isatty(0):
        return None
    shown = "/".join(options)
    prompt = args.text + (f" [{shown}]" if options else "") + (f" ({default})" if default is not None else "") + " "
    while True:
        line = _read(prompt, secret=args.secret)
        if not line:
            return None if for_people else _by_policy(args.nobody or "deny", default, options)
        said = line.rstrip("\r\n")
        answer = fitting(default if not said and default is not None else said, options, boolean=args.boolean)
        if answer is not None:
            return answer
        sys.stderr.write(f"{said!r} is not one of {', '.join(options)}\n")


def _read(prompt: str, *, secret: bool) -> str:
    if secret:
        from getpass import getpass  # noqa: PLC0415 - only a secret pays for it

        try:
            return getpass(prompt) + "\n"
        except EOFError:
            return ""
    sys.stderr.write(prompt)
    sys.stderr.flush()
    return sys.stdin.readline()


def _by_policy(policy: str, default: str | None, options: list[str]) -> str | None:
    if policy == "deny":
        return None
    return default if default is not None or policy == "defaults" or not options else options[0]
