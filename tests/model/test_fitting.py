"""Answers of a batch within their limits: the largest cut first."""

import pytest

from bide.model.fitting import fitted


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [
        ([], []),
        ([10, 20], [10, 20]),
        ([300, 10], [200, 10]),
        ([200, 200, 200], [200, 200, 200]),
        ([200, 200, 200, 50], [183, 183, 183, 50]),
        ([1000] * 10, [60] * 10),
    ],
)
def test_146_each_and_all_together_have_a_limit_and_the_largest_are_cut_first(
    sizes: list[int], kept: list[int]
) -> None:
    found = fitted(["x" * size for size in sizes], each=200, together=600)
    assert [len(text.encode()) <= max(size, 64) for text, size in zip(found, kept, strict=True)] == [True] * len(sizes)
    whole = [text for text, size, room in zip(found, sizes, kept, strict=True) if size <= room]
    assert all(set(text) == {"x"} for text in whole)
    cut = [text for text, size, room in zip(found, sizes, kept, strict=True) if size > room]
    assert all("... [truncated," in text for text in cut)


def test_146_the_beginning_and_the_end_stay_and_characters_are_whole() -> None:
    (text,) = fitted(["ä" * 200 + "the end"], each=200)
    assert text.startswith("ä")
    assert text.endswith("the end")
    assert len(text.encode()) <= 200
    assert "\ufffd" not in text
