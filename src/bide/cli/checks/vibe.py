"""Mistral Vibe's own settings, as far as requests depend on them."""

import os
from collections.abc import Iterator

from bide.cli.checks.finding import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bide.client.http1 import Json

ADVICE = "set [session_logging] enabled = true in Vibe's config.toml: without it nothing can be resumed"


def vibe_logging() -> "bool | None":
    """Return what Vibe's settings say of its session logs; `None` where they say nothing."""
    import tomllib  # noqa: PLC0415 - only the doctor pays for it

    home = os.environ.get("VIBE_HOME") or os.path.join(os.path.expanduser("~"), ".vibe")
    try:
        with open(os.path.join(home, "config.toml"), "rb") as file:
            found: Json = tomllib.load(file)
            enabled: object = found["session_logging"]["enabled"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return enabled if isinstance(enabled, bool) else None


def vibe_checks() -> "Iterator[Finding]":
    """Yield a warning if Vibe is told not to log its sessions; who has no Vibe need not read of it."""
    if vibe_logging() is False:
        yield Finding("warn", "vibe", "its session logging is switched off", ADVICE)
