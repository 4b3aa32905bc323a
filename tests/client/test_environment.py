"""What a job begins with is the environment of the moment it is asked for."""

import os

import pytest

from bide.client import environment


def test_a_change_is_seen_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIDE_TEST_WORD", "one")
    first = environment.own()
    assert first == dict(os.environ)
    assert environment.own() is first
    monkeypatch.setenv("BIDE_TEST_WORD", "two")
    assert environment.own()["BIDE_TEST_WORD"] == "two"
    assert first["BIDE_TEST_WORD"] == "one"
    monkeypatch.delenv("BIDE_TEST_WORD")
    assert environment.own() == dict(os.environ)


def test_it_is_read_where_python_keeps_it_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"A": "b"})
    assert environment.own() == {"A": "b"}
