"""Mistral Vibe: `vibe -p`."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from bide.kinds.llm import flags
from bide.kinds.llm.base import Cli, Command, Installed, Reader, check_target, encoded, too_long
from bide.kinds.llm.flags import Flag, Shape
from bide.kinds.llm.lines import Lines, Whole, amount, below, items, number, word
from bide.model.errors import BadRequest
from bide.model.llm.answer import Reading, Tokens
from bide.model.llm.ask import Ask
from bide.model.llm.prompt import Prompt
from bide.model.llm.steps import Progress

NAME, PROGRAM = "mistral", "vibe"
_PACKAGE = "mistral-vibe"
STREAM, JSON, TEXT = "streaming", "json", "text"
_UNATTENDED = "auto-approve"
_MODEL = "VIBE_ACTIVE_MODEL"
_ALSO = {"plain": TEXT, "stream-json": STREAM}

FLAGS = (
    Flag("agent", "--agent"),
    Flag("effort", "--effort", listed=True),
    Flag("reasoning_effort", "--reasoning-effort", listed=True),
    Flag("enabled_tools", "--enabled-tools", Shape.EACH),
    Flag("disallowed_tools", "--disabled-tools", Shape.EACH, listed=True),
    Flag("trust", "--trust", Shape.SWITCH, listed=True),
    Flag("max_turns", "--max-turns", check=flags.whole(1, 10_000)),
    Flag("max_price", "--max-price", check=flags.number(1e-6, 10_000)),
    Flag("max_tokens", "--max-tokens", check=flags.whole(1, 100_000_000), listed=True),
    Flag("working_dir", "--workdir"),
    Flag("add_dir", "--add-dir", Shape.EACH),
)


def command(ask: Ask, prompt: Prompt, installed: Installed) -> Command:
    """The prompt follows `-p`, joined to its long form if it begins with a sign; a long one comes by stdin.

    An agent is always named; the model is said by the environment.
    """
    kind = CLI.format_of(ask)
    options = {"agent": _UNATTENDED, **ask.options}
    given, notes = flags.words(FLAGS, options, cli=NAME, has=installed.has)
    by_pipe = too_long(prompt.text)
    inline = (f"--prompt={prompt.text}",) if prompt.text.startswith("-") else ("-p", prompt.text)
    resumed = ("--continue",) if ask.resume_latest else ("--resume", ask.conversation) if ask.conversation else ()
    return Command(
        words=(*(("-p",) if by_pipe else inline), "--output", _ALSO.get(kind, kind), *given, *resumed),
        format=_ALSO.get(kind, kind),
        input=encoded(prompt.text) if by_pipe else None,
        env={_MODEL: ask.model} if ask.model else {},
        bypass=options["agent"] == _UNATTENDED,
        bypass_asked=ask.options.get("agent") == _UNATTENDED,
        notes=tuple(notes),
    )


class Stream(Lines):
    """Reads one message a line."""

    def __init__(self) -> None:
        """Nothing was read yet."""
        super().__init__()
        self._messages = _Messages()

    def line(self, line: bytes) -> None:
        """What tools said is passed over."""
        message = self.parsed(line)
        self._messages.take(message)
        if message.get("role") == "user":
            self.step(Progress.THINKING)
        elif message.get("role") == "assistant":
            self.step(Progress.WORKING if items(message, "tool_calls") else Progress.ANSWERING)

    def finish(self) -> Reading:
        """What the assistant said last. Nothing says that it was the last: that is for the exit code to say."""
        self.rest()
        return self._messages.reading(skipped=self.skipped)


class One(Whole):
    """Reads json: all messages, at the end."""

    def finish(self) -> Reading:
        """What the assistant said last."""
        found = self.value()
        messages = items({"all": found}, "all") or items(found, "messages")
        if not messages:
            return self.unread()
        read = _Messages()
        for message in messages:
            read.take(message)
        return read.reading()


class _Messages:
    def __init__(self) -> None:
        self._said = ""
        self._session: str | None = None
        self._tools: dict[str, int] = {}

    def take(self, message: dict[str, Any]) -> None:
        self._session = word(message.get("session_id")) or self._session
        if message.get("role") != "assistant":
            return
        self._said = word(message.get("content")) or self._said
        for call in items(message, "tool_calls"):
            used = word(below(call, "function").get("name")) or "a tool"
            self._tools[used] = self._tools.get(used, 0) + 1

    def reading(self, *, skipped: int = 0) -> Reading:
        return Reading(text=self._said, conversation=self._session, tools=dict(self._tools), skipped=skipped)


def reader(kind: str) -> Reader:
    """What reads a format."""
    return {STREAM: Stream, JSON: One, TEXT: Whole}[kind]()


def journal(conversation: str, env: Mapping[str, str]) -> str:
    """Where Vibe logs a session: in a folder that ends with the first letters of its id."""
    home = env.get("VIBE_HOME") or os.path.join(env.get("HOME", ""), ".vibe")
    return os.path.join(glob.escape(home), "logs", "session", f"session_*_{glob.escape(conversation[:8])}", "meta.json")


def used(reading: Reading, meta: Mapping[str, Any]) -> Reading:
    """What all of the conversation used so far, if the file is of that."""
    if meta.get("session_id") != reading.conversation:
        return reading
    stats = below(meta, "stats")
    tokens = Tokens(number(stats.get("session_prompt_tokens")), number(stats.get("session_completion_tokens")))
    model = reading.model or word(below(meta, "agent_config").get("active_model"))
    return replace(reading, tokens=tokens, cost_usd=amount(stats.get("session_cost")), model=model)


def upgrade(target: str | None, path: str | None = None) -> tuple[str, ...]:
    """By what it was installed with, as far as its place tells; as a tool of uv if it is not there."""
    wanted = check_target(target)
    package = _PACKAGE if wanted is None else f"{_PACKAGE}=={wanted}"
    place = path or "/uv/tools/"
    if "/uv/tools/" in place:
        return ("uv", "tool", "upgrade", package) if wanted is None else ("uv", "tool", "install", "--force", package)
    if "/pipx/" in place:
        return ("pipx", "upgrade", package) if wanted is None else ("pipx", "install", "--force", package)
    if any(sign in place for sign in ("/Cellar/", "/homebrew/", "/linuxbrew/")):
        if wanted is not None:
            raise BadRequest(
                detail=f"{place} is from Homebrew, which has the newest version only; leave the version out"
            )
        return ("brew", "upgrade", _PACKAGE)
    return (*_pip(place), "install", "--upgrade", package)


def _pip(place: str) -> tuple[str, ...]:
    """Return the pip of the Python that runs Vibe: the one beside it, the one its first line names, or the one on the PATH."""
    beside = f"{place.rpartition('/')[0]}/python3"
    first = b""
    with suppress(OSError), open(place, "rb") as file:
        first = file.readline(4096)
    named = os.fsdecode(first[2:].split()[0]) if first.startswith(b"#!") and first[2:].split() else ""
    for python in (beside, named):
        if "python" in os.path.basename(python) and os.access(python, os.X_OK):
            return (python, "-m", "pip")
    return ("pip",)


CLI = Cli(
    name=NAME,
    program=PROGRAM,
    install="install it with: uv tool install mistral-vibe",
    command=command,
    reader=reader,
    formats=(STREAM, JSON, TEXT, *_ALSO),
    streaming=(STREAM,),
    upgrade=upgrade,
    journal=journal,
    used=used,
    keys=("MISTRAL_API_KEY",),
    model_variable=_MODEL,
    models=("mistral-medium-latest", "devstral-small-latest"),
)
