"""Which CLIs there are: ours, and those that other packages add by the entry point `bide.llm`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points

from bide.kinds.llm import claude, codex, gemini, grok, mistral
from bide.kinds.llm.base import Cli
from bide.model.errors import BadRequest

GROUP = "bide.llm"


@cache
def clis() -> Mapping[str, Cli]:
    """All of them, by name. Ours cannot be replaced by another package's of the same name."""
    found = {cli.name: cli for cli in (claude.CLI, codex.CLI, gemini.CLI, grok.CLI, mistral.CLI)}
    for entry in entry_points(group=GROUP):
        added = entry.load()
        if isinstance(added, Cli):
            found.setdefault(added.name, added)
    return found


def named(name: str) -> Cli:
    """The CLI of this name. Raises BadRequest."""
    found = clis().get(name)
    if found is None:
        raise BadRequest(detail=f"there is no LLM command line {name!r}; known are {', '.join(clis())}")
    return found
