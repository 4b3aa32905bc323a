"""Answers that are long: within their limits, whole as JSON, with the end of the output and true sizes."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.agents.desk import awaiting, said, spawn, tools

from bide.agents.coordinator import Coordinator, coordinate
from bide.api import Jobs

EACH, TOGETHER = 256 * 1024, 2 * 1024 * 1024


@pytest.fixture
async def desk(local: Jobs) -> AsyncIterator[Coordinator]:
    async with coordinate(local, tools(), owner="me") as one:
        yield one


async def _result(desk: Coordinator, command: str) -> str:
    *_, awaited = await said(desk, spawn("a", command), awaiting(all=["a"]))
    row: dict[str, Any] = awaited["completed"][0]
    return row["result"]


@pytest.mark.parametrize("size", [262_000, 262_144, 300_000, 450_000, 2_000_000])
async def test_146_the_end_of_a_long_output_is_shown_whatever_its_length(desk: Coordinator, size: int) -> None:
    result = await _result(
        desk, f"head -c {size} /dev/zero | tr '\\0' x; echo; for i in $(seq 1 12); do echo FAILED test_$i; done"
    )
    assert result.endswith("\n" + "".join(f"FAILED test_{at}\n" for at in range(1, 13)))
    assert result.startswith("xxxx")
    assert 250_000 < len(result) <= EACH
    note = re.search(r"\.\.\. \[truncated, (.+?) → (.+?); all of it: job://j\w+/stdout\]", result)
    assert note is not None
    assert note[1] != note[2]


async def test_117_an_await_over_results_that_are_long_together_is_json_with_each_end(desk: Coordinator) -> None:
    batch = [spawn("a", "seq 1 60000; echo end a"), spawn("b", "seq 1 60000; echo end b"), spawn("c", "echo short")]
    await desk.batch(batch)
    (response,) = await desk.batch([awaiting(all=["a", "b", "c"])])
    assert len(response.text.encode()) <= EACH
    rows = {row["id"]: row for row in json.loads(response.text)["completed"]}
    assert rows["a"]["result"].endswith("\nend a\n")
    assert rows["b"]["result"].endswith("\nend b\n")
    assert rows["c"]["result"] == "short\n"
    assert len(response.text) > EACH * 3 // 4


async def test_146_a_batch_has_at_most_two_mebibytes_the_largest_cut_first(desk: Coordinator) -> None:
    longs = [f"long{at}" for at in range(10)]
    await desk.batch([*(spawn(one, "seq 1 60000") for one in longs), spawn("short", "seq 1 20000")])
    answers = await desk.batch([awaiting(all=[one]) for one in [*longs, "short"]])
    assert sum(len(one.text.encode()) for one in answers) <= TOGETHER
    *cut, whole = (json.loads(one.text)["completed"][0]["result"] for one in answers)
    assert whole == "".join(f"{at}\n" for at in range(1, 20001))
    assert all("... [truncated, " in one and one.endswith("60000\n") for one in cut)


async def test_262_a_progress_bar_colours_and_zeros_are_shown_as_a_terminal_would_leave_them(
    desk: Coordinator,
) -> None:
    bar = "for i in $(seq 1 3000); do printf '\\r%s%%' $i; done; printf '\\r\\033[32mdone\\033[0m\\n'"
    result = await _result(desk, f"{bar}; head -c 100000000 /dev/zero; echo the end")
    assert "\x00" not in result
    assert "\x1b" not in result
    assert len(json.dumps(result)) < 1000
    assert result.endswith("the end\n")
    assert result.startswith("done\n")
