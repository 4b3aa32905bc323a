"""The tool `ask` of the core toolset: one question to another LLM, for agents that want one tool instead of twenty."""

from __future__ import annotations

import os
from datetime import timedelta

from msgspec.structs import replace

from bide.mcpserver.answers import beside, spoken
from bide.mcpserver.tool import Answer, Call, Tool
from bide.mcpserver.toolsets.llmfields import CLIS
from bide.model.llm.answer import Status
from bide.model.llm.ask import Ask, Strategy
from bide.model.schema import Json, fields, flag, text


async def ask(call: Call, given: Json) -> Answer:
    """The answer if it is there in time, else the job's id."""
    asked = Ask.of(
        given["cli"],
        given["prompt"],
        model=given.get("model"),
        conversation=given.get("resume"),
        strategy=Strategy.MCP_MANAGED if given.get("act") else Strategy.LEGACY,
        full_auto=bool(given.get("act")) and given["cli"] == "codex",
        options={"agent": "plan"} if given["cli"] == "mistral" and not given.get("act") else {},
        background=given.get("background", False),
        deadline=timedelta(seconds=call.longest),
        cwd=os.path.join(call.caller.cwd, given.get("cwd", "")),
        base_env=call.caller.env,
        owner=call.caller.owner,
    )
    found = await call.jobs.llm.ask_once(asked, call.key)
    call.own.arrivals.ring()
    answer = found.answer
    data: Json = {"job": found.job.id, "status": str(answer.status), "resume": answer.reading.conversation}
    if answer.status is Status.RUNNING:
        return Answer(
            f"{answer.cli} works on it as job {found.job.id}: await it, then send the same ask again for its answer",
            data,
        )
    data |= {"answer": answer.text, "warnings": [note.message for note in answer.notes]}
    resume = [f"resume: {data['resume']}"] if data["resume"] else []
    told = Answer(spoken(answer, answer.text), data, aside="\n".join([*beside(answer), *resume]))
    if answer.status is Status.COMPLETED:
        return told
    return replace(told, data={**data, "error": {"code": str(answer.fault), "message": answer.error}}, is_error=True)


TOOL = Tool(
    "ask",
    "Ask another LLM's command line, as a durable job.",
    fields(
        ("cli", "prompt"),
        cli=text(enum=list(CLIS)),
        prompt=text(),
        model=text(),
        resume=text("'resume' of an earlier answer"),
        act=flag("let it act unattended"),
        background=flag(),
        cwd=text(),
    ),
    ask,
    destructive=True,
)
