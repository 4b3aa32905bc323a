"""The toolset `process`: where an answer has what a process wrote, and how much of it."""

import json
import re
from pathlib import Path

from tests.mcpserver.clients import agent, text_of

from bide.api import Jobs
from bide.model.schema import Json


async def test_148_output_is_in_the_text_or_in_the_data_of_an_answer(jobs_here: Jobs, tmp_path: Path) -> None:
    clients = (
        *(("claude-code", None), ("codex-mcp-client", None), ("gemini-cli-mcp-client", None)),
        *(("cursor", "text"), ("cursor", "data")),
    )
    for name, output in clients:
        async with agent(jobs_here, tmp_path, tools=("process",), name=name, output=output) as one:
            # The client checks the data against the schema of the tool.
            ran = await one.ask(
                "process__run", command="echo begun; seq 5000; echo halt >&2; exit 3", stdout_lines=10_000
            )
            data: Json = ran.structured_content or {}
            logs = await one.ask("process__logs", process_id=data["process_id"], limit=100_000)
            for answer in (ran, logs):
                text, found = text_of(answer), str(answer.structured_content)
                for wrote in ("begun", "halt", "5000"):
                    assert (wrote in text.replace("$", "")) != (wrote in found)
                assert ("begun" in text) == (name == "gemini-cli-mcp-client" or output == "text")


async def test_175_logs_for_a_model_are_bounded_and_name_what_they_leave_out(jobs_here: Jobs, tmp_path: Path) -> None:
    whole = "".join(f"{number}\n" for number in range(1, 20_001))
    async with agent(jobs_here, tmp_path, tools=("process",), name="claude-code", output=None) as one:
        job = (await one.data("process__run", command="seq 20000"))["process_id"]
        seen = await one.data("process__logs", process_id=job)
        assert len(seen["stdout"]) == 4000
        (note,) = seen["notes"]
        assert note.startswith(f"Bytes 4000 to {len(whole)} of stdout are left out; the next: process__logs ")
        rest = await one.data("process__logs", **json.loads(note.partition("process__logs ")[2]))
        assert seen["stdout"] + rest["stdout"] == whole
        none = await one.data("process__logs", process_id=job, budget=0)
        assert (none["stdout"], none["stdout_next_offset"], none["truncated"]) == ("", 0, True)
        assert f"Bytes 0 to {len(whole)} of stdout are left out" in none["notes"][0]
        shown = (await one.data("process__run", command="seq 20000; exit 1", budget=200))["stdout_summary"]
        (first, last, given), *_ = re.findall(r"bytes (\d+) to (\d+) left out: process__logs ({.*?})]", shown)
        assert (await one.data("process__logs", **json.loads(given)))["stdout"] == whole[int(first) : int(last)]
