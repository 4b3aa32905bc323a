"""Reviews by several LLMs (252, 253)."""

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.shell import Shell
from tests.llm import verdicts
from tests.llm.conftest import Fakes
from tests.mcpserver.clients import Agent, agent, text_of, texts_of
from tests.support.gates import Gate

from bide.api import Jobs
from bide.model.errors import BadRequest
from bide.model.llm import review
from bide.model.llm.review import Verdict, Vote

ENDINGS = [
    *((text, Verdict.APPROVED) for text in verdicts.APPROVED),
    *((text, Verdict.NOT_APPROVED) for text in verdicts.NOT_APPROVED),
    *((text, Verdict.CONDITIONAL) for text in verdicts.CONDITIONAL),
    *((text, Verdict.NONE) for text in verdicts.NONE),
]


@pytest.mark.parametrize(("text", "verdict"), ENDINGS)
def test_252_a_verdict_is_a_whole_line_and_approval_the_last_word(text: str, verdict: Verdict) -> None:
    assert review.verdict_of(text) is verdict


@pytest.mark.parametrize(
    ("verdicts", "all_of_it"),
    [
        ([Verdict.APPROVED, Verdict.APPROVED], Verdict.APPROVED),
        ([Verdict.APPROVED, Verdict.MISSING], Verdict.APPROVED),
        ([Verdict.APPROVED, Verdict.NONE], Verdict.NONE),
        ([Verdict.APPROVED, Verdict.CONDITIONAL], Verdict.CONDITIONAL),
        ([Verdict.CONDITIONAL, Verdict.NOT_APPROVED, Verdict.NONE], Verdict.NOT_APPROVED),
        ([Verdict.NOT_APPROVED, Verdict.RUNNING], Verdict.RUNNING),
        ([Verdict.MISSING, Verdict.MISSING], Verdict.NONE),
    ],
)
def test_253_silence_is_no_agreement_and_who_is_missing_stops_nobody(
    verdicts: list[Verdict], all_of_it: Verdict
) -> None:
    assert review.together([Vote("x", one) for one in verdicts]) is all_of_it


def test_253_an_answer_counts_only_if_it_is_one() -> None:
    def voted(status: str, text: str, fault: str = "", error: str = "") -> Verdict:
        return review.vote("x", "j", status=status, fault=fault, text=text, error=error).verdict

    assert voted("completed", "APPROVED") is Verdict.APPROVED
    assert voted("completed", " \n") is Verdict.NONE
    assert voted("completed", "APPROVED", error="it did not work") is Verdict.NONE
    assert voted("failed", "APPROVED", "cli_error", "boom") is Verdict.NONE
    assert voted("canceled", "APPROVED") is Verdict.NONE
    assert voted("failed", "", "spawn_error", "not found") is Verdict.MISSING


def test_252_after_three_rounds_a_person_decides() -> None:
    with pytest.raises(BadRequest, match="at most 3 rounds"):
        review.check(["claude"], 4)
    with pytest.raises(BadRequest, match="each reviewer once"):
        review.check(["claude", "claude"], 1)


@pytest.fixture
async def ai(local: Jobs, fakes: Fakes, tmp_path: Path) -> AsyncIterator[Agent]:
    assert fakes.folder.exists()
    async with agent(local, tmp_path, tools=("core", "llm"), env=os.environ) as one:
        yield one


async def test_253_reviewers_are_asked_at_once_and_one_that_is_missing_or_silent_stops_nobody(
    fakes: Fakes, local: Jobs
) -> None:
    fakes.remove("gemini")
    fakes.set(say_claude="fine\nAPPROVED", say_codex="a bug\nNOT APPROVED", mode_grok="empty")
    async with agent(local, fakes.folder, tools=("llm",), env=dict(os.environ)) as one:
        clis = ["claude", "codex", "gemini", "grok", "mistral"]
        found = await one.data("llm_review", prompt="look at src", clis=clis)
        count = len(fakes.started)
        again = await one.data("llm_review", reviewId=found["reviewId"], clis=["claude"])
    assert (again["verdict"], len(fakes.started)) == ("approved", count)
    votes: dict[str, Any] = {vote["cli"]: vote for vote in found["votes"]}
    assert {cli: vote["verdict"] for cli, vote in votes.items()} == {
        "claude": "approved",
        "codex": "not_approved",
        "gemini": "missing",
        "grok": "none",
        "mistral": "none",
    }
    assert (found["verdict"], found["round"]) == ("not_approved", 1)
    assert "no agreement" in votes["grok"]["error"]
    assert "npm install -g @google/gemini-cli" in votes["gemini"]["error"]
    prompts = {seen["argv"][1] for seen in fakes.started if seen["cli"] == "claude"}
    assert prompts == {"look at src\n\nEnd with APPROVED or NOT APPROVED with findings."}


async def test_252_a_review_that_takes_long_is_collected_and_goes_into_another_round(
    local: Jobs, fakes: Fakes, gate: Gate, tmp_path: Path
) -> None:
    fakes.set(mode="slow", gate=str(gate.path), say_claude="APPROVED if you fix it")
    async with agent(local, tmp_path, tools=("llm",), env=dict(os.environ)) as ai:
        first = await ai.data("llm_review", prompt="look", clis=["claude"], waitMs=0)
        assert (first["verdict"], "reviewId" in first["next"]) == ("running", True)
        gate.open()
        second = await ai.data("llm_review", reviewId=first["reviewId"])
        assert (second["verdict"], second["votes"][0]["jobId"]) == ("conditional", first["votes"][0]["jobId"])
        gate.open()
        third = await ai.data("llm_review", reviewId=first["reviewId"], prompt="look", round=3)
        assert [vote["cli"] for vote in third["votes"]] == ["claude"]
        assert "last round" in third["next"]
        assert third["votes"][0]["jobId"] != first["votes"][0]["jobId"]
    assert "This is round 3" in fakes.started[-1]["argv"][1]


async def test_a_review_needs_something_to_review(ai: Agent) -> None:
    for arguments, said in (
        ({}, "give a prompt that says what to review"),
        ({"prompt": "x", "round": 4}, "'round' must be at most 3"),
        ({"prompt": "x", "clis": ["chatgpt"]}, "clis"),
        ({"prompt": "x", "clis": ["claude", "claude"]}, "each reviewer once"),
        ({"reviewId": "nothing"}, "nobody was asked in round 1 of a review 'nothing' of yours; give a prompt to ask"),
    ):
        answer = await ai.ask("llm_review", **arguments)
        assert answer.is_error
        assert said in text_of(answer)


async def test_a_reviewer_that_was_never_asked_is_missing(ai: Agent) -> None:
    found = await ai.data("llm_review", reviewId="nothing", clis=["claude"])
    assert (found["verdict"], found["votes"][0]["verdict"]) == ("none", "missing")
    assert found["votes"][0]["error"] == "claude was not asked in this round; give the prompt to ask it"


def test_252_bide_review_reviews_fixes_and_reviews_again(home: Path, tmp_path: Path, fakes: Fakes) -> None:
    fakes.set(say_claude="APPROVED", say_codex="a bug\nNOT APPROVED")
    shell = Shell(home, tmp_path)
    try:
        done = shell("review", "--with", "claude,codex", "--fix", "grok", "--rounds", "2", "src")
        assert done.returncode == 1
        assert b"--- round 1, codex: not approved" in done.stdout
        assert b"=== round 2: not approved" in done.stdout
        assert [seen["cli"] for seen in fakes.started].count("grok") == 1
        fixing = next(json.dumps(seen["argv"]) for seen in fakes.started if seen["cli"] == "grok")
        assert "a bug" in fixing
        done = shell("review", "--with", "claude,mistral", stdin=b"the diff", FAKE_SAY_VIBE="APPROVED")
        assert (done.returncode, b"=== round 1: approved" in done.stdout) == (0, True)
        found = json.loads(shell("review", "--json", "--with", "claude,gemini", "x", FAKE_MODE="empty").stdout)
        assert (found["verdict"], len(found["rounds"])) == ("none", 1)
        wrong = shell("review", "--rounds", "4", "x")
        assert (wrong.returncode, b"at most 3 rounds" in wrong.stderr) == (2, True)
    finally:
        shell.close()


async def test_ask_of_the_core_toolset_is_one_tool_for_all(ai: Agent, fakes: Fakes) -> None:
    answer = await ai.ask("ask", cli="claude", prompt="hello")
    assert texts_of(answer) == ["you said: hello", "resume: c-1"]
    assert answer.structured_content is not None
    assert answer.structured_content["resume"] == "c-1"
    again = await ai.data("ask", cli="mistral", prompt="and?", resume="c-1")
    assert again["answer"] == "you said: and?"
    assert fakes.started[-1]["argv"][-2:] == ["--resume", "c-1"]
    refused = await ai.ask("ask", cli="claude", prompt="do it", act=True)
    assert (refused.is_error, "sets enabled = true under [llm]" in text_of(refused)) == (True, True)
    later = await ai.data("ask", cli="codex", prompt="later", background=True)
    assert later["status"] in ("running", "completed")
    awaited = await ai.ask("await", jobs=[later["job"]])
    assert awaited.structured_content is not None
    assert awaited.structured_content["answer"] == {"status": "completed", "text": "you said: later", "resume": "c-1"}
    assert "thread.started" not in text_of(awaited)
    assert (await ai.data("ask", cli="codex", prompt="later"))["job"] == later["job"]
