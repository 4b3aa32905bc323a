"""Grok Build: `grok -p`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bide.kinds.llm import flags
from bide.kinds.llm.base import Cli, Command, Installed, Reader, check_target, encoded, too_long
from bide.kinds.llm.flags import Flag, Shape
from bide.kinds.llm.lines import Lines, Whole, amount, below, number, tokens, word
from bide.model.llm.answer import Reading
from bide.model.llm.ask import Ask, Strategy
from bide.model.llm.prompt import Prompt
from bide.model.llm.steps import Progress

NAME = "grok"
STREAM, JSON, PLAIN = "streaming-json", "json", "plain"
_BYPASS = "bypassPermissions"

FLAGS = (
    Flag("always_approve", "--always-approve", Shape.SWITCH),
    Flag("permission_mode", "--permission-mode"),
    Flag("effort", "--effort"),
    Flag("reasoning_effort", "--reasoning-effort"),
    Flag("tools", "--tools", Shape.JOINED),
    Flag("disallowed_tools", "--disallowed-tools", Shape.JOINED),
    Flag("max_turns", "--max-turns", check=flags.whole(1, 10_000)),
    Flag("working_dir", "--cwd"),
    Flag("sandbox", "--sandbox"),
    Flag("rules", "--rules"),
    Flag("system_prompt_override", "--system-prompt-override"),
    Flag("allow", "--allow", Shape.EACH),
    Flag("deny", "--deny", Shape.EACH),
)


def command(ask: Ask, prompt: Prompt, installed: Installed) -> Command:
    """The prompt follows `-p`, joined to its long form if it begins with a sign; a long one is a file, which is our stdin."""
    kind = CLI.format_of(ask)
    options = dict(ask.options)
    if ask.strategy is Strategy.MCP_MANAGED:
        options["always_approve"] = True
    if options.get("always_approve"):
        options.pop("permission_mode", None)
    given, notes = flags.words(FLAGS, options, cli=NAME, has=installed.has)
    by_pipe = too_long(prompt.text)
    if by_pipe:
        said = ("--prompt-file", "/dev/stdin")
    else:
        said = (f"--single={prompt.text}",) if prompt.text.startswith("-") else ("-p", prompt.text)
    resumed = ("--continue",) if ask.resume_latest else ("--resume", ask.conversation) if ask.conversation else ()
    return Command(
        words=(*said, *(("--model", ask.model) if ask.model else ()), "--output-format", kind, *given, *resumed),
        format=kind,
        input=encoded(prompt.text) if by_pipe else None,
        bypass=_bypasses(options),
        bypass_asked=_bypasses(ask.options),
        notes=tuple(notes),
    )


def _bypasses(options: Mapping[str, Any]) -> bool:
    return bool(options.get("always_approve")) or options.get("permission_mode") == _BYPASS


class Stream(Lines):
    """Reads streaming-json."""

    def __init__(self) -> None:
        """Nothing was read yet."""
        super().__init__()
        self._said: list[str] = []
        self._end: dict[str, Any] = {}
        self._error = ""

    def line(self, line: bytes) -> None:
        """Pieces of text are joined; thoughts are passed over."""
        if line[:30].startswith(b'{"type":"thought"'):
            self.step(Progress.THINKING)
            return
        found = self.parsed(line)
        kind = found.get("type")
        if kind == "text":
            self._said.append(str(found.get("data", "")))
            self.step(Progress.ANSWERING)
        elif kind == "thought":
            self.step(Progress.THINKING)
        elif kind in ("end", "error"):
            self._end, self.final = found, True
            self.step(Progress.FINISHING)
            if kind == "error":
                self._error = word(found.get("message")) or "an error without a message"

    def finish(self) -> Reading:
        """All of its text, and what the last event says."""
        self.rest()
        return _reading("".join(self._said), self._end, error=self._error, final=self.final, skipped=self.skipped)


class One(Whole):
    """Reads json: the text, and what was used."""

    def finish(self) -> Reading:
        """One object at the end."""
        found = below({"all": self.value()}, "all")
        if "text" not in found and found.get("type") != "error":
            return self.unread()
        error = (word(found.get("message")) or "it failed") if found.get("type") == "error" else ""
        return _reading(str(found.get("text", "")), found, error=error, final=True)


def _reading(text: str, end: dict[str, Any], *, error: str, final: bool, skipped: int = 0) -> Reading:
    usage = below(end, "usage")
    return Reading(
        text=text.strip(),
        conversation=word(end.get("sessionId")),
        model=next(iter(below(end, "modelUsage")), None),
        tokens=tokens(usage),
        cost_usd=amount(end.get("total_cost_usd")),
        turns=number(end.get("num_turns")) or None,
        error=error,
        final=final,
        skipped=skipped,
    )


def reader(kind: str) -> Reader:
    """What reads a format."""
    return {STREAM: Stream, JSON: One, PLAIN: Whole}[kind]()


def upgrade(target: str | None, _path: str | None = None) -> tuple[str, ...]:
    """It updates itself."""
    return (NAME, "update") if check_target(target) is None else (NAME, "update", "--version", str(target))


CLI = Cli(
    name=NAME,
    program=NAME,
    install="install it as https://docs.x.ai/build/cli says",
    command=command,
    reader=reader,
    formats=(STREAM, JSON, PLAIN),
    streaming=(STREAM, PLAIN),
    upgrade=upgrade,
    keys=("XAI_API_KEY",),
    models=("grok-build",),
)
