"""The tool `bash` of the toolset `job`, by the numbers of the checklist."""

from pathlib import Path

from tests.mcpserver.clients import Agent, agent, text_of
from tests.mcpserver.test_job_toolset import settled, start
from tests.support.gates import Gate

from bide.agents.tasks import Channel, open_tasks
from bide.api import Jobs
from bide.mcpserver.toolsets.jobtext import label_of
from bide.model.request import Request

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


async def test_44_and_63_a_long_result_is_its_beginning_and_where_the_rest_is(ai: Agent) -> None:
    job = await start(ai, "seq 100000")
    (row,) = await settled(ai, job)
    text = str(row["resultText"])
    assert text.startswith("1\n2\n")
    assert "[Output truncated. Showing first 4,000 characters.]" in text
    uri = text.rpartition("Full output: ")[2]
    assert (await ai.resource(uri)).endswith("99999\n100000\n")


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
    assert data["async"]["jobId"] == "bg_2"
    gate.open()
    await settled(ai, "bg_2")


async def test_67_a_child_that_holds_the_pipe_does_not_hold_the_job(ai: Agent) -> None:
    job = await start(ai, "sleep 1000 & echo done")
    (row,) = await settled(ai, job)
    assert (row["status"], row["resultText"]) == ("completed", "done\n")
