"""When two requests are the same job."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum

from msgspec import Struct

WINDOW = timedelta(hours=1)


class Policy(StrEnum):
    """What to do with a request that equals an earlier one."""

    NEW = "new"
    """Run it."""
    REUSE_RUNNING = "reuse_running"
    """Join the earlier job while it is queued or running."""
    REUSE_RECENT = "reuse_recent"
    """Join it as well if it ended with success within the window."""


class Dedup(Struct, frozen=True):
    """Whether to join an earlier job, and how old its end may be."""

    policy: Policy = Policy.NEW
    window: timedelta = WINDOW
    """How long ago a job that is joined may have ended; 0 joins none that ended."""
    fresh: bool = False
    """Join nothing this time; later requests may join this job."""


def fingerprint(
    *, kind: str, command: str | tuple[str, ...], cwd: str, env: Mapping[str, str], extra: Mapping[str, object]
) -> str:
    """The same for two requests that would do the same.

    `env` is what the caller set for this job, not all that its program happened to have around it. `extra` is what the
    kind adds. What merely tells requests apart (keys, names, labels) is not part of it.
    """
    facts = [kind, command, cwd, sorted(env.items()), sorted(extra.items())]
    return hashlib.sha256(json.dumps(facts, ensure_ascii=True).encode()).hexdigest()
