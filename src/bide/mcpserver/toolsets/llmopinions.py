"""The tools of the toolset `llm` that ask several LLMs for their opinion, with the gateway's names and fields."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

import anyio
import anyio.to_thread

from bide.mcpserver.tool import Answer, Call, Tool, refusal
from bide.mcpserver.toolsets.llmfields import CLIS, asked
from bide.model.errors import BadRequest, BideError
from bide.model.llm import opinions
from bide.model.llm.answer import Asked
from bide.model.llm.opinions import Opinion
from bide.model.schema import Json, fields, text, words
from bide.model.times import stamp

_ONE = {"second_opinion": "codex", "ask_model": "claude"}
"""Who is asked by tools that ask one alone, unless another is named."""
_AGAIN = "Some still work: the same call again joins them, or look at each with llm_job_watch and llm_job_result."


async def _opinions(intent: str, tool: str, call: Call, given: Json) -> Answer:
    """Ask all at once; answer when all have, or at the deadline of a request with what there is."""
    name = str(uuid.uuid4())
    started = stamp(datetime.now(UTC))
    one_of = given.get("model", _ONE.get(intent))
    clis = [one_of] if one_of else list(dict.fromkeys(given.get("models", opinions.ASKED)))
    prompt = opinions.prompt_of(intent, given)
    found: dict[str, Opinion] = {}

    async def one(cli: str) -> None:
        found[cli] = await _opinion(call, cli, prompt, f"validation-{name}-{cli}")

    async with anyio.create_task_group() as group:
        for cli in clis:
            group.start_soon(one, cli)
    rows = [found[cli] for cli in clis]
    running = [row for row in rows if row.status == "running"]
    asked_ = [row for row in rows if row.job]
    report: Json = {
        "success": bool(asked_),
        "validationId": name,
        "status": "not_started"
        if not asked_
        else "running"
        if running
        else "partial"
        if len(asked_) < len(rows)
        else "completed",
        "startedAt": started,
        "intent": intent,
        "modelList": clis,
        "results": [row.to_json() for row in rows],
        "disagreements": opinions.agreement(rows),
        "synthesis": await _synthesis(call, given, name, rows),
        "next": _AGAIN if running else None,
    }
    data: Json = {"success": bool(asked_), "tool": tool, "readMostly": True, "report": report}
    return Answer(_told(rows, report), data, is_error=not asked_)


async def _opinion(call: Call, cli: str, prompt: str, correlation: str) -> Opinion:
    wanted: Json = {"prompt": prompt, "correlationId": correlation}
    if cli == "mistral":
        wanted["agent"] = "plan"  # who is asked for an opinion has nothing to change
    try:
        found = await call.jobs.llm.ask_once(asked(call, cli, wanted, background=False), f"{call.key}.{cli}")
    except BideError as error:
        return Opinion(cli, "skipped", error=str(error))
    return _read(cli, found)


def _read(cli: str, found: Asked) -> Opinion:
    answer = found.answer
    missing = str(answer.fault) == "spawn_error"
    return Opinion(
        cli,
        "skipped" if missing else str(answer.status),
        text=answer.text,
        job=None if missing else answer.job.id,
        correlation_id=answer.correlation_id,
        model=answer.reading.model,
        error=answer.error,
    )


async def _synthesis(call: Call, given: Json, name: str, rows: Sequence[Opinion]) -> Json:
    """Have the judge sum up, once all have answered; it works in the background."""
    judge = given.get("judgeModel")
    told: Json = {"status": "not_requested", "judgeModel": judge, "rawJobReference": None}
    if judge is None:
        return told
    if any(row.status == "running" for row in rows):
        return {
            **told,
            "status": "waiting_for_provider_results",
            "note": "The same call again starts the judge when all have answered.",
        }
    said = [row for row in rows if row.status == "completed" and row.text.strip()]
    if not said:
        return {**told, "status": "skipped", "note": "Nobody has said anything that a judge could sum up."}
    prompt = opinions.judge_prompt(given["question"], said)
    wanted: Json = {"promptParts": {"task": prompt}, "correlationId": f"validation-judge-{name}-{judge}"}
    if judge == "mistral":
        wanted["agent"] = "plan"
    try:
        found = await call.jobs.llm.ask_once(asked(call, judge, wanted, background=True), f"{call.key}.judge")
    except BideError as error:
        return {**told, "status": "skipped", "note": str(error)}
    row = _read(judge, found)
    return {
        **told,
        "status": row.status,
        "rawJobReference": row.to_json()["rawJobReference"],
        "note": "llm_job_result has what the judge says.",
    }


def _told(rows: Sequence[Opinion], report: Json) -> str:
    """Return the report as a person would read it."""
    said = [
        f"{row.cli} ({row.status}, verdict: {row.verdict or 'none'})\n{row.to_json()['rationale'] or row.error or '(nothing)'}"
        for row in rows
    ]
    end = [report["disagreements"]["summary"]] if len(rows) > 1 else []
    judge = report["synthesis"]["rawJobReference"]
    end += [f"The judge works as job {judge['jobId']}; llm_job_result has what it says."] if judge else []
    return "\n\n".join([*said, *end, *([report["next"]] if report["next"] else [])])


async def compare(_: Call, given: Json) -> Answer:
    """Compare answers by their words alone; no LLM is asked."""
    pairs = await anyio.to_thread.run_sync(opinions.likeness, given["answers"])
    comparison = {
        "question": given["question"],
        "answerCount": len(given["answers"]),
        "checks": ["agreement", "contradictions", "missing evidence", "actionable recommendation"],
        "status": "local_summary_only",
        "pairs": pairs,
        "note": "Only the words were compared; ask validate_with_models what is true.",
    }
    data: Json = {"success": True, "tool": "compare_answers", "readMostly": True, "comparison": comparison}
    return Answer(json.dumps(data), data)


def _gone(name: str, instead: str) -> Tool:
    """Return a tool of the gateway that is not here: whatever it is called with, it names what to call instead."""

    async def act(_: Call, __: Json) -> Answer:
        raise BadRequest(detail="it does nothing here")

    def refuse(error: BideError) -> Answer:
        return refusal(BadRequest(detail=f"no tool {name} here: {instead} ({error})"))

    return Tool(name, "", fields(()), act, refuse=refuse, listed=False)


_CLI = text(enum=list(CLIS))
_SEVERAL = words("", items=_CLI, minItems=1)


def _tool(name: str, intent: str, description: str, schema: Json, *, listed: bool = True) -> Tool:
    return Tool(name, description, schema, partial(_opinions, intent, name), destructive=True, listed=listed)


def _text(description: str = "") -> Json:
    return text(description, minLength=1)


TOOLS = (
    _tool(
        "validate_with_models",
        "validate",
        "Have several LLMs judge something; a judge can sum up.",
        fields(("question",), question=_text(), models=_SEVERAL, focus=text(), judgeModel=_CLI),
    ),
    _tool(
        "second_opinion",
        "second_opinion",
        "Have one LLM judge an answer.",
        fields(("answer",), answer=_text(), question=text(), model=_CLI),
    ),
    _tool(
        "red_team_review",
        "red_team",
        "Have LLMs attack a plan or text.",
        fields(("content",), content=_text(), riskLevel=text(enum=["normal", "high"]), models=_SEVERAL),
    ),
    _tool(
        "consensus_check",
        "consensus",
        "Ask LLMs whether a claim is true.",
        fields(("claim",), claim=_text(), models=_SEVERAL),
    ),
    Tool(
        "compare_answers",
        "Compare answers by their words; asks nobody.",
        fields(("question", "answers"), question=_text(), answers=words("", items=_text(), minItems=2, maxItems=20)),
        compare,
        reads_only=True,
    ),
    _tool("ask_model", "ask_model", "Ask one LLM.", fields(("question",), question=_text(), model=_CLI), listed=False),
    _gone(
        "synthesize_validation",
        "call validate_with_models again with the same question and a judgeModel; it joins the answers that are there, and the "
        "judge sums them up",
    ),
    _gone(
        "codex_fork_session",
        "codex_request with this sessionId and prompt goes on with the session; Codex forks at a terminal alone",
    ),
    _gone(
        "upstream_contracts",
        "cli_versions tells the versions; flags are checked against the installed version at each request",
    ),
)
