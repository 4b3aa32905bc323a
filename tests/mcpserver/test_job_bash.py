"""The tool `bash` of the toolset `job`, by the numbers of the checklist."""

import re
from pathlib import Path

import anyio
import pytest
from tests.mcpserver.clients import Agent, agent, text_of
from tests.mcpserver.test_job_toolset import settled, start
from tests.support.gates import Gate
from tests.support.patience import eventually

from bide.agents.tasks import Channel, open_tasks
from bide.api import Filter, Jobs
from bide.mcpserver import waiting
from bide.mcpserver.toolsets.jobtext import label_of
from bide.model.request import Request
from bide.model.schema import Json

TOOLSET = "job"


async def test_57_58_a_command_runs_in_the_foreground_unless_asked(ai: Agent) -> None:
    assert await ai.text("bash", command="echo one; echo two >&2") == "one\ntwo"
    assert await ai.text("bash", command="true") == "(no output)"
    answer = await ai.ask("bash", command="echo bad; exit 3")
    assert answer.is_error
    assert text_of(answer) == "bad\n\nCommand exited with code 3"
    assert (await ai.text("bash", command="sleep 0", **{"async": True})).startswith("Background job bg_")


async def test_61_the_timeout_is_clamped_with_a_notice_and_async_does_not_extend_it(ai: Agent) -> None:
    assert "[Timeout clamped to 3600s (allowed range: 1-3600s)]" in await ai.text("bash", command="true", timeout=9999)
    assert "[Timeout clamped to 1s (allowed range: 1-3600s)]" in await ai.text("bash", command="true", timeout=0.5)
    assert "clamped" not in await ai.text("bash", command="true", timeout=0)
    job = await start(ai, "sleep 1000", timeout=1)
    (row,) = await settled(ai, job)
    assert row["status"] == "failed"
    assert "timed out after 1.0s" in str(row["errorText"])


def test_62_a_label_is_one_line_of_at_most_120_characters() -> None:
    assert label_of("a\n  b") == "a b"
    assert label_of("x" * 120) == "x" * 120
    assert label_of("x" * 121) == "x" * 117 + "..."


async def test_044_and_063_a_long_result_has_its_end_and_where_the_rest_is(ai: Agent) -> None:
    job = await start(ai, "seq 100000")
    (row,) = await settled(ai, job)
    text = str(row["resultText"])
    assert len(text) < 10_000
    assert "99999\n100000\n" in text
    assert "[Output truncated. Showing what matters of 575.1 KiB.]" in text
    uri = text.rpartition("Full output: ")[2].strip()
    assert (await ai.resource(uri)).endswith("99999\n100000\n")


async def test_063_a_long_failure_shows_the_error_at_its_end(ai: Agent) -> None:
    command = "seq 100000; echo 'ValueError: the cause' >&2; echo the end; exit 1"
    answer = await ai.ask("bash", command=command)
    text = text_of(answer)
    assert answer.is_error
    assert "ValueError: the cause" in text
    assert "the end\n" in text
    assert text.endswith("Command exited with code 1")
    assert len(text) < 10_000
    short = text_of(await ai.ask("bash", command=command, budget=200))
    assert "ValueError: the cause" in short
    assert len(short) < 1200
    assert text_of(await ai.ask("bash", command=command, budget=0)) == "Command exited with code 1"


async def test_063_a_gap_names_the_resource_that_begins_there(ai: Agent) -> None:
    text = text_of(await ai.ask("bash", command="seq 100000; echo 'error: x' >&2; seq 100000; exit 1", budget=300))
    full = text.rpartition("Full output: ")[2].split()[0]
    gaps = re.findall(r"bytes (\d+) to \d+ left out: the full output has them at (\?offset=\d+)]", text)
    assert gaps
    assert text.count("left out") == len(gaps)
    whole = "".join(f"{number}\n" for number in range(1, 100_001))
    whole = f"{whole}error: x\n{whole}"
    for first, query in gaps:
        assert whole[int(first) : int(first) + 100] in await ai.resource(f"{full}{query}")


async def test_063_output_comes_once_to_a_client_that_is_known(jobs_here: Jobs, tmp_path: Path) -> None:
    for name in ("claude-code", "codex-mcp-client", "gemini-cli-mcp-client", "cursor"):
        async with agent(jobs_here, tmp_path, tools=("job",), name=name, output=None) as one:
            for command in ("seq 100", "seq 10000; exit 1"):
                answer = await one.ask("bash", command=command)
                assert "100" in text_of(answer)
                assert "output" not in (answer.structured_content or {})
                assert (answer.structured_content is None) == (name != "cursor")


async def test_39_an_end_is_told_by_a_poll_that_shows_no_output(jobs_here: Jobs, tmp_path: Path) -> None:
    async with agent(jobs_here, tmp_path, tools=("job",), name="claude-code", output=None) as ai:
        await ai.ask("bash", command="seq 3000; exit 1", id="mine", **{"async": True})
        await anyio.sleep(0.5)
        text = text_of(await ai.ask("job", poll=["mine"], budget=0))
        assert len(text) < 200
        assert "failed" in text
        assert "notice" not in text_of(await ai.ask("job", list=True, budget=0))


async def test_59_what_ended_in_the_answer_is_not_told_once_more(jobs_here: Jobs, tmp_path: Path) -> None:
    async with agent(jobs_here, tmp_path, owner="ann", tools=("job",)) as ai:
        await ai.text("bash", command="echo quick", **{"async": "auto"})
        await ai.text("bash", command="echo quick")
        # The next call of a client says that it has read the answer before.
        await ai.text("job", list=True)
        assert [one for one in await jobs_here.outbox.list() if one.consumer == "ann" and one.due] == []


async def test_64_coroutines_of_an_embedding_program_are_jobs_of_type_task(jobs_here: Jobs, tmp_path: Path) -> None:
    async def item(channel: Channel) -> str:
        await channel.write("found ")
        return "it"

    async with open_tasks(jobs_here) as tasks, agent(jobs_here, tmp_path, owner="ann", tools=("job",)) as ai:
        for name in ("one", "two"):
            await tasks.run(item, Request.of(f"look for {name}", name=name, owner="ann"))
        rows = await settled(ai, "one", "two")
        assert [(row["type"], row["label"], row["resultText"]) for row in rows] == [
            ("task", "look for one", "found it"),
            ("task", "look for two", "found it"),
        ]


async def test_65_auto_runs_inline_for_a_second_and_then_in_the_background(ai: Agent, gate: Gate) -> None:
    assert await ai.text("bash", command="echo quick", **{"async": "auto"}) == "quick"
    data = await ai.data("bash", command=gate.wait, **{"async": "auto"})
    assert data["async"]["jobId"] == "bg_1"
    gate.open()
    await settled(ai, "bg_1")


async def test_67_a_child_that_holds_the_pipe_does_not_hold_the_job(ai: Agent) -> None:
    job = await start(ai, "sleep 1000 & echo done")
    (row,) = await settled(ai, job)
    assert (row["status"], row["resultText"]) == ("completed", "done\n")


async def test_57_a_command_past_the_patience_says_why_it_goes_on_what_it_wrote_and_what_comes_next(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    async with agent(jobs_here, tmp_path, tools=("job",), patience=0.5) as ai:
        answer = await ai.ask("bash", command=f"echo so far; {gate.wait}; echo done", timeout=9999)
        text = text_of(answer)
        data: Json = answer.structured_content or {}
        assert "It goes on in the background, since this client waits for 500ms at most." in text
        assert "Output so far:\n```\nso far\n```" in text
        assert 'For its result: job {"poll": ["bg_1"]}' in text
        assert data["next"] == {"tool": "job", "arguments": {"poll": ["bg_1"]}}
        assert (data["output"], data["notice"][:16]) == ("so far\n", "[Timeout clamped")
        gate.open()
        await settled(ai, "bg_1")


async def runs(jobs: Jobs) -> bool:
    return bool((await jobs.list(Filter(phase="running"))).jobs)


async def test_033_a_foreground_command_is_no_background_job(jobs_here: Jobs, tmp_path: Path, gate: Gate) -> None:
    async with agent(jobs_here, tmp_path, owner="ann", tools=("job", "sessions")) as ai:
        for _ in range(3):
            await ai.text("bash", command="yes | head -c 9000")
        await ai.data("exec", code="print(1)")
        assert await ai.text("job", list=True) == "No background jobs."
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: ai.text("bash", command=gate.wait))
            await eventually(lambda: runs(jobs_here))
            # Nothing is waited for beside a foreground command.
            assert await ai.text("job") == "No running background jobs to wait for."
            assert await ai.text("job", list=True) == "No background jobs."
            gate.open()
        assert await start(ai, gate.wait) == "bg_1"
        listed = await ai.data("job", list=True)
        assert [row["id"] for row in listed["jobs"]] == ["bg_1"]
        gate.open()
        await settled(ai, "bg_1")


async def test_033_a_command_whose_call_was_ended_is_a_background_job(ai: Agent, gate: Gate) -> None:
    with anyio.move_on_after(0.5):
        await ai.ask("bash", command=gate.wait)
    (row,) = (await ai.data("job", list=True))["jobs"]
    assert row["status"] == "running"
    gate.open()
    await settled(ai, str(row["id"]))


async def test_an_answer_does_not_hide_that_a_program_asked_in_vain(ai: Agent) -> None:
    data = await ai.data("bash", command='printf "Go on? [y/N] "; read -r said; echo "got=$said"')
    assert "Its stdin was empty" in data["notice"]
    assert "notice" not in await ai.data("bash", command="echo y | (read -r said; echo got=$said)")


async def test_066_new_lines_are_told_of_as_news_or_beside_the_next_answer(ai: Agent, gate: Gate) -> None:
    wake = await start(ai, "echo awake; sleep 1000", progress="wake")
    flood = "i=0; while [ $i -lt 400 ]; do echo LINE-$i-0123456789; i=$((i+1)); done; printf half"
    ambient = await start(ai, f"{gate.wait}; {flood}; {gate.wait}", progress="ambient")
    gate.open()
    said: list[str] = []

    async def both() -> bool:
        said.append(text_of(await ai.ask("job", list=True)))
        return "LINE-399-" in "".join(said) and "| awake" in "".join(said)

    await eventually(both)
    (told,) = [one for one in said if "LINE-399-" in one]
    assert f"({ambient}) wrote more" in told
    assert re.search(r"\n\| \(3\d\d lines left out\)\n\| LINE-", told)
    assert "half" not in told.replace("printf half", "")
    assert len(told) < 5000
    gate.open()
    await ai.data("job", cancel=[wake])
    await settled(ai, ambient, wake)
    assert "wrote more" not in text_of(await ai.ask("job", list=True))


async def test_async_is_refused_with_all_that_it_may_be(ai: Agent) -> None:
    _, sentence = await ai.refusal("bash", command="true", **{"async": "yes"})
    assert sentence == "'async' must be true or false or 'auto', not 'yes'"


async def test_261_a_foreground_command_reports_progress(
    ai: Agent, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "REPORT_SECONDS", 0.05)
    heard: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001
        heard.append(message)
        gate.open()

    await ai.client.call_tool("bash", {"command": gate.wait, "id": "mine"}, progress_callback=hear)
    assert heard[0] is not None
    assert heard[0].startswith("waiting for mine;")
