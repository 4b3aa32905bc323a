"""Every known format, within much that happens to say error: its decisive lines are shown, and it is named."""

import pytest
from tests.excerpts.reading import excerpt, shown
from tests.excerpts.samples import SAMPLES
from tests.excerpts.test_choosing import noise

from bide.excerpts.formats import formats, is_generic

NOISE = noise(4000)
ALIKE = {"unittest": "python", "node": "python"}
"""Formats whose strongest line could be of another as well."""


def test_every_format_has_a_sample() -> None:
    assert {one.name for one in formats() if not is_generic(one.name)} == set(SAMPLES)


@pytest.mark.parametrize("prefix", ["", "2026-11-19T12:00:01.123Z "], ids=["bare", "timed"])
@pytest.mark.parametrize("name", SAMPLES)
def test_the_decisive_lines_are_shown(name: str, prefix: str) -> None:
    sample, decisive = SAMPLES[name]
    lines = "".join(f"{prefix}{line}\n" for line in sample.splitlines())
    text = shown(excerpt(NOISE + lines.encode() + NOISE))
    assert [line for line in decisive if line not in text] == []


@pytest.mark.parametrize("name", SAMPLES)
def test_the_format_is_named(name: str) -> None:
    found = excerpt(NOISE + SAMPLES[name][0].encode() + NOISE[:20_000])
    assert found.format in (name, ALIKE.get(name))
    assert found.cause is not None
