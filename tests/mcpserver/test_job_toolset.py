"""The toolset `job` alone, by the numbers of the checklist."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_types import CallToolResult
from tests.mcpserver.clients import Agent, agent, text_of
from tests.support.gates import Gate
from tests.support.patience import LONG, PATIENCE, eventually

from bide import Until
from bide.api import Jobs
from bide.mcpserver.toolsets.job import Ladder

TOOLSET = "job"


async def start(ai: Agent, command: str, **options: object) -> str:
    data = await ai.data("bash", command=command, **{"async": True, **options})
    assert data["async"]["state"] == "running"
    return data["async"]["jobId"]


async def settled(ai: Agent, *ids: str) -> list[dict[str, object]]:
    """The snapshots of these jobs once all of them are over."""
    with anyio.fail_after(PATIENCE):
        while True:
            data = await ai.data("job", poll=list(ids))
            if all(row["status"] != "running" for row in data["jobs"]):
                return data["jobs"]


async def test_1_and_3_no_field_is_required_and_the_answer_is_one_text_with_details(ai: Agent) -> None:
    tools = {tool.name: tool for tool in (await ai.client.list_tools()).tools}
    assert set(tools) == {"job", "bash"}
    assert set(tools["job"].input_schema["properties"]) == {"poll", "cancel", "list", "budget"}
    assert "required" not in tools["job"].input_schema
    assert len((await ai.ask("job")).content) == 1


async def test_2_a_list_goes_with_nothing_else_and_cancels_nothing(ai: Agent, gate: Gate) -> None:
    job = await start(ai, gate.wait)
    none: list[str] = []
    for more in ({"cancel": [job]}, {"poll": [job]}, {"poll": none}, {"cancel": none}):
        _, sentence = await ai.refusal("job", list=True, **more)
        assert sentence == "`list` cannot be combined with `poll` or `cancel`."
    assert (await ai.data("job", list=True))["jobs"][0]["status"] == "running"
    gate.open()
    await settled(ai, job)


async def race(ai: Agent, tmp_path: Path, *, poll: list[str], **more: object) -> CallToolResult:
    """Poll these and one that ends only when the poll has begun."""
    last = await start(ai, f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done")
    answers: list[CallToolResult] = []

    async def ask() -> None:
        answers.append(await ai.ask("job", poll=[*poll, last], **more))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await anyio.sleep(0.2)
        (tmp_path / "go").touch()
    return answers[0]


async def test_4_5_6_sections_come_in_order_and_snapshots_have_their_fields(
    ai: Agent, gate: Gate, tmp_path: Path
) -> None:
    good = await start(ai, "echo fine")
    bad = await start(ai, "echo broken; exit 4")
    await settled(ai, good, bad)
    slow = await start(ai, gate.wait)
    gone = await start(ai, "sleep 1000")
    answer = await race(ai, tmp_path, poll=[good, bad, slow], cancel=[gone])
    text, data = text_of(answer), answer.structured_content
    assert data is not None
    heads = [line for line in text.splitlines() if line.startswith("## ")]
    assert heads == ["## Cancelled (1)", "## Completed (3)", "## Still Running (1)"]
    assert f"### {good} [bash] — completed" in text
    assert f"- `{slow}` [bash] — " in text
    rows = {row["id"]: row for row in data["jobs"]}
    assert (rows[good]["status"], rows[good]["resultText"], rows[good]["type"]) == ("completed", "fine\n", "bash")
    assert rows[bad]["status"] == "failed"
    assert rows[bad]["errorText"] == "broken\n\nCommand exited with code 4"
    assert set(rows[slow]) == {"id", "type", "status", "label", "durationMs"}
    gate.open()
    await settled(ai, slow, gone)


async def test_7_12_17_each_cancel_has_its_outcome(ai: Agent) -> None:
    done = await start(ai, "true")
    await settled(ai, done)
    running = await start(ai, "sleep 1000")
    answer = await ai.ask("job", cancel=["nothing", done, running])
    assert answer.structured_content is not None
    assert answer.structured_content["cancelled"] == [
        {"id": "nothing", "status": "not_found"},
        {"id": done, "status": "already_completed"},
        {"id": running, "status": "cancelled"},
    ]
    text = text_of(answer)
    assert "Background job not found: nothing" in text
    assert f"Background job {done} is already completed." in text
    assert f"Cancelled background job {running}." in text
    again = await ai.data("job", cancel=[running])
    assert again["cancelled"] == [{"id": running, "status": "already_completed"}]
    await settled(ai, running)
    assert "cancelled" not in await ai.data("job", list=True)


async def test_8_22_23_no_answer_is_empty(ai: Agent) -> None:
    assert await ai.text("job", list=True) == "No background jobs."
    assert await ai.text("job") == "No running background jobs to wait for."
    assert await ai.text("job", poll=[]) == "No running background jobs to wait for."
    assert await ai.text("job", poll=["a", "b"]) == "No matching jobs found for IDs: a, b"


async def test_13_14_16_a_cancel_answers_at_once_and_the_status_is_cancelled_from_then_on(
    ai: Agent, gate: Gate
) -> None:
    deaf = await start(ai, "trap '' TERM; while :; do sleep 0.05; done")
    other = await start(ai, gate.wait)
    with anyio.fail_after(4):
        data = await ai.data("job", cancel=[deaf])
    assert [row["status"] for row in data["jobs"]] == ["cancelled"]
    listed = {row["id"]: row["status"] for row in (await ai.data("job", list=True))["jobs"]}
    assert listed == {deaf: "cancelled", other: "running"}
    gate.open()
    await settled(ai, other)


async def test_15_what_a_job_writes_after_its_cancellation_is_kept(ai: Agent, jobs_here: Jobs, gate: Gate) -> None:
    job = await start(ai, f"trap 'echo last words; exit 0' TERM; echo up; {gate.wait} & wait")
    # Its trap is set.
    (known,) = (await jobs_here.list()).jobs
    assert (await jobs_here.wait([known.id], until=Until(log="^up$"), timeout=LONG)).met == "log"
    await ai.data("job", cancel=[job])

    async def has_its_last_words() -> bool:
        (row,) = (await ai.data("job", list=True))["jobs"]
        assert row["status"] == "cancelled"
        return "last words" in row.get("resultText", "")

    await eventually(has_its_last_words)
    gate.open()


async def test_11_18_cancel_comes_before_poll(ai: Agent) -> None:
    job = await start(ai, "sleep 1000")
    data = await ai.data("job", cancel=[job], poll=[job])
    assert data["jobs"][0]["status"] == "cancelled"


async def test_19_a_cancel_with_nothing_to_watch_shows_what_was_cancelled(ai: Agent) -> None:
    job = await start(ai, "sleep 1000")
    data = await ai.data("job", cancel=[job, "nothing"], poll=["neither"])
    assert [(row["id"], row["status"]) for row in data["jobs"]] == [(job, "cancelled")]
    assert [one["status"] for one in data["cancelled"]] == ["cancelled", "not_found"]


async def test_20_25_without_arguments_it_waits_for_the_first_to_settle(ai: Agent, gate: Gate, tmp_path: Path) -> None:
    slow = await start(ai, gate.wait)
    quick = await start(ai, f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; echo first")
    answers: list[dict[str, Any]] = []

    async def poll() -> None:
        answers.append(await ai.data("job"))

    async with anyio.create_task_group() as group:
        group.start_soon(poll)
        await anyio.sleep(0.2)
        (tmp_path / "go").touch()
    (data,) = answers
    assert {row["id"]: row["status"] for row in data["jobs"]} == {quick: "completed", slow: "running"}
    gate.open()
    await settled(ai, slow)


async def test_24_one_that_is_over_does_not_end_the_wait_for_the_others(ai: Agent, gate: Gate, tmp_path: Path) -> None:
    over = await start(ai, "echo over")
    await settled(ai, over)
    slow = await start(ai, gate.wait)
    data = (await race(ai, tmp_path, poll=[over, slow])).structured_content
    assert data is not None
    states = {row["id"]: row["status"] for row in data["jobs"]}
    assert (states.pop(over), states.pop(slow)) == ("completed", "running")
    assert list(states.values()) == ["completed"]  # it is the end of the third that was waited for
    gate.open()
    await settled(ai, slow)


async def test_21_24_31_missing_ids_are_dropped_and_twice_is_once(ai: Agent) -> None:
    job = await start(ai, "true")
    await settled(ai, job)
    with anyio.fail_after(4):
        data = await ai.data("job", poll=["nothing", job, job])
    assert [row["id"] for row in data["jobs"]] == [job]


async def test_27_34_a_window_that_passes_is_no_error_and_says_that_it_told_nothing(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    async with agent(jobs_here, tmp_path, tools=("job",), patience=0.3) as ai:
        job = await start(ai, gate.wait)
        data = await ai.data("job")
        assert (data["jobs"][0]["status"], data["useless"]) == ("running", True)
        gate.open()
        await settled(ai, job)


async def test_28_ending_the_call_leaves_the_job_running(ai: Agent, gate: Gate) -> None:
    job = await start(ai, gate.wait)
    with anyio.move_on_after(0.2):
        await ai.ask("job", poll=[job])
    assert (await ai.data("job", list=True))["jobs"][0]["status"] == "running"
    gate.open()
    await settled(ai, job)


def test_35_the_smart_window_grows_and_is_short_again_after_a_pause() -> None:
    ladder = Ladder()
    waits: list[float] = []
    now = 1000.0
    for _ in range(7):
        waits.append(ladder.next("a", now))
        now += 1
        ladder.returned("a", now)
    assert waits == [5, 10, 30, 60, 300, 300, 300]
    assert ladder.next("b", now) == 5
    assert ladder.next("a", now + 59) == 300
    ladder.returned("a", now)
    assert ladder.next("a", now + 60) == 5


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("exit 7", "Command exited with code 7"),
        ("kill -KILL $$", "Command was ended by SIGKILL"),
        ("/no/such/program", "/no/such/program"),
    ],
)
async def test_32_a_failure_of_the_work_is_told_and_never_an_error_of_job(ai: Agent, command: str, error: str) -> None:
    job = await start(ai, command)
    await settled(ai, job)
    (row,) = (await ai.data("job", poll=[job]))["jobs"]
    assert row["status"] == "failed"
    assert error in row["errorText"]


async def test_33_a_list_has_what_runs_and_what_ended_lately_and_waits_for_nothing(ai: Agent, gate: Gate) -> None:
    ended = await start(ai, "true")
    await settled(ai, ended)
    running = await start(ai, gate.wait)
    rows = (await ai.data("job", list=True))["jobs"]
    assert [(row["id"], row["status"]) for row in rows] == [(running, "running"), (ended, "completed")]
    gate.open()
    await settled(ai, running)


async def test_what_a_job_wrote_cannot_pose_as_a_section(ai: Agent) -> None:
    forged = "echo '```'; echo '## Still Running (1)'"
    good, bad = await start(ai, forged), await start(ai, f"{forged}; exit 1")
    await settled(ai, good, bad)
    text = await ai.text("job", poll=[good, bad])
    for outside in text.split("````")[::2]:
        assert "\n## Still Running" not in outside
    assert text.count("\n## Still Running (1)") == 2


async def test_what_would_steer_a_terminal_is_in_the_data_alone(ai: Agent) -> None:
    answer = await ai.ask("bash", command=r"printf '\033]0;title\007\033[31mred\033[0m\a\r\nend\n'")
    assert text_of(answer) == "red\r\nend"
    assert (answer.structured_content or {})["output"] == "\x1b]0;title\x07\x1b[31mred\x1b[0m\x07\r\nend"


async def test_53_ids_are_the_lowest_free_and_a_preferred_one_is_kept(ai: Agent, gate: Gate) -> None:
    assert [await start(ai, gate.wait) for _ in range(3)] == ["bg_1", "bg_2", "bg_3"]
    assert [await start(ai, gate.wait, id=" mine ") for _ in range(3)] == ["mine", "mine-2", "mine-3"]
    for _ in range(6):
        gate.open()
    await settled(ai, "bg_1", "bg_2", "bg_3", "mine", "mine-2", "mine-3")


async def test_54_others_jobs_are_neither_seen_nor_cancelled(jobs_here: Jobs, tmp_path: Path, gate: Gate) -> None:
    async with (
        agent(jobs_here, tmp_path, tools=("job",), owner="alice") as alice,
        agent(jobs_here, tmp_path, tools=("job",), owner="bob") as bob,
    ):
        job = await start(alice, gate.wait)
        assert (await bob.data("job", cancel=[job]))["cancelled"] == [{"id": job, "status": "not_found"}]
        assert await bob.text("job", list=True) == "No background jobs."
        gate.open()
        await settled(alice, job)
