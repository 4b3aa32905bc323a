"""Where answers are kept, and for how long: what a caller's environment and settings come to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from bide.model.llm.answer import Note
from bide.model.llm.choices import LlmSettings
from bide.model.times import ms

PASSING = "LLM_GATEWAY_JOBS_DB=none, or the backend of the gateway's file"
UNRECORDED = Note(
    "answer_not_kept",
    f"{PASSING}: this answer can be read for an hour after its end, from files in bide's home, and is then deleted.",
)
"""What a caller is told whose request is not on record."""
_VARIABLES = (
    "LLM_GATEWAY_JOBS_DB",
    "LLM_GATEWAY_LOGS_DB",
    "LLM_GATEWAY_JOB_RETENTION_DAYS",
    "LLM_GATEWAY_DEDUP_WINDOW_MS",
)


class Kept(Struct, frozen=True):
    """What holds for the requests of one caller."""

    chosen: LlmSettings
    recorded: bool = True
    keep_days: int = 0
    """0 for as long as the home keeps answers."""
    file: str | None = None
    """The gateway's settings file, if there is one."""
    notes: tuple[Note, ...] = ()

    def to_json(self, database: str, env: Mapping[str, str]) -> dict[str, Any]:
        """Return it in the gateway's words."""
        warnings = [*([UNRECORDED.message] if not self.recorded else []), *(note.message for note in self.notes)]
        return {
            "backend": "sqlite" if self.recorded else "memory",
            "durable": self.recorded,
            "dbPath": database if self.recorded else None,
            "dsn": None,
            "retentionDays": (self.keep_days or self.chosen.keep.days) if self.recorded else 0,
            "dedupWindowMs": ms(self.chosen.dedup_window),
            "asyncJobsEnabled": True,
            "acknowledgeEphemeral": not self.recorded,
            "sources": {"configFile": self.file, "envOverrides": [name for name in _VARIABLES if env.get(name)]},
            "warning": " ".join(warnings) or None,
        }
