"""How many of each group; a group without any is not in it."""

from __future__ import annotations


class Counts(dict[str, int]):
    """Counted by group."""

    def more(self, group: str) -> None:
        """One more."""
        self[group] = self.get(group, 0) + 1

    def less(self, group: str) -> None:
        """One fewer."""
        self[group] -= 1
        if not self[group]:
            del self[group]
