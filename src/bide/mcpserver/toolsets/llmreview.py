"""The tool `llm_review`: several LLMs judge the same thing at once. Built from the requests of this toolset."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from datetime import timedelta

import anyio

from bide.mcpserver.tool import Answer, Call, Tool
from bide.mcpserver.toolsets.llmfields import CLIS, asked
from bide.model.errors import BadRequest, BideError, JobNotFound
from bide.model.llm import review
from bide.model.llm.answer import Answer as LlmAnswer
from bide.model.llm.answer import Status
from bide.model.llm.review import Verdict, Vote
from bide.model.schema import Json, fields, text, whole, words

_NEXT = {
    Verdict.RUNNING: "Some still read. Call llm_review with this reviewId and round again.",
    Verdict.APPROVED: "All who were asked approve, without conditions.",
    Verdict.CONDITIONAL: "Approved with conditions is not approved: fix what was found, then ask for the next round.",
    Verdict.NOT_APPROVED: "Fix what was found, then ask for the next round.",
    Verdict.NONE: "There is no verdict, and silence is no agreement: look at the errors, or ask others.",
}
_LAST = "This was the last round: tell your user what is still open."


async def act(call: Call, given: Json) -> Answer:
    """Ask those who were not asked yet in this round, and collect."""
    number = given.get("round", 1)
    if "prompt" not in given and "reviewId" not in given:
        raise BadRequest(detail="give a prompt that says what to review, or the reviewId of one that goes on")
    name = given.get("reviewId") or f"review-{secrets.token_hex(4)}"
    clis = given.get("clis") or await _reviewers(call, given, name, number)
    review.check(clis, number)
    wait = min(given.get("waitMs", 45_000) / 1000, call.longest)
    votes: dict[str, Vote] = {}
    deadline = anyio.current_time() + wait

    async def one(cli: str) -> None:
        votes[cli] = await _vote(call, given, cli, review.correlation_of(name, number, cli), deadline)

    async with anyio.create_task_group() as group:
        for cli in clis:
            group.start_soon(one, cli)
    return _told(name, number, [votes[cli] for cli in clis])


async def _reviewers(call: Call, given: Json, name: str, number: int) -> list[str]:
    """Whom a review asked so far; with a prompt, and if there was nobody, those who are asked unless others are named."""
    rounds = range(number, 0, -1) if "prompt" in given else (number,)
    for one in rounds if "reviewId" in given else ():
        before = [cli for cli in CLIS if await _found(call, review.correlation_of(name, one, cli)) is not None]
        if before:
            return before
    if "prompt" in given:
        return list(review.REVIEWERS)
    raise BadRequest(detail=f"nobody was asked in round {number} of a review {name!r} of yours; give a prompt to ask")


async def _found(call: Call, correlation: str) -> LlmAnswer | None:
    try:
        with call.own.unseen(JobNotFound(job=correlation)):
            found = await call.jobs.llm.answer(correlation, owner=call.caller.owner)
    except JobNotFound:
        return None
    return found if found.job.owner == call.caller.owner else None


async def _vote(call: Call, given: Json, cli: str, correlation: str, deadline: float) -> Vote:
    try:
        answer = await _answer(call, given, cli, correlation)
        while answer.status is Status.RUNNING and (left := deadline - anyio.current_time()) > 0:
            await call.jobs.wait([answer.job.id], timeout=timedelta(seconds=left))
            answer = await call.jobs.llm.answer(answer.job.id)
    except BideError as error:
        return Vote(cli, Verdict.MISSING, error=str(error))
    said = answer.error or answer.reading.error
    return review.vote(
        cli, answer.job.id, status=str(answer.status), fault=str(answer.fault), text=answer.text, error=said
    )


async def _answer(call: Call, given: Json, cli: str, correlation: str) -> LlmAnswer:
    found = await _found(call, correlation)
    if found is not None:
        return found
    if "prompt" not in given:
        raise BadRequest(detail=f"{cli} was not asked in this round; give the prompt to ask it")
    wanted: Json = {key: given[key] for key in ("approvalStrategy", "cwd") if key in given}
    prompt = review.prompt_of(given.get("prompt", ""), given.get("round", 1))
    parts = {"context": given["context"], "task": prompt} if given.get("context") else None
    wanted |= {"promptParts": parts} if parts else {"prompt": prompt}
    if cli == "mistral" and "approvalStrategy" not in given:
        wanted["agent"] = "plan"
    # What is reviewed may have changed since an equal request was answered.
    wanted |= {"correlationId": correlation, "forceRefresh": True}
    asking = asked(call, cli, wanted, background=True)
    return (await call.jobs.llm.ask_once(asking, f"{call.key}.{cli}")).answer


def _told(name: str, number: int, votes: Sequence[Vote]) -> Answer:
    verdict = review.together(votes)
    last = number == review.ROUNDS and verdict not in (Verdict.APPROVED, Verdict.RUNNING)
    data: Json = {
        "reviewId": name,
        "round": number,
        "verdict": str(verdict),
        "votes": [
            {
                "cli": one.cli,
                "verdict": str(one.verdict),
                "jobId": one.job,
                "text": one.text or None,
                "error": one.error or None,
            }
            for one in votes
        ],
        "next": _LAST if last else _NEXT[verdict],
    }
    return Answer(json.dumps(data), data)


TOOL = Tool(
    "llm_review",
    "Have several LLMs review a thing, each with a verdict. Fix what they find, then ask with the same reviewId for the next round; three at most.",
    fields(
        (),
        prompt=text("what, and where it is"),
        context=text("same over the rounds, as a spec"),
        clis=words("", items=text(enum=list(CLIS)), minItems=1),
        reviewId=text("collects that, or goes on"),
        round=whole("", minimum=1, maximum=review.ROUNDS),
        waitMs=whole("", minimum=0, maximum=600_000),
        approvalStrategy=text(enum=["legacy", "mcp_managed"]),
        cwd=text(),
    ),
    act,
    destructive=True,
)
