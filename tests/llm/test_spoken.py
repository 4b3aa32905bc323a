"""What an agent gets to read of another LLM's answer: complete as text and as data, and nothing it need not read."""

import hashlib
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp_types import CallToolResult, TextResourceContents
from tests.llm.conftest import Fakes
from tests.mcpserver.clients import Agent, agent, texts_of
from tests.support import homes
from tests.support.patience import end_of, eventually

from bide.api import Jobs
from bide.mcpserver.answers import answered
from bide.model.errors import BadRequest
from bide.model.schema import Json


@pytest.fixture
def mode() -> str:
    """What the fakes are to do."""
    return "ok"


@pytest.fixture
async def ai(local: Jobs, fakes: Fakes, tmp_path: Path, mode: str) -> AsyncIterator[Agent]:
    fakes.set(mode=mode)
    async with agent(local, tmp_path, tools=("core", "llm"), env=dict(os.environ)) as one:
        yield one


def _data(answer: CallToolResult) -> Json:
    assert answer.structured_content is not None
    return answer.structured_content


async def _over(jobs: Jobs, job: str) -> None:
    """Return when it has ended, without having been told so."""

    async def over() -> bool:
        return next(one.phase_name for one in (await jobs.list()).jobs if one.id == job) == "ended"

    await eventually(over)


@pytest.mark.parametrize("tool", ["claude_request", "ask"])
@pytest.mark.parametrize(
    ("mode", "first", "beside"),
    [
        ("error", "it did not work", "warning result_is_error: The CLI left with 0, and its result is an error"),
        ("empty", "(no answer)", "warning empty_output: The CLI left with 0 and said nothing."),
        ("wrong", "claude ended with 3 and said nothing of why.\n\nyou said: hello", "warning exit_disagrees: "),
        ("limited", "Usage limit reached. Try again at 3pm (wait until the limit resets, or ask another CLI)", ""),
    ],
)
async def test_253_what_is_easily_overlooked_is_in_the_text_as_well(
    ai: Agent, tool: str, mode: str, first: str, beside: str
) -> None:
    given = {"cli": "claude"} if tool == "ask" else {}
    answer = await ai.ask(tool, prompt="hello", **given, **({} if tool == "ask" else {"correlationId": "mine"}))
    failed = {"wrong": "Claude Code failed (exit code 3): ", "limited": "Claude Code failed (exit code 1): "}
    assert texts_of(answer)[0] == ("" if tool == "ask" else failed.get(mode, "")) + first
    assert beside in "\n".join(texts_of(answer)[1:])
    assert answer.is_error is (mode in ("wrong", "limited"))


async def test_190_the_word_by_which_it_is_asked_for_is_the_word_that_is_told(ai: Agent) -> None:
    first = await ai.data("claude_request", prompt="hello", correlationId="mine")
    joined = await ai.data("claude_request", prompt="hello", correlationId="yours")
    assert (first["jobId"], joined["correlationId"]) == (joined["jobId"], "yours")
    for word in ("mine", "yours"):
        found = (await ai.data("llm_request_result", correlationId=word))["result"]
        assert (found["jobId"], found["correlationId"]) == (first["jobId"], word)


async def test_news_of_a_request_is_its_answer_and_not_the_stream_that_it_came_in(ai: Agent, local: Jobs) -> None:
    job = (await ai.data("claude_request_async", prompt="hello"))["job"]["id"]
    await _over(local, job)
    told = await ai.ask("jobs")
    (notice,) = _data(told)["notices"]
    assert (notice["job"], notice["extract"]) == (job, "you said: hello")
    assert "the rest: " not in texts_of(told)[0]


@pytest.mark.parametrize("mode", ["limited"])
async def test_news_of_a_request_that_failed_is_what_went_wrong(ai: Agent, local: Jobs) -> None:
    await _over(local, (await ai.data("codex_request_async", prompt="hello"))["job"]["id"])
    (notice,) = _data(await ai.ask("jobs"))["notices"]
    assert notice["extract"] == "Usage limit reached. Try again at 3pm"


async def test_several_requests_are_awaited_with_their_answers(ai: Agent) -> None:
    jobs = [(await ai.data("ask", cli=cli, prompt="hi", background=True))["job"] for cli in ("claude", "grok")]
    rows = (await ai.data("await", jobs=jobs))["ended"]
    assert [row["answer"]["text"] for row in rows] == ["you said: hi", "you said: hi"]
    assert all("out" not in row for row in rows)


async def test_of_a_long_answer_the_two_ends_are_told_and_how_to_have_all(local: Jobs, fakes: Fakes) -> None:
    fakes.env("FAKE_SAY_CLAUDE", "a" * 500 + "z" * 500)
    answer = (await local.llm.ask("claude", "hello")).answer
    said, data = answered(answer, 25, "mark")
    assert data["text"] == "a" * 33 + "\n[900 characters left out: send the same ask again for all of it]\n" + "z" * 67
    assert said.startswith("--- answer of claude mark\naaa")
    assert said.endswith("zzz\n--- end mark")


async def test_who_awaits_an_attempt_whose_line_failed_is_told_what_goes_on(
    home: Path, fakes: Fakes, tmp_path: Path
) -> None:
    fakes.set(mode="flaky", failures="1")
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "config.toml").write_text("[llm]\nretry_pause = '0.1s'\n")
    async with (
        homes.local(home) as jobs,
        agent(jobs, tmp_path, tools=("core",), env=dict(os.environ)) as ai,
    ):
        first = (await ai.data("ask", cli="claude", prompt="hi", background=True))["job"]
        await end_of(jobs, first)
        told = (await ai.data("await", jobs=[first]))["answer"]
        assert told["status"] in ("running", "completed")
        if told["status"] == "running":
            assert told["job"] != first
            told = (await ai.data("await", jobs=[told["job"]]))["answer"]
        assert told["text"] == "you said: hi"


async def test_a_resource_that_is_none_is_said_with_those_that_there_are(ai: Agent) -> None:
    with pytest.raises(Exception, match=r"there are cache_state://global, cache_state://session/\{id\}"):
        await ai.client.read_resource("cache_state://nothing")


async def test_236_238_the_hash_of_the_stable_prefix_is_told_and_leads_to_its_figures(ai: Agent) -> None:
    parts = {"system": "be brief", "context": "a spec", "task": "look"}
    told = [
        (await ai.data(f"{cli}_request", promptParts={**parts, "task": task}))["stablePrefix"]
        for cli, task in (("claude", "look"), ("codex", "look"), ("claude", "look again"))
    ]
    assert told[0] == {"hash": hashlib.sha256(b"be brief\n\na spec").hexdigest(), "tokens": 4}
    assert told[0] == told[1] == told[2]

    async def counted() -> bool:
        found = await ai.client.read_resource(f"cache_state://prefix/{told[0]['hash']}")
        assert isinstance(found.contents[0], TextResourceContents)
        return json.loads(found.contents[0].text)["requestCount"] == 3

    await eventually(counted)


async def test_243_who_is_told_to_cache_and_cannot_be_says_so(ai: Agent) -> None:
    parts = {"system": "be brief", "task": "look", "cacheControl": {"system": True}}
    told = await ai.data("codex_request", promptParts=parts)
    assert [one["code"] for one in told["warnings"]] == ["cache_control_ignored"]
    assert "warnings" not in await ai.data("claude_request", promptParts=parts)


async def test_full_automation_is_refused_where_nobody_would_hear_of_it(jobs: Jobs, fakes: Fakes) -> None:
    with pytest.raises(BadRequest, match="full automation is Codex's; for claude use approvalStrategy mcp_managed"):
        await jobs.llm.ask("claude", "hi", full_auto=True)
    assert fakes.started == []
