"""How a process does at this moment, as the kernel tells it."""

from __future__ import annotations

import os

from msgspec import Struct

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Vitals(Struct, frozen=True):
    """One look at a process."""

    state: str
    """The kernel's letter: `R` runs, `S` sleeps, `Z` is a zombie."""
    cpu_ms: float
    """So far, with the children that it has waited for."""
    rss_bytes: int

    @property
    def zombie(self) -> bool:
        """Whether it is over and nobody has taken its status."""
        return self.state in ("Z", "X")


def look(pid: int) -> Vitals | None:
    """How it does; `None` if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            found = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    ticks = sum(int(number) for number in found[11:15])
    return Vitals(found[0].decode(), ticks * 1000 / _TICKS, int(found[21]) * _PAGE)
