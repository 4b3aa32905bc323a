"""What an LLM's command line is to us: how to ask it, how to read it, and how to keep it. One value per CLI."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from msgspec import Struct, field

from bide.model.errors import BadRequest
from bide.model.llm.answer import Note, Reading
from bide.model.llm.ask import Ask
from bide.model.llm.prompt import Prompt
from bide.model.llm.steps import Mark

WORD_MAX = 131_071
"""Bytes that the kernel takes in one word of a command line."""
WORDS_MAX = 1024 * 1024
WORDS_MOST = 2048


class Installed(Struct, frozen=True):
    """What was found of a CLI on this machine."""

    cli: str
    path: str | None = None
    """Where; `None` if it is nowhere on the PATH."""
    version: str = ""
    """The first line of what it says of itself."""
    flags: frozenset[str] = frozenset()
    """The long flags that its help lists; empty if it was not asked, or did not answer."""

    def has(self, flag: str) -> bool:
        """Whether it knows a flag; one that did not say is believed to."""
        return not self.flags or flag in self.flags


class Command(Struct, frozen=True):
    """What to execute for a request."""

    words: tuple[str, ...]
    """What follows the program."""
    format: str
    input: bytes | None = None
    """What it reads from its stdin; without, that is empty."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    bypass: bool = False
    """It acts without asking anybody."""
    bypass_asked: bool = False
    """The options of the request say so; what the strategy or a default adds is not counted."""
    cache_blocks: int = 0
    notes: tuple[Note, ...] = ()


class Reader(Protocol):
    """Reads what a CLI writes, piece by piece, in memory that does not grow with it."""

    marks: list[Mark]
    """Where it told how far it is: the newest ones, the same however the pieces were cut."""

    def feed(self, data: bytes) -> None:
        """The next bytes of its stdout."""
        ...

    def finish(self) -> Reading:
        """What was read; more may be fed after it."""
        ...

    @property
    def final(self) -> bool:
        """Whether it has said that this is all."""
        ...


class Cli(Struct, frozen=True):
    """One LLM command line."""

    name: str
    program: str
    install: str
    """What to do when it is not there."""
    command: Callable[[Ask, Prompt, Installed], Command]
    """How to ask it. The model of the request is the one to name. Raises BadRequest."""
    reader: Callable[[str], Reader]
    """What reads the output of a format."""
    formats: tuple[str, ...]
    """What it can write; the first is used unless another is asked for."""
    streaming: tuple[str, ...]
    """Those in which it tells of its work meanwhile, so that silence means something."""
    upgrade: Callable[[str | None, str | None], tuple[str, ...]]
    """The command that brings it to a version, or to the newest, given where it is. Raises BadRequest."""
    silent: tuple[str, ...] = ()
    """Formats in which it says nothing before its end, so that no idle time can be meant."""
    help: tuple[str, ...] = ("--help",)
    """What lists its flags."""
    login: tuple[str, ...] | None = None
    """What tells whether somebody is logged in: leaves with 0 if so."""
    keys: tuple[str, ...] = ()
    """Variables of the environment that stand for a login."""
    model_variable: str | None = None
    """The variable of the environment that names the model, for a CLI that has no flag for it."""
    models: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    unset: tuple[str, ...] = ()
    """Variables that it must not see: they say that it runs inside another of its kind."""
    continuity: bool = True
    """It can go on with an earlier conversation."""
    journal: Callable[[str, Mapping[str, str]], str] | None = None
    """Which files tell what a conversation used, as a pattern, for a CLI whose output does not; by its environment."""
    used: Callable[[Reading, Mapping[str, Any]], Reading] | None = None
    """What was read, with what such a file says."""

    def format_of(self, ask: Ask) -> str:
        """The format of a request. Raises BadRequest."""
        if ask.format is None:
            return self.formats[0]
        if ask.format not in self.formats:
            detail = f"{self.name} cannot write {ask.format!r}; it writes {', '.join(self.formats)}"
            raise BadRequest(detail=detail, field="outputFormat")
        return ask.format


def by_stdin(prompt: str) -> bool:
    """Whether a prompt must not be a word of a command line: it would be too long, or be taken for a flag."""
    return prompt.startswith("-") or too_long(prompt)


def too_long(prompt: str) -> bool:
    """Whether the kernel would not take it as one word."""
    return len(prompt) > WORD_MAX // 4 and len(encoded(prompt)) > WORD_MAX


def encoded(prompt: str) -> bytes:
    """A prompt as bytes; what was no text when it came is what it was."""
    return prompt.encode("utf-8", "surrogateescape")


def check_words(command: Command, cli: str) -> Command:
    """The command, if the kernel takes it. Raises BadRequest."""
    sizes = [len(encoded(word)) for word in command.words]
    if any("\0" in word for word in command.words):
        raise BadRequest(detail=f"invalid_input: an option of {cli} has a NUL in it")
    if max(sizes, default=0) > WORD_MAX or sum(sizes) > WORDS_MAX or len(sizes) > WORDS_MOST:
        detail = "input_too_large: the options are more than a command line can carry"
        raise BadRequest(detail=f"{detail}; put what is long into the prompt or a file")
    return command


def check_target(target: str | None) -> str | None:
    """A version to upgrade to, if it can be one. Raises BadRequest."""
    if target is not None and (not target or target.startswith("-") or not target.isprintable() or " " in target):
        detail = f"{target!r} cannot be a version; give one such as 1.2.3, or leave it out for the newest"
        raise BadRequest(detail=detail, field="target")
    return target
