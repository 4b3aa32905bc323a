"""python -m bench: every figure of bide beside its peer or its limit, measured in the same run."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import NoReturn, cast

from bench.figures import Figure
from bench.place import Place
from bench.processes import filesystem
from bench.rows import (
    answers,
    cli,
    excerpts,
    exits,
    latency,
    listing,
    llm,
    mcp,
    memory,
    outbox,
    output,
    python,
    removing,
    restart,
    retaining,
    sessions,
    starting,
    throughput,
)
from bench.table import render

Measure = Callable[[Place], Awaitable[list[Figure]]]

ROWS: dict[str, Measure] = {
    "latency": latency.measure,
    "throughput": throughput.measure,
    "memory": memory.measure,
    "output": output.measure,
    "exit": exits.measure,
    "restart": restart.measure,
    "start": starting.measure,
    "cli": cli.measure,
    "python": python.measure,
    "list": listing.measure,
    "sessions": sessions.measure,
    "gc": removing.measure,
    "gc-many": retaining.measure,
    "mcp": mcp.measure,
    "answers": answers.measure,
    "excerpts": excerpts.measure,
    "outbox": outbox.measure,
    "llm": llm.measure,
}
"""In the order of the table."""

ORDER = (
    "latency",
    "exit",
    "throughput",
    "cli",
    "python",
    "mcp",
    "outbox",
    "llm",
    "memory",
    "restart",
    "sessions",
    "gc",
    "output",
    "list",
    "gc-many",
    "answers",
    "excerpts",
    "start",
)
"""In which they are measured: `memory` and `restart` share a thousand running jobs, `output` and `list` leave
gigabytes to be written back, and neither may disturb the others."""

HEAVY = ("output", "list", "gc-many")

NAMED = ("gc-many", "answers")
"""Rows that take minutes: measured only where they are asked for by name."""

REPOSITORY = Path(__file__).resolve().parent.parent
LIMIT_SECONDS = 420
"""When something hangs. A run takes less than half of it."""


class Progress:
    """One line on stderr, rewritten on a terminal."""

    def __init__(self) -> None:
        """Nothing is said yet."""
        self.row = ""
        self._live = sys.stderr.isatty()

    def __call__(self, what: str) -> None:
        """Say what is going on."""
        line = f"bench: {self.row}: {what}" if self.row else f"bench: {what}"
        print(f"\r\033[K{line}" if self._live else line, end="" if self._live else "\n", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Leave no trace on a terminal."""
        if self._live:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")
    parser.add_argument(
        "--only",
        metavar="ROW",
        choices=ROWS,
        action="append",
        help=f"repeatable: {', '.join(ROWS)}; all but {', '.join(NAMED)} if left out",
    )
    return parser.parse_args()


def _give_up(number: int, _: FrameType | None) -> NoReturn:
    sys.exit(f"bench: stopped by {signal.Signals(number).name}")


def _why(error: Exception) -> str:
    """The first thing that went wrong, where several did at once."""
    first: Exception = error
    while isinstance(first, ExceptionGroup):
        first = cast("ExceptionGroup[Exception]", first).exceptions[0]
    return f"{type(first).__name__}: {first}"


async def _measure(wanted: list[str], progress: Progress) -> tuple[list[Figure], bool]:
    found: dict[str, list[Figure]] = {}
    failed = False
    async with Place(REPOSITORY, progress) as place:
        for number, row in enumerate(sorted(wanted, key=ORDER.index), start=1):
            progress.row = f"[{number}/{len(wanted)}] {row}"
            if row in HEAVY:
                await place.clear()
            progress("begins")
            try:
                found[row] = await ROWS[row](place)
            except Exception as error:  # noqa: BLE001 - one row that fails does not hide the others
                failed = True
                found[row] = [Figure(row, "failed", "", "", 0, at_most=True, note=_why(error))]
        progress.row = ""
        progress("ends what it started")
    progress.clear()
    return [figure for row in ROWS for figure in found.get(row, [])], failed


def main() -> int:
    """Measure, print, and say by the status whether everything could be measured."""
    args = _arguments()
    for number in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, _give_up)
    wanted: list[str] = args.only or [row for row in ROWS if row not in NAMED]
    signal.alarm(LIMIT_SECONDS if not set(NAMED) & set(wanted) else 4 * LIMIT_SECONDS)
    for name in ("BIDE_HOME", "BIDE_JOB", "BIDE_OWNER"):
        os.environ.pop(name, None)
    began = time.monotonic()
    figures, failed = asyncio.run(_measure(wanted, Progress()))
    machine = {
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "filesystem": filesystem(REPOSITORY),
        "python": platform.python_version(),
        "load": os.getloadavg()[1],
        "seconds": round(time.monotonic() - began),
    }
    if args.json:
        print(json.dumps({"machine": machine, "figures": [figure.to_json() for figure in figures]}, indent=2))
    else:
        print(render(figures))
        print(
            "{cores} cores, Linux {kernel}, {filesystem}, Python {python}; load {load:.1f}; took {seconds} s".format(
                **machine
            )
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
