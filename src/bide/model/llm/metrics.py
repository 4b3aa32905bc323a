"""How requests to each CLI did, in the words of the gateway's `metrics://performance`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from msgspec import Struct

from bide.model.times import stamp


class Did(Struct, frozen=True):
    """How the requests to one CLI ended that are on record; canceled ones are not counted."""

    cli: str
    requests: int
    successes: int
    took_ms: int
    """All together."""


def together(found: Iterable[Did]) -> list[Did]:
    """Return one of each CLI, from all places that have some on record."""
    sums: dict[str, Did] = {}
    for one in found:
        before = sums.get(one.cli, Did(one.cli, 0, 0, 0))
        sums[one.cli] = Did(
            one.cli,
            before.requests + one.requests,
            before.successes + one.successes,
            before.took_ms + one.took_ms,
        )
    return list(sums.values())


def metrics(found: Iterable[Did], clis: Iterable[str], at: datetime) -> dict[str, Any]:
    """Return the figures of all CLIs, also of those that nobody asked."""
    by_cli = {one.cli: one for one in found}
    rows = [by_cli.get(cli, Did(cli, 0, 0, 0)) for cli in clis]
    requests, successes = sum(row.requests for row in rows), sum(row.successes for row in rows)
    return {
        "totalRequests": requests,
        "totalSuccesses": successes,
        "totalFailures": requests - successes,
        "overallSuccessRate": _rate(successes, requests),
        "overallFailureRate": _rate(requests - successes, requests),
        "byTool": {row.cli: _figures(row) for row in rows},
        "generatedAt": stamp(at),
    }


def _figures(row: Did) -> dict[str, Any]:
    return {
        "requestCount": row.requests,
        "successCount": row.successes,
        "failureCount": row.requests - row.successes,
        "averageResponseTimeMs": row.took_ms / row.requests if row.requests else 0,
        "successRate": _rate(row.successes, row.requests),
        "failureRate": _rate(row.requests - row.successes, row.requests),
    }


def _rate(some: int, all_: int) -> float:
    return some / all_ if all_ else 0
