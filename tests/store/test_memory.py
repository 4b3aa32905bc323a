"""Rows in memory: as those on disk, but bounded by number and gone with the process."""

import sqlite3
from collections.abc import Iterator
from datetime import timedelta

import pytest
from tests.store.conftest import START

from bide.model.llm.conversation import Conversation
from bide.store.llm import LlmRows, RequestRow
from bide.store.memory import Memory


@pytest.fixture
def memory() -> Iterator[Memory]:
    found = Memory()
    yield found
    found.close()


def test_the_oldest_requests_go_with_the_conversations_that_only_they_named(memory: Memory) -> None:
    rows = LlmRows(memory, memory)
    for number, conversation in enumerate(("a", "b", "a", "c")):
        at = START + timedelta(seconds=number)
        rows.start(RequestRow(str(number), "j", "claude", "me", at, conversation=conversation)).result()
        rows.use(Conversation(conversation, "claude", "me", "", "", at, at)).result()
    rows.use(Conversation("unnamed", "claude", "me", "", "", START, START)).result()
    rows.keep_newest(2).result()
    assert [rows.find(str(number), "me") is not None for number in range(4)] == [False, False, True, True]
    assert [one.id for one in rows.conversations("me", START)] == ["c", "a", "unnamed"]


def test_what_fails_is_undone_and_told_to_who_looks(memory: Memory) -> None:
    def half(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO groups (name, limited, paused) VALUES ('g', 0, 0)")
        raise ValueError("no more")

    assert isinstance(memory.submit(half).exception(), ValueError)
    assert memory.rows("SELECT * FROM groups", {}, tuple) == []
    assert memory.submit(lambda connection: connection.execute("SELECT 1").fetchone()).result() == (1,)


def test_text_that_is_not_unicode_is_in_no_row(memory: Memory) -> None:
    assert LlmRows(memory, memory).find("\udcff", None) is None
