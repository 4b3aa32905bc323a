"""Ask an LLM's command line: claude, codex, gemini, grok or mistral.

It runs as a job: it goes on when the terminal, this command or the daemon dies, and
'bide ask --answer ID' comes back to it. An equal request that runs, or was answered
within the hour, is not asked again; --fresh asks it anyway.
"""

import json
import os
import sys

from bide import config
from bide.cli.exits import Usage
from bide.cli.parser import key_value
from bide.cli.run import here
from bide.cli.terminal import complain, print_json
from bide.cli.units import parse_ms, parse_owner
from bide.client.http1 import quote
from bide.model.sanitize import one_line, safe_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link
    from bide.client.http1 import Json

FAILED = 1
_PARTS = ("system", "tools", "context")


def configure(parser: "Parser") -> None:
    """The options of `bide ask`."""
    parser.usage = (
        "bide ask CLI [options] [--] PROMPT...\n       bide ask CLI [options] < FILE\n       bide ask --answer ID"
    )
    parser.add_argument("cli", nargs="?", metavar="CLI", help="claude, codex, gemini, grok, mistral")
    parser.add_argument("prompt", nargs="*", metavar="PROMPT", help="what to ask; read from stdin if there is none")
    parser.add_argument(
        "--answer", metavar="ID", help="show the answer of an earlier request, by job or correlation id"
    )
    parser.add_argument("-m", "--model", metavar="M", help="a model or an alias (default: the CLI's own)")
    parser.add_argument("--resume", metavar="ID", help="go on with this conversation")
    parser.add_argument("--continue", dest="latest", action="store_true", help="go on with the newest one here")
    for name in _PARTS:
        parser.add_argument(f"--{name}", metavar="FILE", help=f"a file that goes before the prompt, as its {name}")
    parser.add_argument("--full-auto", action="store_true", help="let Codex work in its sandbox without asking")
    parser.add_argument("--managed", action="store_true", help="let it act without asking, if the gate agrees")
    parser.add_argument(
        "-o", "--option", metavar="K=V", type=key_value, action="append", default=[], help="an option of this CLI alone"
    )
    parser.add_argument("--format", metavar="F", help="what the CLI writes (default: what says most)")
    parser.add_argument("--fresh", action="store_true", help="ask even if an equal request was answered lately")
    parser.add_argument("--bg", action="store_true", help="print the job's id as soon as it runs, and leave")
    parser.add_argument("--name", metavar="N", help="call the job so")
    parser.add_argument("--owner", metavar="O", type=parse_owner, help="whose job it is (default: $BIDE_OWNER)")
    parser.add_argument("--correlation-id", metavar="ID", help="a word of yours to find the answer by")
    parser.add_argument("--cwd", metavar="DIR", help="run there (default: here)")
    parser.add_argument("--worktree", metavar="NAME", help="work in a git worktree of its own, called so, which stays")
    parser.add_argument("--timeout", metavar="D", type=parse_ms, help="end it after this long")
    parser.add_argument("--idle", metavar="D", type=parse_ms, help="end it after this long without output, 30s to 1h")
    parser.examples(
        "bide ask claude 'what does this project do?'",
        "git diff | bide ask codex --system review.md",
        "bide ask gemini --bg --name audit 'audit src/' && bide wait audit && bide ask --answer audit",
    )


def execute(args: "Namespace", link: "Link") -> int:
    """Ask, and print what was answered; the answer is the CLI's own status."""
    if args.answer is not None:
        if args.cli is not None:
            raise Usage(detail="--answer shows an earlier answer; give no CLI and no prompt with it")
        return _show(args, link.call("GET", f"/v1/asks/{quote(args.answer)}"))
    body = _body(args)
    try:
        asked = link.call("POST", "/v1/asks", body)
    except KeyboardInterrupt:
        complain(f"interrupted; the request goes on, and 'bide ask --answer {body['correlation_id']}' has its answer")
        raise
    if args.bg and not args.json:
        print(asked["answer"]["job"]["id"])
        return 0
    if args.json:
        print_json(asked)
        return 0 if args.bg else _status(asked["answer"])
    return _show(args, asked["answer"])


def _body(args: "Namespace") -> "Json":
    if args.cli is None:
        raise Usage(detail="say whom to ask, and what: bide ask claude 'what does this project do?'")
    prompt = prompt_words(args.prompt)
    parts = {name: _file(getattr(args, name)) for name in _PARTS if getattr(args, name) is not None}
    body: Json = {
        "cli": args.cli,
        "prompt": None if parts else prompt,
        "parts": {**parts, "task": prompt} if parts else None,
        "model": args.model,
        "conversation": args.resume,
        "resume_latest": args.latest,
        "strategy": "mcp_managed" if args.managed else "legacy",
        "options": {key: _value(value) for key, value in args.option},
        "correlation_id": args.correlation_id or f"ask-{os.urandom(8).hex()}",
        "key": os.urandom(16).hex(),
        "deadline_ms": 0,
        "background": args.bg,
        "cwd": here(args.cwd),
        "worktree": None if args.worktree is None else {"name": args.worktree},
        "base_env": dict(os.environ),
        "owner": args.owner or os.environ.get(config.DEFAULT_OWNER_VARIABLE) or None,
        "timeout_ms": args.timeout,
        "idle_ms": args.idle,
    }
    body |= {key: getattr(args, key) for key in ("format", "full_auto", "fresh", "name")}
    return {key: value for key, value in body.items() if value is not None}


def prompt_words(words: list[str]) -> str:
    """The prompt: the words, or what comes by stdin."""
    if words and words != ["-"]:
        return " ".join(words)
    if os.isatty(0):
        raise Usage(detail="there is nothing to ask; give a prompt, or send one by stdin")
    return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")


def _file(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise Usage(detail=f"cannot read {path!r}: {error.strerror}") from error


def _value(text: str) -> object:
    """As JSON where it is that: numbers, true, lists; otherwise as it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _show(args: "Namespace", answer: "Json") -> int:
    if args.json:
        print_json(answer)
        return _status(answer)
    text = answer["reading"]["text"]
    if text and text != answer["reading"]["error"]:
        print(safe_text(text) if os.isatty(1) else text)
    for note in answer["notes"]:
        complain(one_line(note["message"]))
    if answer["status"] == "running":
        complain(f"it still runs: 'bide wait {answer['job']['id']}' waits for it")
    elif answer["error"]:
        complain(one_line(answer["error"]))
    return _status(answer)


def _status(answer: "Json") -> int:
    """0 only for an answer that is one."""
    if answer["status"] == "completed":
        return FAILED if answer["reading"]["error"] else 0
    return int(answer["exit_code"] or FAILED)
