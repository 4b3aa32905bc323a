"""Durations and instants as they are on the wire."""

from datetime import timedelta

import pytest

from bide.model.times import from_ms, ms


@pytest.mark.parametrize(
    ("duration", "number"),
    [
        (None, None),
        (timedelta(0), 0),
        (timedelta(microseconds=1), 1),
        (timedelta(milliseconds=1), 1),
        (timedelta(microseconds=1001), 2),
        (timedelta(seconds=-1), -1000),
        (timedelta(microseconds=-1001), -1),
        (timedelta.max, 86_400_000_000_000_000),
    ],
)
def test_a_duration_is_whole_milliseconds_rounded_up(duration: timedelta | None, number: int | None) -> None:
    assert ms(duration) == number


def test_milliseconds_are_a_duration() -> None:
    assert from_ms(1500) == timedelta(seconds=1.5)
    assert from_ms(None) is None
