"""Which part of an answer carries a job's output to a client's model: the text or the structured content, never both."""

from __future__ import annotations

from enum import StrEnum


class Display(StrEnum):
    """The part of an answer that holds the output."""

    ALONE = "alone"
    """The text, without structured content: a client that finds structured content shows nothing else."""
    TEXT = "text"
    """The text; the structured content holds facts."""
    DATA = "data"
    """The structured content; the text says what happened."""


CHOICES = (Display.TEXT, Display.DATA)
"""What `bide mcp --output` takes."""

_KNOWN = {
    "claude-code": Display.ALONE,
    "codex-mcp-client": Display.ALONE,
    "gemini-cli-mcp-client": Display.ALONE,
}
"""Measured: all three show their model a text that comes alone; the first two show no text beside structured content."""

_TEXT_ALONE = ("gemini-cli-mcp-client",)
"""Measured: these show their model no structured content."""


def display_of(client: str, configured: str | None = None) -> Display:
    """Return where this client's model finds output; a configured choice goes before the table."""
    return Display(configured) if configured is not None else _KNOWN.get(client, Display.TEXT)


def display_of_declared(client: str, configured: str | None = None) -> Display | None:
    """Return where this client's model finds the output of a tool that declares a schema: its answers always have structured content.

    `None` if nobody knows: then the text and the data are both whole, since a text without output may be all that its model sees.
    """
    if configured is not None:
        return Display(configured)
    if client not in _KNOWN:
        return None
    return Display.TEXT if client in _TEXT_ALONE else Display.DATA
