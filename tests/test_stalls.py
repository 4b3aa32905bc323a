"""The daemon measures how long anything keeps it from answering others, and says so."""

import gc
import json
import time
import weakref
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from tests.cli.shell import Shell
from tests.support.http import Http

from bide.client.start import ensure_daemon
from bide.stalls import LIMIT, Meter, held, in_turns, measured_loop
from bide.stalls import METER as OURS


def computes(seconds: float) -> None:
    """Hold the event loop."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def in_a_measured_loop(work: Callable[[], Coroutine[Any, Any, None]]) -> dict[str, Any]:
    async def main() -> None:
        OURS.reset()
        await work()

    anyio.run(main, backend_options={"loop_factory": measured_loop})
    return OURS.to_json()


def test_who_holds_the_event_loop_is_told_with_what_it_computed() -> None:
    async def guilty() -> None:
        await anyio.sleep(0.001)
        computes(3 * LIMIT)
        await anyio.sleep(0.001)

    async def work() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: held("guilty", guilty()))
            group.start_soon(lambda: held("innocent", anyio.sleep(0.05)))

    told = in_a_measured_loop(work)
    found = next(one for one in told["over_limit"] if one["what"] == "guilty")
    assert found["longest_ms"] >= found["cpu_ms"] >= 3000 * LIMIT
    assert found["times"] == 1
    assert told["longest_ms"] >= found["longest_ms"]
    assert told["limit_ms"] == 20


def test_what_nobody_measures_is_told_as_other_work() -> None:
    async def work() -> None:
        await anyio.sleep(0.001)
        computes(3 * LIMIT)

    assert any(
        one["what"] == "other work" and one["cpu_ms"] >= 2000 * LIMIT for one in in_a_measured_loop(work)["over_limit"]
    )


def test_a_thread_that_keeps_the_interpreter_is_told_as_other_threads() -> None:
    exponent = 4_000_000

    async def work() -> None:
        over = anyio.Event()

        async def keeps() -> None:
            # One call into C that keeps the interpreter for long.
            await anyio.to_thread.run_sync(lambda: 3**exponent)
            over.set()

        async with anyio.create_task_group() as group:
            group.start_soon(keeps)
            while not over.is_set():  # noqa: ASYNC110 - a loop with times to wake at is what is measured
                await anyio.sleep(0.001)

    found = next(one for one in in_a_measured_loop(work)["over_limit"] if one["what"] == "other threads")
    assert found["longest_ms"] >= found["cpu_ms"] > 1000 * LIMIT


async def test_what_is_measured_answers_fails_and_is_cancelled_as_without() -> None:
    async def answers() -> int:
        await anyio.lowlevel.checkpoint()
        return 3

    async def fails() -> None:
        await anyio.lowlevel.checkpoint()
        raise LookupError

    assert await held("x", answers()) == 3
    with pytest.raises(LookupError):
        await held("x", fails())
    with anyio.move_on_after(0.01) as scope:
        await held("x", anyio.sleep_forever())
    assert scope.cancelled_caught


async def test_an_error_that_was_measured_keeps_nothing_of_its_frames() -> None:
    class Large:
        pass

    found: list[weakref.ref[Large]] = []

    async def cancelled() -> None:
        large = Large()
        found.append(weakref.ref(large))
        await anyio.sleep_forever()

    gc.disable()
    try:
        with anyio.move_on_after(0.01):
            await held("x", cancelled())
        await anyio.lowlevel.checkpoint()
        assert found[0]() is None
    finally:
        gc.enable()


async def test_others_have_their_turn_while_somebody_goes_through_many_items() -> None:
    turns = found = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async with anyio.create_task_group() as group:
        group.start_soon(others)
        async for _ in in_turns(range(20)):
            computes(0.005)
            found += 1
        group.cancel_scope.cancel()
    assert found == 20
    assert turns >= 15


def test_only_so_many_kinds_of_work_are_kept() -> None:
    meter = Meter()
    for number in range(1000):
        meter.step(f"kind {number}", 1.0)
    assert len(meter.to_json()["over_limit"]) == 200


def test_the_daemon_tells_its_stalls_and_the_doctor_shows_them(daemons_home: Path, tmp_path: Path) -> None:
    ensure_daemon(str(daemons_home))
    http = Http(daemons_home)
    stalls = http.ask("GET", "/v1/daemon")[1]["stalls"]
    http.close()
    assert stalls["limit_ms"] == 20
    assert isinstance(stalls["over_limit"], list)
    checks = json.loads(Shell(daemons_home, tmp_path)("doctor", "--json").stdout)["checks"]
    found = next(one for one in checks if one["check"] == "stalls")
    assert " ms" in found["text"]
