"""Ids and names."""

import re
from itertools import pairwise

import pytest

from bide.model.job import ID_PATTERN, check_name, make_id

NOW = 1_800_000_000_000


def test_an_id_fits_its_pattern_and_is_safe_as_a_file_name() -> None:
    for bits in (0, 1, 1023):
        assert ID_PATTERN.match(make_id(NOW, bits))
        assert re.fullmatch(r"[a-z0-9]{11}", make_id(NOW, bits))


def test_ids_sort_by_the_time_they_were_made() -> None:
    ids = [make_id(NOW + step, bits) for step in (0, 1, 2, 999, 10**9) for bits in (0, 512, 1023)]
    assert all(a < b for a, b in pairwise(ids))


@pytest.mark.parametrize("name", ["a", "7", "build-release", "v1.2_x", "n" * 64, "job", "j012345678"])
def test_these_are_names(name: str) -> None:
    assert check_name(name) == name
