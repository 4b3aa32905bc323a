"""How far a request is, step by step (213)."""

import json
import os
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace
from tests.llm.conftest import Fakes
from tests.mcpserver.clients import agent
from tests.support import homes
from tests.support.gates import Gate
from tests.support.patience import end_of

import bide
from bide.api import Jobs
from bide.kinds.llm import known
from bide.model.errors import BadRequest
from bide.model.llm.steps import KEPT, Mark, Progress, steps_of, waits_after, watched

LONG = timedelta(seconds=20)
STREAMS: dict[str, list[tuple[dict[str, Any], Progress | None]]] = {
    "claude": [
        ({"type": "system", "subtype": "init", "session_id": "s"}, Progress.THINKING),
        ({"type": "stream_event", "event": {}}, None),
        ({"type": "assistant", "message": {"content": [{"type": "text", "text": "I look"}]}}, Progress.ANSWERING),
        (
            {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t", "name": "Bash"}]}},
            Progress.WORKING,
        ),
        ({"type": "user", "message": {}}, None),
        (
            {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "u", "name": "Bash"}]}},
            Progress.WORKING,
        ),
        ({"type": "assistant", "message": {"content": [{"type": "text", "text": "it is"}]}}, Progress.ANSWERING),
        ({"type": "assistant", "message": {"content": [{"type": "text", "text": "good"}]}}, None),
        ({"type": "result", "subtype": "success", "result": "good"}, Progress.FINISHING),
    ],
    "codex": [
        ({"type": "thread.started", "thread_id": "t"}, Progress.THINKING),
        ({"type": "item.completed", "item": {"id": "i", "type": "command_execution"}}, Progress.WORKING),
        ({"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": "a"}}, Progress.ANSWERING),
        ({"type": "turn.completed", "usage": {}}, Progress.FINISHING),
    ],
    "gemini": [
        ({"type": "init", "session_id": "s"}, Progress.THINKING),
        ({"type": "tool_use", "tool_name": "ls"}, Progress.WORKING),
        ({"type": "message", "role": "assistant", "content": "a", "delta": True}, Progress.ANSWERING),
        ({"type": "message", "role": "assistant", "content": "b", "delta": True}, None),
        ({"type": "result", "status": "success", "stats": {}}, Progress.FINISHING),
    ],
    "grok": [
        ({"type": "thought", "data": "hm"}, Progress.THINKING),
        ({"type": "text", "data": "a"}, Progress.ANSWERING),
        ({"type": "end"}, Progress.FINISHING),
    ],
    "mistral": [
        ({"role": "user", "content": "…", "session_id": "s"}, Progress.THINKING),
        ({"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "ls"}}]}, Progress.WORKING),
        ({"role": "assistant", "content": "a"}, Progress.ANSWERING),
    ],
}


@pytest.mark.parametrize("piece", [1, 7, 100_000])
@pytest.mark.parametrize("cli", STREAMS)
def test_213_each_format_tells_its_steps_however_it_is_cut(cli: str, piece: int) -> None:
    expected, data = list[Mark](), b""
    for event, phase in STREAMS[cli]:
        data += json.dumps(event, separators=(",", ":")).encode() + b"\n"
        expected += [] if phase is None else [Mark(len(data), phase)]
    reader = known.named(cli).reader(known.named(cli).formats[0])
    for at in range(0, len(data), piece):
        reader.feed(data[at : at + piece])
    assert reader.marks == expected


def test_213_a_last_line_that_is_not_finished_is_the_same_step_when_it_is() -> None:
    reader = known.named("grok").reader("streaming-json")
    reader.feed(b'{"type":"end"}')
    reader.finish()
    before = list(reader.marks)
    reader.feed(b"\n")
    assert (before, reader.marks) == ([Mark(15, Progress.FINISHING)], before)


def test_213_of_very_many_steps_the_newest_are_kept() -> None:
    reader = known.named("gemini").reader("stream-json")
    for _ in range(10_000):
        reader.feed(b'{"type":"tool_use","tool_name":"ls"}\n')
    assert KEPT <= len(reader.marks) <= 2 * KEPT
    assert reader.marks[-1].at == 10_000 * 37


def _phases(steps: Sequence[Any]) -> list[str]:
    return [str(step.phase) for step in steps]


async def test_213_steps_are_told_in_order_so_many_at_once_and_go_on_where_they_stopped(
    local: Jobs, fakes: Fakes
) -> None:
    answer = (await local.llm.ask("claude", "hello")).answer
    marks = [Mark(at, Progress.WORKING) for at in range(10, 100)]
    found = steps_of(answer, marks)
    assert (len(found), _phases(found)[-2:]) == (KEPT, ["working", "completed"])
    first = watched(answer, marks[:9], 0, 4, structured=True)
    second = watched(answer, marks[:9], first.steps[-1].seq, 64, structured=True)
    assert (_phases(first.steps), first.more) == (["queued", "starting", "working", "working"], True)
    assert (_phases(second.steps), second.more) == (["working"] * 7 + ["completed"], False)
    assert second.steps[-1].seq == first.last == second.last
    again = replace(answer, job=_attempt(answer.job, 2))
    later = watched(again, [], first.last, 64, structured=True)
    assert _phases(later.steps) == ["queued", "starting", "completed"]
    assert (waits_after(first.last, 2), waits_after(later.last, 2)) == (later.steps[1].seq, later.last)
    assert len(fakes.started) == 1


def _attempt(job: Any, number: int) -> Any:
    return replace(job, spec=replace(job.spec, ask=replace(job.spec.ask, attempt=number)))


async def test_213_watching_waits_until_it_gets_further_and_is_the_same_after_a_restart(
    home: Path, fakes: Fakes, gate: Gate
) -> None:
    fakes.set(mode="slow", gate=str(gate.path))
    async with bide.local(home) as jobs:
        job = (await jobs.llm.ask("claude", "hello", background=True)).job.id
        first = await jobs.llm.watch(job, wait=LONG)
        assert (_phases(first.steps), first.phase) == (["queued", "starting", "thinking"], Progress.THINKING)
    async with homes.remote(home) as jobs:
        assert (await jobs.llm.watch(job)).steps == first.steps
        nothing = await jobs.llm.watch(job, after=first.last, wait=timedelta(milliseconds=1))
        assert (nothing.steps, nothing.last, nothing.phase) == ((), first.last, first.phase)
        later = list[Any]()

        async def watch() -> None:
            later.append(await jobs.llm.watch(job, after=999_999_999_999, wait=LONG))

        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            gate.open()
        assert (later[0].steps, later[0].phase, later[0].answer.text) == ((), Progress.COMPLETED, "you said: hello")
        rest = await jobs.llm.watch(job, after=first.last, wait=LONG)
        assert _phases(rest.steps) == ["answering", "finishing", "completed"]
    assert len(fakes.started) == 1


@pytest.mark.parametrize(
    ("given", "why"),
    [({"after": -1}, "0 or more|from 0 on"), ({"limit": 0}, "1 to 64 at once"), ({"limit": 65}, "1 to 64 at once")],
)
async def test_213_what_cannot_be_told_is_refused(jobs: Jobs, fakes: Fakes, given: dict[str, int], why: str) -> None:
    job = (await jobs.llm.ask("claude", "hello")).job.id
    with pytest.raises(BadRequest, match=why):
        await jobs.llm.watch(job, **given)  # pyright: ignore[reportArgumentType]
    assert len(fakes.started) == 1


async def test_213_the_tool_tells_steps_in_the_gateways_words_and_no_word_of_what_was_said(
    local: Jobs, fakes: Fakes, tmp_path: Path
) -> None:
    async with agent(local, tmp_path, tools=("llm",), env=dict(os.environ)) as ai:
        job = (await ai.data("claude_request_async", prompt="a secret of mine"))["job"]["id"]
        await end_of(local, job)
        first = await ai.data("llm_job_watch", jobId=job, progressLimit=3)
        events = first["progress"]["events"]
        assert [(one["phase"], one["kind"]) for one in events] == [
            ("queued", "lifecycle"),
            ("starting", "lifecycle"),
            ("thinking", "activity"),
        ]
        assert (first["progress"]["hasMore"], first["progress"]["capability"]) == (True, "structured")
        rest = await ai.data("llm_job_watch", jobId=job, afterProgressSeq=first["progress"]["nextAfterSeq"])
        events = rest["progress"]["events"]
        assert [(one["phase"], one["kind"]) for one in events] == [
            ("writing", "activity"),
            ("writing", "activity"),
            ("completed", "terminal"),
        ]
        assert (rest["progress"]["hasMore"], rest["progress"]["nextAfterSeq"]) == (False, rest["progress"]["lastSeq"])
        assert "secret" not in json.dumps([first, rest])
        plain = (await ai.data("claude_request_async", prompt="hi", outputFormat="text"))["job"]["id"]
        await end_of(local, plain)
        told = await ai.data("llm_job_watch", jobId=plain)
        assert told["progress"]["capability"] == "activity_only"
        assert [one["phase"] for one in told["progress"]["events"]] == ["queued", "starting", "writing", "completed"]
    assert len(fakes.started) == 2


async def test_213_who_watches_a_request_that_waits_for_its_turn_hears_of_it_when_it_gets_further(
    home: Path, fakes: Fakes, gate: Gate
) -> None:
    fakes.set(mode="slow", gate=str(gate.path))
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "config.toml").write_text("[llm]\nrunning = 1\n")
    async with homes.local(home) as jobs:
        first, second = [(await jobs.llm.ask("claude", word, background=True)).job.id for word in ("one", "two")]
        assert _phases((await jobs.llm.watch(second)).steps) == ["queued"]
        later = list[Any]()

        async def watch() -> None:
            later.append(await jobs.llm.watch(second, wait=LONG))

        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            await jobs.llm.watch(first, wait=LONG)
            gate.open()
        assert _phases(later[0].steps) == ["queued", "starting", "thinking"]
        gate.open()
        await end_of(jobs, second)
    assert len(fakes.started) == 2


async def test_213_another_attempt_goes_on_after_the_steps_of_the_one_before(home: Path, fakes: Fakes) -> None:
    fakes.set(mode="flaky", failures="1")
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "config.toml").write_text("[llm]\nretry_pause = '0.1s'\n")
    async with homes.local(home) as jobs:
        job = (await jobs.llm.ask("claude", "hello", background=True)).job.id
        found = await jobs.llm.watch(job, after=999_999_999_999, wait=LONG)
        assert (found.phase, found.answer.text) == (Progress.COMPLETED, "you said: hello")
        assert found.last > 1 << 32
        steps = (await jobs.llm.watch(job, after=3)).steps
        assert _phases(steps)[:3] == ["queued", "starting", "thinking"]
    assert len(fakes.started) == 2
