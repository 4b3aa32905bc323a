"""What a job of an LLM's command line is beside its command."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, fields

PASSING = timedelta(hours=1)
"""How long after its end an answer can be read that is not on record."""


class AskFacts(Struct, frozen=True):
    """Kept in the job's folder, for whoever reads its output."""

    cli: str
    format: str
    """What it writes."""
    correlation_id: str
    shown: str = ""
    """The request as a person would type it, shortened."""
    conversation: str | None = None
    """The one that it goes on with."""
    session: str | None = None
    """The session that it begins or goes on with, by the id that bide gave it."""
    model: str | None = None
    """The one that was asked for."""
    prefix_hash: str = ""
    prefix_tokens: int = 0
    cache_blocks: int = 0
    """How many parts of the prompt the provider was asked to cache."""
    files: tuple[str, ...] = ()
    """What was written for it, and goes when it is over."""
    worktree: str | None = None
    """The working tree that was made for it, or for an equal one before."""
    attempt: int = 1
    """1 for the first, 2 for the one that was made when that failed, and so on."""
    retry_of: str | None = None
    """The job of the attempt before."""
    unknown_model: str | None = None
    """The model that was asked for first, which the CLI did not know."""
    recorded: bool = True
    """What is known of it beside the job is on disk: what it used, how it ended, its conversation.

    Else that goes with the daemon, and the job itself an hour after its end.
    """
    keep_days: int = 0
    """How long it is kept after its end, if whoever asked said so; 0 as the home keeps answers."""

    @property
    def own_time(self) -> timedelta:
        """How long it is kept, as retention has it: nothing where the home says."""
        return timedelta(days=self.keep_days) if self.recorded else PASSING


def facts_to_json(facts: AskFacts | None) -> dict[str, Any] | None:
    """As the job's folder and its row have it."""
    return None if facts is None else {**asdict(facts), "files": list(facts.files)}


def facts_from_json(body: dict[str, Any] | None) -> AskFacts | None:
    """What was kept; what a later version added is passed over."""
    if not body:
        return None
    known: dict[str, Any] = {field.name: body[field.name] for field in fields(AskFacts) if field.name in body}
    known["files"] = tuple(known.get("files", ()))
    return AskFacts(**known)
