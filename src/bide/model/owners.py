"""Who a client is that has no name of its own."""

import re

_OWNER_MAX = 100
CLIENT_NAMES = {"claude": "claude-code", "codex": "codex-mcp-client"}
"""What clients call themselves when they speak with us."""


def owner_of(client: str, folder: str) -> str:
    """The program and the folder it works in, the same after its restart."""
    name = f"{re.sub(r'[^A-Za-z0-9._-]', '-', client) or 'mcp'}@{re.sub(r'[^A-Za-z0-9._/-]', '-', folder)}"
    if len(name) <= _OWNER_MAX:
        return name
    import hashlib  # noqa: PLC0415 - only a long path pays for it

    return f"{name[:40]}-{hashlib.sha256(name.encode()).hexdigest()[:20]}"


PIPE = "pipe"
"""Who ended a job where a pipe between two jobs broke."""


def job_of(job: str, owner: str) -> str:
    """Who did something, where that was a process within a job."""
    return f"job {job} of owner {owner}"


def is_by(owner: str, by: str) -> bool:
    """Whether an owner did something: a client of its own, or one of its jobs. A long name may be cut."""
    _, found, whose = by.partition(" of owner ")
    return by == owner or (by.startswith("job ") and bool(found) and owner.startswith(whose))
