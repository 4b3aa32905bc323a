"""How long a job may live when nobody ends it."""

from __future__ import annotations

from enum import StrEnum


class Lifetime(StrEnum):
    """With whom a job ends."""

    FREE = "free"
    """With nobody: it lives until it ends by itself or is told to."""
    SESSION = "session"
    """When its session ends."""
    OWNER = "owner"
    """When its owner's last client has been away for the time of grace."""
