"""How the tool names of a vocabulary with dots are spelled.

MCP allows dots in a name, but many clients and the APIs of their models take `[a-zA-Z0-9_-]` only, and then often refuse
every tool of the server. So `process.run` is listed as `process__run` to all clients, and taken in both spellings.
"""

from __future__ import annotations


def listed(name: str) -> str:
    """Return the name as it is listed, from either spelling."""
    return name.replace(".", "__")
