"""Output as a terminal would leave it, as text for somebody who has no terminal. Pure."""

from __future__ import annotations

import codecs
import re

ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])"
)
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def uncontrolled(text: str) -> str:
    """Return the text without what would steer a terminal; its lines and carriage returns stay."""
    return CONTROLS.sub(lambda found: "\r" if found[0] == "\r" else "", ESCAPES.sub("", text))


def clean_line(text: str) -> str:
    """Return a line without escape sequences, and of what was written over it only the last."""
    plain = ESCAPES.sub("", text).rstrip("\r")
    if "\r" in plain:
        plain = next((part for part in reversed(plain.split("\r")) if part), "")
    return CONTROLS.sub("", plain)


def clean(data: bytes) -> str:
    """Return output as text, each of its lines cleaned; its newlines stay as they are."""
    text = data.decode("utf-8", "replace")
    if not CONTROLS.search(text):
        return text
    return "\n".join(clean_line(line) for line in text.split("\n"))


def decoded(data: bytes, *, final: bool) -> tuple[str, int]:
    """Return the text, and how many bytes at its end begin a character that is not complete yet."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(data, final=final)
    return text, len(decoder.getstate()[0])
