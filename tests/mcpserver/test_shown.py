"""An answer shows what its client was not shown before, once, in the part that its model sees."""

from pathlib import Path

import pytest
from tests.mcpserver.clients import Agent, agent, text_of
from tests.mcpserver.test_riding import settled, started
from tests.support.gates import Gate

from bide.api import Jobs
from bide.mcpserver.shown import JOBS, Memory, Showing, Span
from bide.model.output import Stream
from bide.model.schema import Json

NUMBERS = "".join(f"{number}\n" for number in range(1, 11))


async def test_await_after_run_shows_only_what_is_new(ai: Agent, gate: Gate) -> None:
    first = await ai.data("run", command=f"echo one; echo first >&2; {gate.wait}; echo two; exit 3", wait=0.5)
    assert (first["out"]["text"], first["err"]["text"]) == ("one\n", "first\n")
    gate.open()
    last = await ai.data("await", jobs=[first["job"]])
    assert (last["exit_code"], last["out"]["text"], "err" in last) == (3, "two\n", False)


async def test_logs_with_defaults_says_that_nothing_is_new_and_how_to_see_it_again(ai: Agent) -> None:
    job = (await ai.data("run", command="seq 10; exit 1"))["job"]
    answer = await ai.text("logs", job=job)
    assert f'Nothing new since byte {len(NUMBERS)} of out; again: logs {{"job": "{job}", "offset": 0}}' in answer
    assert (await ai.data("logs", job=job, offset=0))["out"]["text"] == NUMBERS
    assert (await ai.data("logs", job=job, tail=1))["out"]["text"] == "10\n"
    assert len((await ai.data("logs", job=job, grep="^1"))["matches"]) == 2


async def test_a_second_await_of_several_repeats_no_output(ai: Agent) -> None:
    ids = [(await ai.data("run", command=f"echo {word}; exit 1", background=True))["job"] for word in ("red", "blue")]
    await ai.data("await", jobs=ids)
    again = await ai.data("await", jobs=ids)
    assert [row["out"]["text"] for row in again["ended"]] == ["", ""]


async def test_a_notice_after_an_answer_shows_only_what_is_new(jobs_here: Jobs, tmp_path: Path, gate: Gate) -> None:
    async with agent(jobs_here, tmp_path, owner="ann") as ai:
        job = await started(ai, gate, "echo after; exit 7", env={"LC_ALL": "C"})
        assert "out" not in await ai.data("logs", job=job)
        gate.open()
        await settled(jobs_here, "ann")
        (told,) = (await ai.data("jobs", name="nothing"))["notices"]
        assert told["extract"] == "after"
        # And an answer after a notice that showed all of it.
        assert "Nothing new since byte 6 of out" in await ai.text("logs", job=job)


async def test_a_notice_repeats_no_output_that_an_answer_showed(jobs_here: Jobs, tmp_path: Path, gate: Gate) -> None:
    async with agent(jobs_here, tmp_path, owner="ann") as ai:
        data = await ai.data("run", command=f"echo before; {gate.wait}; echo after; exit 7", wait=0.5)
        assert data["out"]["text"] == "before\n"
        gate.open()
        await settled(jobs_here, "ann")
        (told,) = (await ai.data("jobs", name="nothing"))["notices"]
        assert told["extract"] == "after"


async def test_a_client_that_comes_back_is_shown_everything_again(jobs_here: Jobs, tmp_path: Path) -> None:
    async with agent(jobs_here, tmp_path, owner="ann") as before:
        job = (await before.data("run", command="seq 10; exit 1"))["job"]
    async with agent(jobs_here, tmp_path, owner="ann") as after:
        assert (await after.data("logs", job=job))["out"]["text"] == NUMBERS


async def test_an_answer_that_is_not_complete_has_shown_nothing() -> None:
    memory = Memory()
    Showing(memory).show("j1", {Stream.OUT: Span(5)})
    assert Showing(memory).since("j1") == {}
    complete = Showing(memory)
    complete.show("j1", {Stream.OUT: Span(5)})
    complete.show("j1", {Stream.OUT: Span(3), Stream.ERR: Span(1)})
    complete.commit()
    assert Showing(memory).since("j1") == {Stream.OUT: 5, Stream.ERR: 1}


def test_a_connection_remembers_so_many_jobs() -> None:
    memory = Memory()
    for number in range(JOBS + 1):
        memory.add(f"j{number}", {Stream.OUT: Span(1)})
    shown = Showing(memory)
    assert (shown.since("j0"), shown.since("j1")) == ({}, {Stream.OUT: 1})


async def test_what_a_success_left_out_is_still_new(ai: Agent) -> None:
    answer = await ai.ask("run", command="seq 3000")
    data: Json = answer.structured_content or {}
    assert data["out"]["text"] == "2999\n3000\n"
    assert f'the rest: logs {{"job": "{data["job"]}"}}' in text_of(answer)
    assert (await ai.data("logs", job=data["job"]))["out"]["text"].startswith("1\n2\n")


CLIENTS = [("claude-code", None), ("codex-mcp-client", None), ("gemini-cli-mcp-client", None), ("other", None)]


@pytest.mark.parametrize(("name", "output"), [*CLIENTS, ("other", "text"), ("other", "data")])
async def test_text_and_structured_content_do_not_repeat_each_others_output(
    jobs_here: Jobs, tmp_path: Path, name: str, output: str | None
) -> None:
    async with agent(jobs_here, tmp_path, owner="ann", name=name, output=output) as ai:
        await jobs_here.run("echo a-no'tice'-of-it; exit 1", owner="ann", background=True)
        await settled(jobs_here, "ann")
        for tool, given in (
            ("run", {"command": "echo w'o'rd; exit 1", "name": "it"}),
            ("await", {"jobs": ["it"]}),
            ("logs", {"job": "it", "offset": 0}),
            ("logs", {"job": "it", "grep": "wo.d"}),
        ):
            answer = await ai.ask(tool, **given)
            text, data = str(answer.content), str(answer.structured_content)
            for word in ("word\\n", "word'", "a-notice-of-it"):
                assert not (word in text and word in data)
            assert (answer.structured_content is None) == (output is None and name != "other")
            if tool != "await":
                assert ("word" in data) == (output == "data")
                assert "word" in text + data


async def test_a_refusal_is_a_text_alone_where_a_model_sees_no_text_beside_data(
    jobs_here: Jobs, tmp_path: Path
) -> None:
    async with agent(jobs_here, tmp_path, name="claude-code", output=None) as ai:
        for given in ({"job": "nothing"}, {"jub": "nothing"}):
            answer = await ai.ask("logs", **given)
            assert (answer.is_error, answer.structured_content) == (True, None)
            assert text_of(answer)


LONG = "python3 -c \"print('ok\\n' * 1, *range(40000), 'boom: error', sep='\\n'); exit(1)\""


@pytest.mark.parametrize("budget", [1, 50, 500])
async def test_what_a_small_budget_left_out_is_still_to_be_had(ai: Agent, budget: int) -> None:
    job = (await ai.data("run", command=LONG, budget=budget))["job"]
    found = await ai.data("logs", job=job)
    assert len(found["out"]["text"]) > 4000
    assert "Nothing new" in (said := await ai.text("logs", job=job))
    assert f'more of it: logs {{"job": "{job}", "budget": 8000}}' in said
    assert len((await ai.data("logs", job=job, budget=8000))["out"]["text"]) > 20000
    assert "Nothing new" in await ai.text("logs", job=job, budget=8000)


async def test_reading_what_was_left_out_counts_as_shown(ai: Agent) -> None:
    job = (await ai.data("run", command="seq 3000; exit 1", budget=500))["job"]
    first = (await ai.data("logs", job=job, offset=0, limit=1 << 20, budget=100_000))["out"]
    assert first["next"] == first["size"]
    assert "Nothing new" in await ai.text("logs", job=job, budget=8000)


async def test_a_success_that_is_summed_up_is_not_summed_up_again(ai: Agent) -> None:
    job = (await ai.data("run", command="sleep 0.3; seq 4000", background=True))["job"]
    assert "4000" in str((await ai.ask("await", jobs=[job])).structured_content)
    again = await ai.ask("await", jobs=[job])
    assert "4000" not in text_of(again)
    assert f'Nothing new since byte 18893 of out; more of it: logs {{"job": "{job}"}}' in text_of(again)
    assert (await ai.data("logs", job=job))["out"]["text"].startswith("1\n2\n")


async def test_lines_of_a_notice_are_not_shown_again(jobs_here: Jobs, tmp_path: Path, gate: Gate) -> None:
    async with agent(jobs_here, tmp_path, owner="ann") as ai:
        job = await started(ai, gate, "seq 30000; echo ba'd: error'; exit 7", env={"LC_ALL": "C"})
        gate.open()
        await settled(jobs_here, "ann")
        (told,) = (await ai.data("jobs", name="nothing"))["notices"]
        assert "bad: error" in told["extract"]
        after = await ai.text("await", jobs=[job])
        assert ("bad: error" in after, "more of it: logs" in after) == (False, True)
        assert "bad: error" in (await ai.data("logs", job=job))["out"]["text"]


async def test_a_character_that_is_not_complete_is_held_back(ai: Agent, gate: Gate) -> None:
    command = f"printf 'gr\\303'; {gate.wait}; printf '\\274\\303\\237e\\n'; exit 1"
    first = await ai.data("run", command=command, wait=0.5)
    assert (first["out"]["text"], first["out"]["next"]) == ("gr", 2)
    assert (await ai.data("logs", job=first["job"], offset=0))["out"]["text"] == "gr"
    gate.open()
    assert (await ai.data("await", jobs=[first["job"]]))["out"]["text"] == "\u00fc\u00dfe\n"
    cut = (await ai.data("logs", job=first["job"], offset=0, limit=3))["out"]
    assert (cut["text"], cut["next"]) == ("gr", 2)
