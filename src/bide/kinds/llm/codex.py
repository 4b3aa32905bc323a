"""Codex: `codex exec`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from bide.kinds.llm import flags
from bide.kinds.llm.base import Cli, Command, Installed, Reader, by_stdin, check_target, encoded
from bide.kinds.llm.flags import Flag, Shape
from bide.kinds.llm.lines import Lines, Whole, below, number, word
from bide.model.llm.answer import Note, Reading, Tokens
from bide.model.llm.ask import Ask
from bide.model.llm.prompt import Prompt
from bide.model.llm.steps import Progress

NAME = "codex"
STREAM, TEXT = "json", "text"
_SANDBOX, _ASK, _BYPASS = "sandbox", "ask_for_approval", "dangerously_bypass_approvals_and_sandbox"

FLAGS = (
    Flag("sandbox", "--sandbox", check=flags.one_of("read-only", "workspace-write", "danger-full-access")),
    Flag(
        "ask_for_approval",
        "--ask-for-approval",
        check=flags.one_of("untrusted", "on-failure", "on-request", "never"),
        listed=True,
    ),
    Flag(_BYPASS, "--dangerously-bypass-approvals-and-sandbox", Shape.SWITCH),
    Flag("working_dir", "-C"),
    Flag("add_dir", "--add-dir", Shape.EACH),
    Flag("output_schema", "--output-schema"),
    Flag("search", "--search", Shape.SWITCH, listed=True),
    Flag("profile", "--profile"),
    Flag("config", "-c", Shape.EACH, check=flags.setting),
    Flag("ephemeral", "--ephemeral", Shape.SWITCH),
    Flag("images", "--image", Shape.ATTACHED),
    Flag("ignore_user_config", "--ignore-user-config", Shape.SWITCH),
    Flag("ignore_rules", "--ignore-rules", Shape.SWITCH),
)
BEFORE_RESUME = (_SANDBOX, _ASK, "add_dir", "working_dir", "search", "profile")
"""What `exec` takes and `exec resume` does not: said before that word it holds all the same."""
_MAY_BE_A_COMMAND = re.compile(r"[a-z][a-z-]{2,30}")
"""A prompt of one such word (`review`, `help`) would be taken for a command of Codex."""


def command(ask: Ask, prompt: Prompt, installed: Installed) -> Command:
    """The prompt is the last word, or comes by stdin, for which that word is `-`."""
    kind = CLI.format_of(ask)
    options, notes = _autonomy(ask, installed)
    resumed = bool(ask.conversation) or ask.resume_latest
    early = {name: options[name] for name in BEFORE_RESUME if resumed and name in options}
    late = {name: value for name, value in options.items() if name not in early}
    before, unknown = flags.words(FLAGS, early, cli=NAME, has=installed.has)
    given, more = flags.words(FLAGS, late, cli=NAME, has=installed.has)
    by_pipe = by_stdin(prompt.text) or _MAY_BE_A_COMMAND.fullmatch(prompt.text) is not None
    bypass = bool(options.get(_BYPASS)) or options.get(_SANDBOX) == "danger-full-access"
    return Command(
        words=(
            "exec",
            *before,
            *(("resume",) if resumed else ()),
            *(("--last",) if ask.resume_latest else ()),
            *(("--model", ask.model) if ask.model else ()),
            *(("--json",) if kind == STREAM else ()),
            "--skip-git-repo-check",
            *given,
            *((ask.conversation,) if ask.conversation else ()),
            "-" if by_pipe else prompt.text,
        ),
        format=kind,
        input=encoded(prompt.text) if by_pipe else None,
        bypass=bypass,
        bypass_asked=bypass,
        notes=(*notes, *unknown, *more),
    )


def _autonomy(ask: Ask, installed: Installed) -> tuple[Mapping[str, Any], list[Note]]:
    """Full automation is its sandbox with write access, and no questions; newer ones ask none in `exec` anyway."""
    options, notes = dict(ask.options), list[Note]()
    if not ask.full_auto:
        return options, notes
    wanted = {_SANDBOX: "workspace-write"}
    if installed.has("--ask-for-approval"):
        wanted[_ASK] = "never"
    for name, value in wanted.items():
        if options.setdefault(name, value) != value:
            notes.append(
                Note("full_auto_overridden", f"fullAuto means {name} {value}; the {options[name]} given wins.")
            )
    return options, notes


_ITEM = re.compile(rb'"type":"(command_execution|file_change|mcp_tool_call|web_search|todo_list|collab_tool_call)"')


class Stream(Lines):
    """Reads the events of `--json`."""

    def __init__(self) -> None:
        """Nothing was read yet."""
        super().__init__()
        self._thread: str | None = None
        self._said = b""
        self._usage: dict[str, Any] = {}
        self._turns = 0
        self._error = ""
        self._tools: dict[str, int] = {}

    def line(self, line: bytes) -> None:
        """Of items only the last message is looked into, at the end."""
        head = line[:40]
        if b'"type":"item.' in head:
            self._item(line)
            return
        found = self.parsed(line)
        kind = found.get("type")
        if isinstance(kind, str) and kind.startswith("item."):
            item = below(found, "item")
            ordered = {"type": kind, "item": {"type": item.get("type"), **item}}
            self._item(json.dumps(ordered, separators=(",", ":")).encode())
        elif kind == "thread.started":
            self._thread = word(found.get("thread_id"))
            self.step(Progress.THINKING)
        elif kind == "turn.completed":
            self._usage, self._error, self.final = below(found, "usage"), "", True
            self._turns += 1
            self.step(Progress.FINISHING)
        elif kind == "turn.failed":
            self._error, self.final = word(below(found, "error").get("message")) or "the turn failed", True
            self.step(Progress.FINISHING)
        elif kind == "error":
            self._error = word(found.get("message")) or "an error without a message"

    def _item(self, line: bytes) -> None:
        if b'"type":"item.completed"' not in line[:60]:
            return
        if b'"type":"agent_message"' in line[:200]:
            self._said = line
            self.step(Progress.ANSWERING)
        elif found := _ITEM.search(line[:300]):
            self.step(Progress.WORKING)
            used = found[1].decode()
            self._tools[used] = self._tools.get(used, 0) + 1

    def finish(self) -> Reading:
        """The last message of the agent, and what the turn used."""
        self.rest()
        said = below(self.parsed(self._said), "item") if self._said else {}
        return Reading(
            text=str(said.get("text", "")),
            conversation=self._thread,
            tokens=Tokens(
                input=number(self._usage.get("input_tokens")),
                output=number(self._usage.get("output_tokens")),
                cache_read=number(self._usage.get("cached_input_tokens")),
                cache_write=number(self._usage.get("cache_write_input_tokens")),
            ),
            turns=self._turns or None,
            tools=dict(self._tools),
            error=self._error,
            final=self.final,
            skipped=self.skipped,
        )


def reader(kind: str) -> Reader:
    """What reads a format."""
    return Stream() if kind == STREAM else Whole()


def upgrade(target: str | None, _path: str | None = None) -> tuple[str, ...]:
    """It updates itself to the newest; another version comes from npm."""
    return (NAME, "update") if check_target(target) is None else ("npm", "install", "-g", f"@openai/codex@{target}")


CLI = Cli(
    name=NAME,
    program=NAME,
    install="install it with: npm install -g @openai/codex",
    command=command,
    reader=reader,
    formats=(STREAM, TEXT),
    streaming=(STREAM, TEXT),
    upgrade=upgrade,
    help=("exec", "--help"),
    login=("login", "status"),
    keys=("OPENAI_API_KEY", "CODEX_API_KEY"),
    models=("gpt-5-codex", "gpt-5"),
)
