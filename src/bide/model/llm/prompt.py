"""A prompt in parts: one order, a stable prefix that is the same bytes for every CLI, and what of it may be cached."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from msgspec import Struct

from bide.model.errors import BadRequest

BOTH = "provide exactly one of `prompt` or `promptParts`"
NONE = "one of `prompt` or `promptParts` is required"
STABLE = ("system", "tools", "context")
"""The parts before the task, in their order."""
LONGEST = 100_000
"""Characters of a prompt that is given as one text."""
LARGEST_PARTS = 8 * 1024 * 1024
_BETWEEN = "\n\n"


class Parts(Struct, frozen=True):
    """A prompt whose stable parts come first, so that providers find them in their caches."""

    task: str
    """What is wanted this time."""
    system: str = ""
    tools: str = ""
    context: str = ""
    cached: tuple[str, ...] = ()
    """The stable parts that Claude is asked to cache: some of `system`, `tools`, `context`."""

    @property
    def prefix(self) -> str:
        """Everything before the task, without what separates it from that."""
        return _BETWEEN.join(part for part in (self.system, self.tools, self.context) if part)

    @property
    def text(self) -> str:
        """The whole prompt."""
        return _BETWEEN.join(part for part in (self.prefix, self.task) if part)


class Prompt(Struct, frozen=True):
    """What is sent, and what is known of its stable prefix."""

    text: str
    parts: Parts | None = None

    @property
    def prefix_hash(self) -> str:
        """The same for prompts that begin with the same stable parts, whatever their task; of nothing, if there are none."""
        return hashlib.sha256(self._prefix()).hexdigest()

    @property
    def prefix_tokens(self) -> int:
        """How many tokens the stable prefix has, roughly."""
        return -(-len(self._prefix()) // 4)

    def _prefix(self) -> bytes:
        return b"" if self.parts is None else self.parts.prefix.encode("utf-8", "surrogateescape")


_FENCE = re.compile(r"\s*(?:```|~~~)")
_INDENTED = re.compile(r"(?: {4}|\t)")
_CODE = re.compile(r"(`[^`]*`)")
_BLANKS = re.compile(r"(?<=\S)[ \t]{2,}(?=\S)")
_START = r"(?:(?<=^)|(?<=[.!?] )|(?<=^[-*] )|(?<=^\d[.)] ))"
_COURTESY = re.compile(
    rf"{_START}(?P<courtesy>(?:(?:please|kindly|(?:could|would|can) you(?: please| kindly)?"
    r"|i(?: would|\x27d) like you to|i (?:want|need) you to),? )+)(?P<next>\S)",
    re.IGNORECASE,
)
"""Where a sentence begins; elsewhere the words may be what the prompt is about."""
_THANKS = re.compile(
    r"(^|[.!?] )(?:thanks|thank you)(?: very much| so much| a lot)?(?: in advance)?[.!]*\s*$", re.IGNORECASE
)


def prompt_of(prompt: str | None, parts: Parts | None) -> Prompt:
    """The one prompt that was given. Raises BadRequest for none, for both, and for one that cannot be sent."""
    if prompt is not None and parts is not None:
        raise BadRequest(detail=BOTH)
    if parts is None:
        if prompt is None:
            raise BadRequest(detail=NONE)
        return Prompt(_checked(prompt, "the prompt", LONGEST))
    for name in parts.cached:
        if name not in STABLE:
            raise BadRequest(detail=f"cacheControl has no part {name!r}; known are {', '.join(STABLE)}")
    _checked(parts.task, "the task of promptParts", LARGEST_PARTS)
    return Prompt(_checked(parts.text, "promptParts", LARGEST_PARTS), parts)


def _checked(text: str, what: str, most: int) -> str:
    if not text:
        raise BadRequest(detail=f"{what} is empty; say what is wanted")
    if len(text) > most:
        detail = f"input_too_large: {what} has {len(text)} characters and {most} are the most"
        instead = "" if most == LARGEST_PARTS else ", or give it in parts (promptParts; --context FILE)"
        raise BadRequest(detail=f"{detail}; put the rest into a file and name that{instead}")
    if "\0" in text:
        raise BadRequest(detail=f"invalid_input: {what} has a NUL in it, which no command line can carry")
    return text


def optimized(text: str) -> str:
    """Return the same text without what says nothing: courtesies, blanks at line ends and within lines, empty lines in a row.

    Code, in fences, between backticks or indented, stays as it is.
    """
    kept: list[str] = []
    fenced = False
    for line in text.strip().split("\n"):
        fence = _FENCE.match(line) is not None
        if fenced or fence:
            kept.append(line if fenced and not fence else line.rstrip())
            fenced = fenced is not fence
            continue
        short = line.rstrip() if _INDENTED.match(line) else _prose(line)
        if short or (kept and kept[-1]):
            kept.append(short)
    return "\n".join(kept).rstrip("\n")


def _prose(line: str) -> str:
    """Return a line of prose in fewer words, its code between backticks untouched."""
    pieces = _CODE.split(line)
    for at in range(0, len(pieces), 2):
        pieces[at] = _BLANKS.sub(" ", pieces[at])
    short = _THANKS.sub(r"\1", _COURTESY.sub(_without, "".join(pieces)))
    return short.rstrip()


def _without(found: re.Match[str]) -> str:
    """Return what is left of a courtesy and the letter after it, which begins the sentence now."""
    first: str = found["next"]
    return first.upper() if found["courtesy"][:1].isupper() else first


def cache_blocks(parts: Parts, ttl: str = "1h") -> list[dict[str, Any]]:
    """The content of one user message for Claude: a block for each part, those to be cached marked so, the task never.

    Read one after the other they are the prompt, byte for byte.
    """
    names = [name for name in STABLE if getattr(parts, name)]
    blocks: list[dict[str, Any]] = []
    for name in names:
        block: dict[str, Any] = {"type": "text", "text": getattr(parts, name) + _BETWEEN}
        if name in parts.cached:
            block["cache_control"] = {"type": "ephemeral", "ttl": ttl}
        blocks.append(block)
    return [*blocks, {"type": "text", "text": parts.task}]


def last_stable(parts: Parts) -> str | None:
    """The last stable part that is there: marking it caches all of the prefix."""
    return next((name for name in reversed(STABLE) if getattr(parts, name)), None)
