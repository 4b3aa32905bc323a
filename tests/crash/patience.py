"""Waiting in crash tests, which are synchronous: for a fact, never for a while."""

import os
import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 300.0 if "BIDE_TORTURE" in os.environ else 30.0
_TICK = 0.003
_nothing = threading.Event()


def pause(seconds: float) -> None:
    """Let time pass between two random kills."""
    _nothing.wait(seconds)


def until(found: Callable[[], T], within: float = PATIENCE) -> T:
    """What is found, once it is something."""
    deadline = time.monotonic() + within
    while not (it := found()):
        assert time.monotonic() < deadline, f"nothing after {within:g} s"
        pause(_TICK)
    return it
