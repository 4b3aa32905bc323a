"""What the crash tests did, counted: scripts/torture says it at the end."""

import json
import os
import threading
from collections import Counter
from pathlib import Path

_lock = threading.Lock()
_counts: Counter[str] = Counter()


def count(what: str, number: int = 1) -> None:
    """One more job, kill or byte checked."""
    with _lock:
        _counts[what] += number


def write() -> None:
    """Add what was counted to the file that BIDE_TALLY names, if it names one."""
    with _lock:
        name = os.environ.get("BIDE_TALLY")
        if name and _counts:
            with Path(name).open("a", encoding="ascii") as file:
                file.write(json.dumps(_counts) + "\n")
        _counts.clear()
