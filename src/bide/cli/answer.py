"""Answer what a job asks.

ID is the question's, or its job's id or name. Without VALUE the question is shown and the
answer typed; a secret can only be typed. A program's own prompt is answered as a line.
At a terminal you count as a person; in a script or within a job, as the job's assistant.
"""

import os
import sys

from bide import config
from bide.cli.exits import Usage
from bide.cli.terminal import print_json
from bide.client.http1 import quote
from bide.model.sanitize import one_line
from bide.model.words import asked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link
    from bide.client.http1 import Json


def configure(parser: "Parser") -> None:
    """The options of `bide answer`."""
    parser.add_argument("job", metavar="ID", help="a question's id, or a job's id or name")
    parser.add_argument("value", nargs="*", metavar="VALUE", help="words of the answer, joined by spaces")
    parser.add_argument("--deny", action="store_true", help="answer that it will not be answered")
    parser.examples("bide answer build yes", "bide answer q0t5k9x2m7q red", "bide answer deploy --deny")


def execute(args: "Namespace", link: "Link") -> int:
    """Answer it."""
    if args.deny and args.value:
        raise Usage(detail="--deny takes no VALUE")
    posed = link.call("GET", f"/v1/questions/{quote(args.job)}")
    body: Json = {"via": "person" if is_person() else "assistant", "by": config.owner() or "user"}
    body |= {"deny": True} if args.deny else _said(args, posed)
    body["key"] = os.urandom(16).hex()
    found = link.call("POST", f"/v1/questions/{quote(posed['id'])}/answer", body)
    if args.json:
        print_json(found)
    else:
        print(f"{found['state']}: {found['job']}")
    return 0


def is_person() -> bool:
    """Whether somebody is at a terminal here, outside of any job."""
    return os.isatty(0) and "BIDE_JOB" not in os.environ


def _said(args: "Namespace", posed: "Json") -> "Json":
    if args.value and posed["secret"]:
        raise Usage(detail="a secret is not given on the command line, where others can see it; leave VALUE out")
    said = " ".join(args.value) if args.value else _typed(posed)
    if not said and posed["default"] is not None:
        return {"value": posed["default"]}
    return {"text": said}


def _typed(posed: "Json") -> str:
    prompt = f"{one_line(asked(posed))} "
    if posed["secret"] and os.isatty(0):
        from getpass import getpass  # noqa: PLC0415 - only a secret pays for it

        return getpass(prompt)
    if os.isatty(0):
        sys.stderr.write(prompt)
        sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise Usage(detail="no VALUE, and the input has ended; to refuse an answer use --deny")
    return line.rstrip("\r\n")
