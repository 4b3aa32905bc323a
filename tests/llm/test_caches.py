"""What is made of the figures of requests (237, 238, 241, 242), and when a word on a cache that goes is due."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.llm.conftest import Fakes
from tests.support import homes
from tests.support.patience import eventually

from bide.api import Jobs
from bide.model.llm import caches
from bide.model.llm.caches import Used
from bide.model.llm.prompt import Parts

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TTL = timedelta(minutes=5)


def used(
    cli: str = "claude", model: str = "claude-sonnet-4", *, ago: float = 0, write: int = 7, read: int = 100
) -> Used:
    at = NOW - timedelta(seconds=ago)
    return Used(cli, model, 4, 2, read, write, 10, 5, 1, 1, first_at=at, last_at=at)


def test_237_figures_add_up_by_cli() -> None:
    state = caches.of_all([used(), used("codex", "gpt-5-codex"), used("codex", "unknown")], (2, 5))
    assert (state["totalRequests"], state["totalHits"], state["hitRate"]) == (12, 6, 0.5)
    assert [(row["cli"], row["requestCount"]) for row in state["perCli"]] == [("claude", 4), ("codex", 8)]
    assert state["estimatedSavingsUsd"] == pytest.approx((100 * 3 * 0.9 + 100 * 1.25 * 0.5) / 1e6)
    assert (state["stablePrefixReuseCount"], state["explicitCacheControlHitRate"]) == (3, 1.0)


def test_238_what_is_not_known_is_all_zeros() -> None:
    assert caches.of_all([], (0, 0))["hitRate"] == 0.0
    assert caches.of_prefix("x", [])["firstSeenAt"] is None
    assert caches.of_conversation("x", [], 0, TTL, NOW)["ttlRemainingMs"] is None


@pytest.mark.parametrize(("ago", "left"), [(0, 300_000), (288, 12_000), (300, 0), (1000, 0)])
def test_242_the_time_to_live_counts_from_the_last_request(ago: float, left: int) -> None:
    assert caches.of_conversation("c", [used(ago=ago)], 1, TTL, NOW)["ttlRemainingMs"] == left
    assert caches.of_conversation("c", [used("codex", ago=ago)], 1, TTL, NOW)["ttlRemainingMs"] is None


@pytest.mark.parametrize(
    ("row", "left"),
    [
        (used(ago=270), None),
        (used(ago=271), 29_000),
        (used(ago=288), 12_000),
        (used(ago=400), 0),
        (used(ago=288, write=0), None),
        (used("codex", ago=288), None),
    ],
)
def test_241_a_word_is_due_when_less_than_30_seconds_are_left_of_what_was_written(row: Used, left: int | None) -> None:
    note = caches.expiring("c", [row], TTL, NOW)
    assert (None if note is None else note.figures["ttlRemainingMs"]) == left
    if left == 12_000:
        assert note is not None
        assert note.message == (
            "Anthropic cache breakpoint for session c expires in 12000ms (< 30000ms). Subsequent requests may miss the cache."
        )


async def test_241_the_word_comes_only_if_it_is_wanted(home: Path, fakes: Fakes) -> None:
    home.mkdir()
    for wanted in ("true", "false"):
        text = f"[llm.cache]\nwarn_on_ttl_expiry = {wanted}\nanthropic_ttl = '20s'\n"
        (home / "config.toml").write_text(text, encoding="utf-8")
        async with homes.local(home) as jobs:
            await jobs.llm.ask("claude", f"hello {wanted}")

            async def recorded() -> bool:
                return (await jobs.llm.cache(conversation="c-1"))["requestCount"] > 0

            await eventually(recorded)
            asked = await jobs.llm.ask("claude", f"and {wanted}", conversation="c-1")
            codes = [note.code for note in asked.answer.notes]
            assert codes == (["cache_ttl_expiring_soon"] if wanted == "true" else [])
    assert len(fakes.started) == 4


async def test_241_the_daemon_tells_of_caches_by_the_file_of_whoever_asks(
    remote: Jobs, fakes: Fakes, tmp_path: Path
) -> None:
    await remote.llm.ask("claude", "hello")
    file = tmp_path / "config.toml"
    file.write_text("[cache_awareness]\nwarn_on_ttl_expiry = true\nanthropic_ttl_seconds = 3600\n", encoding="utf-8")
    env = {"LLM_GATEWAY_CONFIG": str(file)}
    assert (await remote.llm.cache(env=env))["enabledFeatures"] == ["warn_on_ttl_expiry"]
    assert (await remote.llm.cache(env={}))["enabledFeatures"] == []
    assert (await remote.llm.cache(conversation="c-1", env=env))["ttlRemainingMs"] > 3_400_000
    assert len(fakes.started) == 1


async def test_243_a_long_prefix_is_marked_if_that_is_configured_and_told_of_if_not(home: Path, fakes: Fakes) -> None:
    home.mkdir()
    parts = Parts("t", system="s" * 5000, context="c" * 12_000)
    for emit in ("false", "true"):
        (home / "config.toml").write_text(f"[llm.cache]\nemit_anthropic_cache_control = {emit}\n", encoding="utf-8")
        async with homes.local(home) as jobs:
            asked = await jobs.llm.ask("claude", parts=parts, fresh=True)
            assert [note.code for note in asked.answer.notes] == (
                ["cacheable_prefix_uncached"] if emit == "false" else []
            )
            assert (await jobs.llm.ask("claude", parts=Parts("t", system="short"), fresh=True)).answer.notes == ()
    assert fakes.started[2]["stdin"].count('"cache_control"') == 1
    assert fakes.started[0]["stdin"] == ""
