"""Where lines begin, and what a prompt is."""

import pytest

from bide import Slice, Stream
from bide.model.output import last_lines_start, tail_text


@pytest.mark.parametrize(
    ("data", "lines", "tail"),
    [
        (b"", 3, b""),
        (b"a\nb\nc\n", 0, b""),
        (b"a\nb\nc\n", 1, b"c\n"),
        (b"a\nb\nc\n", 2, b"b\nc\n"),
        (b"a\nb\nc", 2, b"b\nc"),
        (b"a\nb\nc\n", 9, b"a\nb\nc\n"),
        (b"\n\n\n", 2, b"\n\n"),
        (b"no newline", 1, b"no newline"),
    ],
)
def test_the_last_lines_of_some_bytes(data: bytes, lines: int, tail: bytes) -> None:
    assert data[last_lines_start(data, lines) :] == tail


@pytest.mark.parametrize(
    "data", [b"\n" * 10_000, b"a\n" * 7000 + b"b", b"x" * 5000 + b"\n" * 4096 + b"y" * 4096 + b"\n"]
)
def test_the_last_lines_of_many(data: bytes) -> None:
    every = data.splitlines(keepends=True)
    for lines in (1, 2, 4095, 4096, 4097, 5000, 6999, 7000, 7001, 9999, 10_000, 10_001):
        assert data[last_lines_start(data, lines) :] == b"".join(every[-lines:])


@pytest.mark.parametrize(
    ("data", "prompt"),
    [
        (b"", ""),
        (b"done\n", ""),
        (b"first\nName? ", "Name? "),
        (b"10%\r20%\r30%", "30%"),
        (b"\xff ok? ", "\ufffd ok? "),
        (b"x" * 1000, "x" * 400),
    ],
)
def test_a_prompt_is_the_last_unfinished_line(data: bytes, prompt: str) -> None:
    assert tail_text(data) == prompt


@pytest.mark.parametrize(("ended", "at", "eof"), [(True, 10, True), (True, 9, False), (False, 10, False)])
def test_nothing_more_will_come_only_after_the_end_and_the_last_byte(ended: bool, at: int, eof: bool) -> None:
    assert Slice(Stream.OUT, b"", at, at, 10, 0, ended).eof is eof
