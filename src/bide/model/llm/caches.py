"""How well the caches of providers served: figures only, never a word of a prompt or an answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from bide.model.llm.answer import Note
from bide.model.times import stamp

EXPIRES_SOON = timedelta(seconds=30)
_PRICES = (("sonnet", 3.0, 0.1), ("opus", 15.0, 0.1), ("haiku", 1.0, 0.1), ("gpt-5", 1.25, 0.5), ("o3", 1.25, 0.5))
"""Of models whose name has this word: dollars for a million tokens, and what of that a cached one costs."""


class Used(Struct, frozen=True):
    """What some requests of one CLI and model used."""

    cli: str
    model: str
    requests: int
    hits: int
    """Those that read something from a cache."""
    cache_read: int
    cache_write: int
    input: int
    output: int
    explicit: int
    """Those that asked for caching."""
    explicit_hits: int
    first_at: datetime
    last_at: datetime


_COUNTED = ("requests", "hits", "cache_read", "cache_write", "input", "output", "explicit", "explicit_hits")


def together(rows: Iterable[Used]) -> list[Used]:
    """One for each CLI and model, of what comes from more than one place."""
    sums: dict[tuple[str, str], Used] = {}
    for row in rows:
        one = sums.get((row.cli, row.model))
        sums[row.cli, row.model] = row if one is None else _sum(one, row)
    return [sums[key] for key in sorted(sums)]


def _sum(one: Used, other: Used) -> Used:
    counted = {name: getattr(one, name) + getattr(other, name) for name in _COUNTED}
    first, last = min(one.first_at, other.first_at), max(one.last_at, other.last_at)
    return Used(one.cli, one.model, **counted, first_at=first, last_at=last)


def saved_usd(used: Used) -> float:
    """What reading from the cache saved, by list prices; 0 where the price is not known."""
    for word, price, cached in _PRICES:
        if word in used.model:
            return used.cache_read * price * (1 - cached) / 1_000_000
    return 0.0


def _rate(hits: int, requests: int) -> float:
    return hits / requests if requests else 0.0


def _sums(rows: Sequence[Used]) -> dict[str, Any]:
    requests, hits = sum(row.requests for row in rows), sum(row.hits for row in rows)
    return {
        "requestCount": requests,
        "hitCount": hits,
        "hitRate": _rate(hits, requests),
        "totalCacheReadTokens": sum(row.cache_read for row in rows),
        "totalCacheCreationTokens": sum(row.cache_write for row in rows),
        "totalInputTokens": sum(row.input for row in rows),
        "totalOutputTokens": sum(row.output for row in rows),
        "estimatedSavingsUsd": sum(saved_usd(row) for row in rows),
    }


def of_all(rows: Sequence[Used], prefixes: tuple[int, int], hours: int = 24) -> dict[str, Any]:
    """`cache_state://global`."""
    sums = _sums(rows)
    explicit, explicit_hits = sum(row.explicit for row in rows), sum(row.explicit_hits for row in rows)
    return {
        "windowHours": hours,
        "totalRequests": sums.pop("requestCount"),
        "totalHits": sums.pop("hitCount"),
        **sums,
        "perCli": [
            {"cli": cli, **_sums([row for row in rows if row.cli == cli])} for cli in sorted({row.cli for row in rows})
        ],
        "explicitCacheControlRows": explicit,
        "explicitCacheControlHits": explicit_hits,
        "explicitCacheControlHitRate": _rate(explicit_hits, explicit),
        "stablePrefixReuseCount": prefixes[1] - prefixes[0],
    }


def of_conversation(
    conversation: str, rows: Sequence[Used], prefixes: int, ttl: timedelta, now: datetime
) -> dict[str, Any]:
    """`cache_state://session/{id}`; all zeros for one that nothing is known of."""
    last = max((row.last_at for row in rows), default=None)
    cli = rows[0].cli if rows else None
    return {
        "sessionId": conversation,
        "cli": cli,
        **_sums(rows),
        "distinctPrefixCount": prefixes,
        "lastRequestAt": stamp(last),
        "ttlRemainingMs": None if cli != "claude" or last is None else ttl_left_ms(last, ttl, now),
    }


def of_prefix(prefix: str, rows: Sequence[Used]) -> dict[str, Any]:
    """`cache_state://prefix/{hash}`; all zeros for one that nothing is known of."""
    return {
        "stablePrefixHash": prefix,
        **_sums(rows),
        "cliBreakdown": [{"cli": row.cli, "model": row.model or None, "count": row.requests} for row in rows],
        "firstSeenAt": stamp(_least(row.first_at for row in rows)),
        "lastSeenAt": stamp(max((row.last_at for row in rows), default=None)),
    }


def expiring(conversation: str, rows: Sequence[Used], ttl: timedelta, now: datetime) -> Note | None:
    """A word on that what Claude cached for a conversation goes soon; none where nothing was cached."""
    used = [row for row in rows if row.cli == "claude"]
    if not any(row.cache_write for row in used):
        return None
    left = ttl_left_ms(max(row.last_at for row in used), ttl, now)
    if left >= EXPIRES_SOON / timedelta(milliseconds=1):
        return None
    message = (
        f"Anthropic cache breakpoint for session {conversation} expires in {left}ms (< 30000ms). "
        "Subsequent requests may miss the cache."
    )
    return Note("cache_ttl_expiring_soon", message, {"ttlRemainingMs": left})


def _least(times: Iterable[datetime]) -> datetime | None:
    return min(times, default=None)


def ttl_left_ms(last: datetime, ttl: timedelta, now: datetime) -> int:
    """How long what was cached then is still there."""
    return max(0, round((ttl - (now - last)).total_seconds() * 1000))
