"""Names of settings in the documents behind the toolsets, and what each is called here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any, cast

_HERE = {
    "async.enabled": "mcp.job.async_enabled",
    "async.maxJobs": "mcp.job.most",
    "async.pollWaitDuration": "mcp.job.poll_wait",
    "bash.autoBackground.enabled": "mcp.job.auto_background",
    "bash.autoBackground.thresholdMs": "mcp.job.auto_background_after (a time such as '60s')",
}


def unknown(name: str, value: object, known: Sequence[str]) -> str:
    """Return the sentence on a setting that is not there, with the name it has here or the one that is most like it."""
    for one in _paths(name, value):
        if one in _HERE:
            return f"there is no setting {one!r}; here it is {_HERE[one]}"
    near = get_close_matches(name, known, n=1)
    last = [one.rpartition(".")[2] for one in known]
    hint = f"did you mean {near[0]}" if near else f"known are {', '.join(last)}"
    return f"there is no setting {name!r}; {hint}"


def _paths(name: str, value: object) -> Iterator[str]:
    """Yield the names of all settings in a table."""
    if isinstance(value, dict):
        for key, one in cast("dict[str, Any]", value).items():
            yield from _paths(f"{name}.{key}", one)
    else:
        yield name
