"""Instants as the daemon writes them, and as people do."""

import argparse
import time
from datetime import UTC, datetime

from bide.cli.units import parse_duration


def seconds_since(stamp: str) -> float:
    """How long ago that was."""
    return time.time() - datetime.fromisoformat(stamp).timestamp()


def seconds_between(first: str, second: str) -> float:
    """From one instant to another."""
    return datetime.fromisoformat(second).timestamp() - datetime.fromisoformat(first).timestamp()


def local(stamp: str | None) -> str:
    """An instant in the reader's own time zone, to the second."""
    return datetime.fromisoformat(stamp).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z") if stamp else "-"


def parse_instant(text: str) -> str:
    """An instant given as ISO 8601 (local time unless it says otherwise), or as how long ago (`2h`)."""
    try:
        at = datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        try:
            at = datetime.fromtimestamp(time.time() - parse_duration(text), UTC)
        except argparse.ArgumentTypeError:
            example = "2026-01-31, 2026-01-31T08:00 or 2h (that long ago)"
            raise argparse.ArgumentTypeError(f"{text!r} is not a time; write {example}") from None
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
