"""Write to a job's stdin or terminal, close it, or send the job a signal.

A newline follows TEXT unless --no-enter or --key is given. '-' sends this
command's stdin as it is. Needs a job that was started with --stdin or --pty.
"""

import sys
from binascii import b2a_base64

from bide.cli.exits import Usage
from bide.cli.parser import signal_number
from bide.cli.terminal import print_json
from bide.client.http1 import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link
    from bide.client.http1 import Json

KEYS = {
    "ctrl-c": b"\x03",
    "ctrl-d": b"\x04",
    "enter": b"\r",
    "tab": b"\t",
    "esc": b"\x1b",
    "up": b"\x1b[A",
    "down": b"\x1b[B",
    "right": b"\x1b[C",
    "left": b"\x1b[D",
    "backspace": b"\x7f",
}
_INSTEAD = {"ctrl-c": "--signal INT", "ctrl-d": "--eof"}
_CHUNK = 256 * 1024


def configure(parser: "Parser") -> None:
    """The options of `bide send`."""
    parser.add_argument("job", metavar="ID", help="an id or a name")
    parser.add_argument("text", nargs="*", metavar="TEXT", help="words to send, joined by spaces; - for stdin")
    enter = parser.add_mutually_exclusive_group()
    enter.add_argument(
        "--enter", dest="enter", action="store_true", default=None, help="end with a newline (default for TEXT)"
    )
    enter.add_argument("--no-enter", dest="enter", action="store_false", default=None, help="send TEXT as it is")
    parser.add_argument("--key", choices=tuple(KEYS), action="append", default=[], help="a key, after TEXT; repeatable")
    parser.add_argument("--eof", action="store_true", help="close its stdin, after everything else")
    parser.add_argument(
        "--signal", metavar="NAME", type=signal_number, help="send its process group a signal, as INT or 2"
    )
    parser.examples(
        "bide send repl 'print(1 + 1)'",
        "bide send server --key ctrl-c",
        "bide send job7 --signal USR1",
        "bide send import --eof - < data.csv",
    )


def execute(args: "Namespace", link: "Link") -> int:
    """Send it, in order: text, keys, end of input; or the signal."""
    path = f"/v1/jobs/{quote(args.job)}"
    job = link.call("GET", path)
    pieces = _pieces(args, terminal=bool(job["pty"]))
    for piece in pieces:
        job = link.call("POST", f"{path}/send", piece)
    if args.json:
        print_json(job)
    return 0


def _pieces(args: "Namespace", *, terminal: bool) -> "list[Json]":
    """The bodies of the requests; raises Usage when there is nothing to send."""
    data = b"".join(_bytes(args, terminal=terminal))
    pieces: list[Json] = [
        {"base64": b2a_base64(data[at : at + _CHUNK], newline=False).decode()} for at in range(0, len(data), _CHUNK)
    ]
    if args.eof:
        pieces.append({"eof": True})
    if args.signal is not None:
        pieces.append({"signal": args.signal})
    if not pieces and args.text != ["-"]:
        raise Usage(detail="nothing to send; give TEXT, --key, --eof or --signal")
    return pieces


def _bytes(args: "Namespace", *, terminal: bool) -> list[bytes]:
    from_stdin = args.text == ["-"]
    enter = args.enter if args.enter is not None else bool(args.text and not args.key and not from_stdin)
    text = sys.stdin.buffer.read() if from_stdin else " ".join(args.text).encode("utf-8", "surrogateescape")
    return_key = KEYS["enter"] if terminal else b"\n"
    return [text, *(_key(name, terminal=terminal) for name in args.key), return_key if enter else b""]


def _key(name: str, *, terminal: bool) -> bytes:
    if not terminal and name in _INSTEAD:
        raise Usage(detail=f"the job has no terminal, so {name} means nothing to it; use {_INSTEAD[name]}")
    return b"\n" if name == "enter" and not terminal else KEYS[name]
