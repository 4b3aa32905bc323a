from argparse import ArgumentTypeError

import pytest

from bide.cli.units import parse_duration, parse_ms, parse_size
from bide.model.units import show_age, show_duration, show_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("500ms", 0.5),
        ("10s", 10),
        ("5m", 300),
        ("2h", 7200),
        ("1d", 86400),
        ("45", 45),
        ("1.5", 1.5),
        ("1h30m", 5400),
        ("0", 0),
    ],
)
def test_durations_are_read_as_people_write_them(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "soon", "10x", "-5s", "1h30", "s", "1 2"])
def test_what_is_not_a_duration_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=r"is not a duration; write 500ms, 10s"):
        parse_duration(text)


def test_milliseconds_are_whole() -> None:
    assert parse_ms("1.2345s") == 1234


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("512K", 512 << 10),
        ("10M", 10 << 20),
        ("2G", 2 << 30),
        ("1.5g", 3 << 29),
        ("100", 100),
        ("64MiB", 64 << 20),
        ("1kB", 1024),
    ],
)
def test_sizes_are_powers_of_1024(text: str, count: int) -> None:
    assert parse_size(text) == count


@pytest.mark.parametrize("text", ["", "big", "10X", "-1M", "M"])
def test_what_is_not_a_size_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=r"is not a size; write 512K"):
        parse_size(text)


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0ms"),
        (850, "850ms"),
        (12_340, "12.3s"),
        (59_949, "59.9s"),
        (59_960, "1m 00s"),
        (245_000, "4m 05s"),
        (11_520_000, "3h 12m"),
        (187_200_000, "2d 04h"),
    ],
)
def test_durations_are_shown_in_two_units_at_most(ms: int, text: str) -> None:
    assert show_duration(ms) == text


@pytest.mark.parametrize(("seconds", "text"), [(-3, "0s"), (12, "12s"), (300, "5m"), (10_800, "3h"), (800_000, "9d")])
def test_ages_are_shown_in_one_unit(seconds: float, text: str) -> None:
    assert show_age(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (512, "512 B"), (64 << 20, "64 MiB"), (3 << 29, "1.5 GiB"), (5 << 40, "5 TiB")]
)
def test_sizes_are_shown_in_binary_units(count: int, text: str) -> None:
    assert show_size(count) == text
