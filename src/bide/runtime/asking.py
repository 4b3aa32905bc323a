"""The open questions of a runtime, at hand: their rows are the truth, and this is read from them."""

from __future__ import annotations

from bide.runtime.hub import Bell
from bide.store.questions import QuestionRow


class Asking:
    """Which questions are open, by id and by job."""

    def __init__(self) -> None:
        """None is."""
        self._jobs: dict[str, dict[str, QuestionRow]] = {}
        self.closed: Bell = Bell()
        """Rung when one is no longer open."""
        self.changed: Bell = Bell()
        """Rung when others may be asked than before; that includes the prompts of programs, of which nothing is here."""

    def of(self, job: str) -> list[QuestionRow]:
        """Those of a job, oldest first."""
        return list(self._jobs[job].values()) if job in self._jobs else []

    def all(self) -> list[QuestionRow]:
        """All of them, oldest first."""
        found = [row for rows in self._jobs.values() for row in rows.values()]
        return sorted(found, key=lambda row: (row.posed.posed_at, row.posed.id))

    def is_open(self, id_: str) -> bool:
        """Whether it waits for its answer."""
        return any(id_ in rows for rows in self._jobs.values())

    def add(self, row: QuestionRow) -> None:
        """It is open."""
        self._jobs.setdefault(row.posed.job, {})[row.posed.id] = row
        self.changed.ring()

    def drop(self, posed_job: str, id_: str) -> None:
        """It no longer is."""
        rows = self._jobs.get(posed_job, {})
        rows.pop(id_, None)
        if not rows:
            self._jobs.pop(posed_job, None)
        self.closed.ring()
        self.changed.ring()
