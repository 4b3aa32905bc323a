"""Functions as tools: what their type hints and docstrings make of them, and how they are called."""

import threading
from dataclasses import dataclass
from datetime import date
from enum import Enum
from functools import partial
from typing import Annotated, Any, Literal, TypedDict

import anyio
import anyio.from_thread
import pytest
from tests.agents.desk import STATEFUL, awaiting, said

from bide import BideError
from bide.agents import Call, Context, Tool, Tools, coordinate
from bide.api import Jobs


class Order(Enum):
    NEWEST = "newest"
    OLDEST = "oldest"


@dataclass
class Page:
    size: int
    after: str = ""


class Where(TypedDict, total=False):
    path: str
    tags: list[str]


async def search(
    query: str,
    context: Context,
    *,
    limit: int = 10,
    order: Order = Order.NEWEST,
    kind: Literal["code", "docs"] = "code",
    page: Page | None = None,
    where: Where | None = None,
    since: Annotated[date | None, "only what is newer"] = None,
    weights: dict[str, float] | None = None,
) -> str:
    """Search the index.

    Everything that was indexed is searched.

    Args:
        query: what to look for,
            in words
        limit (int): how many to return
    """
    assert context.cancellation is not None
    size = page.size if page else 0
    return f"{query} {limit} {order.name} {kind} {size} {where} {since!r} {weights}"


def test_a_schema_is_derived_from_the_type_hints_and_the_docstring() -> None:
    tool = Tool.of(search)
    assert (tool.name, tool.required) == ("search", ("query",))
    assert tool.description == "Search the index.\n\nEverything that was indexed is searched."
    assert tool.properties == {
        "query": {"type": "string", "description": "what to look for, in words"},
        "limit": {"type": "integer", "description": "how many to return"},
        "order": {"type": "string", "enum": ["newest", "oldest"]},
        "kind": {"type": "string", "enum": ["code", "docs"]},
        "page": {
            "type": "object",
            "properties": {"size": {"type": "integer"}, "after": {"type": "string"}},
            "required": ["size"],
            "additionalProperties": False,
        },
        "where": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
            "additionalProperties": False,
        },
        "since": {"type": "string", "description": "only what is newer; a date, as 2026-12-31"},
        "weights": {"type": "object", "additionalProperties": {"type": "number"}},
    }


async def test_a_function_gets_its_arguments_as_the_types_it_declares(local: Jobs) -> None:
    given = {
        "query": "tea",
        "limit": "5",
        "order": "oldest",
        "page": {"size": 3},
        "where": {"path": "/"},
        "since": "2026-01-02",
        "kind": None,
    }
    async with coordinate(local, Tools(search)) as desk:
        assert await said(desk, Call("1", "search", given)) == [
            "tea 5 OLDEST code 3 {'path': '/'} datetime.date(2026, 1, 2) None"
        ]
        wrong = [{"query": 1}, {"query": "x", "since": "soon"}, {"query": "x", "limt": 1}, {"query": "x", "kind": "y"}]
        answers = await said(desk, *(Call(str(at), "search", one) for at, one in enumerate(wrong)))
    assert answers[0] == "'query' must be a string, not 1"
    assert "'since'" in answers[1]
    assert "did you mean 'limit'" in answers[2]
    assert "'kind' must be one of code, docs" in answers[3]


def numpy(query: str, limit: int = 1) -> str:
    """Look.

    Parameters
    ----------
    query : str
        what to look for,
        in words
    limit
        how many

    Returns
    -------
    str
        what was found
    """
    return query * limit


def sphinx(query: str, limit: int = 1) -> str:
    """Look.

    :param query: what to look for,
        in words
    :param int limit: how many
    :returns: what was found
    """
    return query * limit


@pytest.mark.parametrize("function", [numpy, sphinx])
def test_docstrings_of_other_styles_are_read(function: Any) -> None:
    tool = Tool.of(function)
    assert tool.description == "Look."
    assert [one["description"] for one in tool.properties.values()] == ["what to look for, in words", "how many"]


def test_a_type_that_json_cannot_carry_is_refused_when_the_tool_is_made() -> None:
    def lock(held: threading.Thread) -> None: ...

    def rest(*args: str) -> None: ...

    for function, key in ((lock, "held"), (rest, "args")):
        with pytest.raises(BideError, match=f"the parameter '{key}' of '{function.__name__}'"):
            Tool.of(function)


def test_a_class_that_has_itself_in_it_and_what_has_no_type_are_described() -> None:
    def walk(tree: "Tree", anything: Any, pair: tuple[int, str] = (1, "")) -> None: ...

    properties = Tool.of(walk).properties
    inner = properties["tree"]["properties"]["children"]["items"]
    assert inner == {"type": "object", "additionalProperties": True}
    assert {"type": "null"} in properties["anything"]["anyOf"]
    assert (properties["pair"]["minItems"], properties["pair"]["maxItems"]) == (2, 2)


@dataclass
class Tree:
    children: list["Tree"]


async def test_a_plain_function_is_a_tool_and_keeps_nobody_waiting(local: Jobs) -> None:
    release = threading.Event()
    threads: list[str] = []

    def slow(text: str) -> str:
        threads.append(threading.current_thread().name)
        release.wait(10)
        return text.upper()

    def raw(_: Context, given: dict[str, Any]) -> str:
        return str(given)

    def broken() -> None:
        raise RuntimeError("the index is gone")

    tools = Tools(Tool.of(slow, spawn=STATEFUL), Tool("raw", "", raw), broken)
    async with coordinate(local, tools) as desk:
        with anyio.fail_after(20):
            spawned = Call("1", "slow", {"action": "spawn", "id": "s", "text": "hi"})
            await said(desk, spawned)
            assert await said(desk, Call("2", "raw", {}), Call("3", "broken", {})) == [{}, "the index is gone"]
            release.set()
            (awaited,) = await said(desk, awaiting(all=["s"]))
    assert awaited["completed"][0]["result"] == "HI"
    assert threads != [threading.main_thread().name]


async def test_a_plain_function_writes_and_asks_from_its_thread(local: Jobs) -> None:
    def work(context: Context) -> str:
        anyio.from_thread.run(context.write, "looking\n")
        return "found"

    async with coordinate(local, Tools(Tool.of(work, spawn=STATEFUL))) as desk:
        with anyio.fail_after(20):
            _, awaited = await said(desk, Call("1", "work", {"action": "spawn", "id": "w"}), awaiting(all=["w"]))
    assert awaited["completed"][0]["result"] == "looking\nfound"


async def test_other_callables_are_tools_too(local: Jobs) -> None:
    class Adder:
        def __init__(self, by: int) -> None:
            self.by = by

        async def __call__(self, number: int) -> int:
            """Add."""
            return number + self.by

    async def scaled(number: int, factor: int) -> int:
        return number * factor

    tools = Tools(Tool.of(Adder(2), name="add"), Tool.of(partial(scaled, factor=3), name="triple", description="3 x"))
    async with coordinate(local, tools) as desk:
        given = {"number": 4}
        assert await said(desk, Call("1", "add", given), Call("2", "triple", given)) == ["6", "12"]
    assert [(one.description, one.required) for one in tools] == [("Add.", ("number",)), ("3 x", ("number",))]
