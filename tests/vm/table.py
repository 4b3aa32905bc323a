"""What was tried, and what was seen: printed as it is found, and as a table at the end."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple


class Row(NamedTuple):
    """One thing tried."""

    area: str
    what: str
    seen: str
    good: bool

    def __str__(self) -> str:
        return f"| {self.area} | {self.what} | {self.seen} | {'yes' if self.good else '**NO**'} |"


HEAD = "| part | tried | seen | holds |\n|---|---|---|---|"


class Table:
    """All rows of a run."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.began = time.monotonic()

    @property
    def seconds(self) -> float:
        """Since the run began."""
        return time.monotonic() - self.began

    @property
    def failed(self) -> list[Row]:
        """What does not hold."""
        return [row for row in self.rows if not row.good]

    def add(self, area: str, what: str, seen: str, *, good: bool) -> None:
        """Add a row, and print it."""
        row = Row(area, what, " ".join(seen.split()).replace("|", "/"), good)
        self.rows.append(row)
        print(f"{self.seconds:6.0f} s  {'ok  ' if good else 'FAIL'}  {area}: {what}: {row.seen}", flush=True)

    def note(self, text: str) -> None:
        """Print what is only good to know."""
        print(f"{self.seconds:6.0f} s        {text}", flush=True)

    @contextmanager
    def part(self, area: str) -> Generator[None]:
        """Make a row of a failure inside, and go on after it."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - one part that fails keeps no other from being tried
            self.add(area, "comes to its end", f"{type(error).__name__}: {error}", good=False)

    def __str__(self) -> str:
        return "\n".join([HEAD, *map(str, self.rows)])
