"""Imports of our own, whatever modules lie in the folder of the user's code."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def load(name: str) -> "Any":
    """A module of Python's own, or of ours: the current folder is not searched for it, nor for what it imports."""
    path = sys.path[:]
    sys.path[:] = [place for place in path if place]
    try:
        return __import__(name, fromlist=["-"])
    finally:
        sys.path[:] = path
