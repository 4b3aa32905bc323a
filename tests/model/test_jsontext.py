"""JSON on busy paths means what the standard library's means."""

import json
import math

import pytest

from bide.model import jsontext

VALUES: list[object] = [
    {"argv": ["caf\u00e9", "\U0001f600", "a\0b\x1b"], "nested": [{"x": None}, True, 1.5, -3]},
    {"argv": ["not UTF-8: \udcff"]},
    "\ud800",
    {"big": 12345678901234567890123456789},
    [],
]


@pytest.mark.parametrize("value", VALUES)
def test_what_is_written_is_read_by_both(value: object) -> None:
    text = jsontext.encode(value)
    assert json.loads(text) == value
    assert jsontext.decode(text) == value
    assert jsontext.decode(bytearray(json.dumps(value).encode())) == value


def test_what_only_the_standard_library_takes_is_taken() -> None:
    assert math.isnan(jsontext.decode(b'{"x": NaN}')["x"])
    assert jsontext.decode(b'{"x": 1e400}')["x"] == math.inf


@pytest.mark.parametrize("text", [b"[1", b"", b"\xff", b"{'a': 1}", b'{"a": 1} x'])
def test_what_is_not_json_is_a_value_error(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        jsontext.decode(text)


def test_what_is_nested_too_deeply_is_a_recursion_error() -> None:
    with pytest.raises(RecursionError):
        jsontext.decode(b"[" * 100_000)
