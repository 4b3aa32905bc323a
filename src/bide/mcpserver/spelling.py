"""How a tool's name is spelled to a client. MCP allows dots in it; not every client does, and then often refuses all tools.

A name is listed in one spelling and taken in both.
"""

from __future__ import annotations

_NO_DOTS = ("augment", "claude", "codex", "copilot", "cursor", "visual studio code", "vscode")
"""Words in the names of clients that were seen to refuse, or to warn of, dots: their models' APIs take `[a-zA-Z0-9_-]` only."""


def shown(name: str, client: str) -> str:
    """The name as this client gets it: `process.run`, or `process__run` if it takes no dots."""
    lower = client.lower()
    return name.replace(".", "__") if any(word in lower for word in _NO_DOTS) else name


def meant(name: str) -> str:
    """The name with its dots, however it was spelled."""
    return name.replace("__", ".")
