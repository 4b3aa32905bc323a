"""Memory for large requests that are unfinished, or wait for their turn: a budget that all connections of a server share."""

from __future__ import annotations

from collections.abc import Callable

from bide.model.errors import TooMuchAtOnce
from bide.web.heads import whole

_SMALL = 64 * 1024
"""A request of up to this many bytes needs no room."""
_MOST_MIB = 64

GiveWay = Callable[[], None]
"""Lets go of what a connection sent, and closes it."""


class Bodies:
    """So many bytes at once. When there are more, whoever has sent nothing for longest gives way."""

    def __init__(self, most_mib: int = _MOST_MIB) -> None:
        """Begin with nothing held."""
        self._most = most_mib * 1024 * 1024
        self.refusal = whole(TooMuchAtOnce(most_mib=str(most_mib)).to_json(), 503)
        """What a connection that gives way is told."""
        self._held: dict[GiveWay, int] = {}
        """How much of each, the one that sent nothing for longest first."""
        self._size = 0

    def hold(self, who: GiveWay, size: int) -> None:
        """Note how much of a connection's requests is held; others may give way, and so may it."""
        if who not in self._held and size <= _SMALL:
            return
        self._size += size - self._held.pop(who, 0)
        if size:
            self._held[who] = size
        while self._size > self._most:
            first = next(iter(self._held))
            self._size -= self._held.pop(first)
            first()
