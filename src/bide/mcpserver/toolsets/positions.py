"""One number for a place in two streams, as seed 001 has it: how many bytes of both together come before it."""

from __future__ import annotations

from collections import OrderedDict

_MOST = 10_000

Place = tuple[int, int]
"""An offset in stdout and one in stderr."""


class Positions:
    """Remembers which places the numbers that it gave stand for."""

    def __init__(self, most: int = _MOST) -> None:
        """None was given; the oldest of too many are forgotten."""
        self._most = most
        self._places: OrderedDict[tuple[str, int], Place] = OrderedDict()

    def give(self, job: str, place: Place) -> int:
        """The number for a place of a job."""
        number = sum(place)
        key = (job, number)
        # Two places can have one number; whoever asks for it then has no less than what is new to either.
        self._places[key] = _before(place, self._places.get(key, place))
        self._places.move_to_end(key)
        if len(self._places) > self._most:
            self._places.popitem(last=False)
        return number

    def find(self, job: str, number: int, size: Place) -> tuple[Place, bool]:
        """The place that a number stands for, and whether that is certain.

        One that is not known, as after a restart, is somewhere between two places: the earlier of each stream is given,
        so that nothing is left out. Where only one stream has bytes that is the place itself.
        """
        known = self._places.get((job, number))
        if known is not None:
            return known, True
        out, err = size
        place = (max(0, number - err), max(0, number - out))
        return place, number == 0 or 0 in size


def _before(one: Place, other: Place) -> Place:
    return min(one[0], other[0]), min(one[1], other[1])
