"""The tools of the toolset `llm` that look after requests: status, result, watch, cancel, health."""

from __future__ import annotations

import json
from datetime import timedelta

from msgspec.structs import replace

from bide.mcpserver.tool import Answer, Call, Tool, refusal
from bide.mcpserver.toolsets import llmtext
from bide.model.errors import BideError, JobForgotten, JobNotFound
from bide.model.llm.answer import Answer as LlmAnswer
from bide.model.llm.answer import Status
from bide.model.llm.steps import KEPT, SHOWN
from bide.model.output import Stream
from bide.model.schema import Json, fields, text, whole

CHARS = 200_000
_PIECE = 1024 * 1024


async def _found(call: Call, ref: str) -> LlmAnswer:
    return await call.jobs.llm.answer((await call.own.job(ref)).id)


def _told(data: Json) -> Answer:
    return Answer(json.dumps(data), data)


async def status(call: Call, given: Json) -> Answer:
    """Where a request is."""
    return _told({"job": llmtext.snapshot(await _found(call, given["jobId"]))})


async def result(call: Call, given: Json) -> Answer:
    """What a request wrote, and what was read from it."""
    return await _result(call, await _found(call, given["jobId"]), given)


async def request_result(call: Call, given: Json) -> Answer:
    """The same, by the caller's own word for it."""
    asked = given["correlationId"]
    with call.own.unseen(JobNotFound(job=asked)):
        answer = await call.jobs.llm.answer(asked, owner=call.caller.owner)
    if answer.job.owner != call.caller.owner:
        raise JobNotFound(job=asked)
    return await _result(call, replace(answer, correlation_id=asked), given)


async def _result(call: Call, answer: LlmAnswer, given: Json) -> Answer:
    most = given.get("maxChars", CHARS)
    body: Json = {**llmtext.snapshot(answer), "jobId": answer.job.id}
    for stream, word in ((Stream.OUT, "stdout"), (Stream.ERR, "stderr")):
        whole_text = await _text(call, answer.job.id, stream)
        offset = given.get(f"{word}OffsetChars")
        start = max(len(whole_text) - most, 0) if offset is None else min(offset, len(whole_text))
        piece = whole_text[start : start + most]
        end = start + len(piece)
        body |= {
            word: piece,
            f"{word}Truncated": len(piece) < len(whole_text),
            f"{word}OffsetChars": start,
            f"{word}TotalChars": len(whole_text),
            f"{word}NextOffsetChars": end if end < len(whole_text) else None,
        }
    body["parsed"] = llmtext.parsed(answer)
    if answer.notes:
        body["warnings"] = llmtext.warnings(answer)
    return _told({"result": body})


async def _text(call: Call, job: str, stream: Stream) -> str:
    pieces: list[bytes] = []
    at = 0
    while True:
        found = await call.jobs.read(job, stream=stream, offset=at, limit=_PIECE)
        if not found.data:
            return b"".join(pieces).decode("utf-8", "replace")
        pieces.append(found.data)
        at = found.next


async def watch(call: Call, given: Json) -> Answer:
    """Wait until a request gets further, or is over."""
    job = (await call.own.job(given["jobId"])).id
    seen, limit = given.get("afterProgressSeq", 0), given.get("progressLimit", SHOWN)
    wait = timedelta(milliseconds=given.get("waitMs", 0))
    found = await call.jobs.llm.watch(job, after=seen, limit=limit, wait=wait)
    for step in found.steps:
        await call.progress(step.seq, f"{found.answer.cli}: {llmtext.PHASES[step.phase]}")
    phase = llmtext.PHASES[found.phase]
    return _told({"job": llmtext.snapshot(found.answer), "phase": phase, "progress": llmtext.progress(found, seen)})


async def cancel(call: Call, given: Json) -> Answer:
    """End a request with its whole tree."""
    try:
        answer = await _found(call, given["jobId"])
    except JobNotFound:
        return _told({"success": False, "jobId": given["jobId"], "reason": "Job not found"})
    if answer.status is not Status.RUNNING:
        return _told({"success": False, "jobId": answer.job.id, "reason": f"Job is already {answer.status}"})
    await call.jobs.kill(answer.job.id, by="llm_job_cancel")
    after = await call.jobs.llm.answer(answer.job.id)
    return _told({"success": True, "jobId": answer.job.id, "status": str(after.status)})


async def health(call: Call, _: Json) -> Answer:
    """How the processes of the caller's running requests do, and whether each CLI is asked or was given a rest."""
    rows = [llmtext.health(one) for one in await call.jobs.llm.processes(owner=call.caller.owner)]
    clis = [llmtext.cli_health(one) for one in await call.jobs.llm.health()]
    persistence = {"backend": "bide", "durable": True}
    return _told({"jobs": rows, "running": len(rows), "clis": clis, "persistence": persistence})


def _unknown(error: BideError) -> Answer:
    """What is not there, and how to come by it all the same."""
    if not isinstance(error, JobNotFound) or isinstance(error, JobForgotten):
        return refusal(error)
    said = f"no request of yours is known as {error.facts['job']!r}"
    message = f"{said}; make it again, and if an equal one runs or was answered lately, it is joined and not run twice"
    return Answer(message, {"error": {"code": error.code, "message": message}}, is_error=True)


_JOB = text("the id of a request")
_PAGE: dict[str, Json] = {
    "maxChars": whole("of each stream; the last ones if there are more", minimum=1000, maximum=2_000_000),
    "stdoutOffsetChars": whole("from here on, instead of the last ones", minimum=0),
    "stderrOffsetChars": whole("", minimum=0),
}
TOOLS = (
    Tool(
        "llm_job_status",
        "Where a request is.",
        fields(("jobId",), jobId=_JOB),
        status,
        reads_only=True,
        refuse=_unknown,
    ),
    Tool(
        "llm_job_result",
        "What a request wrote, whatever became of it; partial while it runs. `parsed.text` is the answer.",
        fields(("jobId",), jobId=_JOB, **_PAGE),
        result,
        reads_only=True,
        refuse=_unknown,
    ),
    Tool(
        "llm_request_result",
        "The same by correlationId, for whoever lost the job's id.",
        fields(("correlationId",), correlationId=text(), **_PAGE),
        request_result,
        reads_only=True,
        refuse=_unknown,
    ),
    Tool(
        "llm_job_watch",
        "Wait, without polling, until a request gets further than was seen, or is over. To be told of its end alone, give afterProgressSeq 999999999999.",
        fields(
            ("jobId",),
            jobId=_JOB,
            afterProgressSeq=whole("progress.nextAfterSeq of the last answer", minimum=0),
            progressLimit=whole("at most so many events; 32 if not given", minimum=1, maximum=KEPT),
            waitMs=whole("how long to wait at most; 0 if not given", minimum=0, maximum=30_000),
        ),
        watch,
        reads_only=True,
        refuse=_unknown,
    ),
    Tool(
        "llm_job_cancel",
        "End a request: TERM, then KILL after 5 s. What it wrote can still be read.",
        fields(("jobId",), jobId=_JOB),
        cancel,
        destructive=True,
    ),
    Tool(
        "llm_process_health",
        "How the processes of your running requests do, and whether each CLI is asked or was given a rest.",
        fields(()),
        health,
        reads_only=True,
    ),
)
