"""How long each client waits for the answer to one call. One table; a configured number goes before it."""

from __future__ import annotations

DEADLINE = 45.0
"""Seconds after which a foreground run is deferred, for a client that is not known to wait longer."""
AWAIT = 50.0
"""Seconds that one `await` may block; many clients give up at 60."""

_KNOWN: dict[str, float] = {
    "claude-code": 290.0,
    "codex-mcp-client": 290.0,
    "gemini-cli-mcp-client": 290.0,
}
"""What was measured: Codex ends a call at 300 s whatever is reported meanwhile; the others were seen to wait for longer."""


def is_known(client: str) -> bool:
    """Return whether this client hands answers to a model, as was seen."""
    return client in _KNOWN


def longest(client: str, configured: float | None = None) -> float:
    """Seconds that one call of this client may take."""
    return configured if configured is not None else _KNOWN.get(client, AWAIT)


def deadline(client: str, configured: float | None = None) -> float:
    """Seconds after which a foreground run of this client is deferred."""
    return min(DEADLINE, longest(client, configured))
