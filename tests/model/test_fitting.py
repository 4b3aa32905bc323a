"""Answers within their limits: the largest cut first, and data that stays data."""

import json

import pytest

from bide.model.fitting import as_json, cut, fitted_data, largest, size_of


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [
        ([], []),
        ([10, 20], [10, 20]),
        ([300, 10], [300, 10]),
        ([700, 10], [590, 10]),
        ([200, 200, 200], [200, 200, 200]),
        ([200, 200, 200, 50], [183, 183, 183, 50]),
        ([1000] * 10, [60] * 10),
    ],
)
def test_146_of_a_batch_the_largest_are_cut_first(sizes: list[int], kept: list[int]) -> None:
    most = largest(sizes, 600)
    assert [min(size, most) for size in sizes] == kept


def test_146_the_beginning_and_the_end_stay_and_characters_are_whole() -> None:
    text = cut("ä" * 200 + "the end", 200)
    assert text.startswith("ä")
    assert text.endswith("the end")
    assert len(text.encode()) <= 200
    assert "\ufffd" not in text


@pytest.mark.parametrize("over", [1, 10, 1000, 200_000])
def test_146_what_was_cut_is_said_with_two_sizes_that_differ(over: int) -> None:
    text = cut("x" * (262_144 + over), 262_144)
    before, _, after = text.partition("[truncated, ")[2].partition("]")[0].partition(" → ")
    assert before != after
    assert len(text) > 262_000


@pytest.mark.parametrize("text", ["\n", "\x01", '"', "ä", "x", "\U0001f600"])
def test_117_data_that_is_too_long_is_cut_in_its_texts_and_stays_data(text: str) -> None:
    data = {"completed": [{"id": "a", "result": text * 100_000}, {"id": "b", "result": "short"}], "pending": []}
    found = fitted_data(data, 5000)
    assert 3000 < size_of(as_json(found)) <= 5000
    assert json.loads(as_json(found)) == found
    assert (found["completed"][0]["id"], found["completed"][1]) == ("a", {"id": "b", "result": "short"})
    assert "... [truncated, " in found["completed"][0]["result"]


def test_117_data_that_fits_is_left_alone() -> None:
    data = {"result": "x" * 100}
    assert fitted_data(data, 1000) is data
