"""Check that this machine has what bide needs, and say what to do where it has not.

The exit status is 1 if something fails; a warning is something bide can live with.
"""

from bide.cli.checks.home import home_checks
from bide.cli.checks.machine import machine_checks
from bide.cli.checks.vibe import vibe_checks
from bide.cli.table import paint
from bide.cli.terminal import print_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link

FAILED = 1
_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


def configure(parser: "Parser") -> None:
    """It has no options of its own."""
    parser.examples("bide doctor", "bide doctor --json")


def execute(args: "Namespace", link: "Link") -> int:
    """Print one line for each check."""
    findings = [*home_checks(link), *machine_checks(link), *vibe_checks()]
    if args.json:
        print_json({"checks": [finding.to_json() for finding in findings]})
    else:
        for finding in findings:
            print(f"{paint(f'{finding.level:<5}', _COLOURS[finding.level])} {finding.what:<11} {finding.text}")
            if finding.advice:
                print(f"{'':<18}{finding.advice}")
    return FAILED if any(finding.level == "fail" for finding in findings) else 0
