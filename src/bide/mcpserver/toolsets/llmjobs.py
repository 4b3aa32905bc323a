"""The tools of the toolset `llm` that look after requests: status, result, watch, cancel, health."""

from __future__ import annotations

import json
from datetime import timedelta

from msgspec.structs import replace

from bide.mcpserver.gaps import CHARS_PER_TOKEN
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
    """Status of a request."""
    return _told({"success": True, "job": llmtext.snapshot(await _found(call, given["jobId"]))})


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
    if "budget" in given:
        # Three texts share it: both streams, and the answer that was read from them.
        most = min(most, max(given["budget"] * CHARS_PER_TOKEN // 3, 1))
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
    if answer.notes:
        body["warnings"] = llmtext.warnings(answer)
    return _told({"success": True, "result": body, "parsed": llmtext.parsed(answer, most)})


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
    job = llmtext.snapshot(found.answer)
    return _told({"success": True, "job": job, "phase": phase, "progress": llmtext.progress(found, seen)})


async def cancel(call: Call, given: Json) -> Answer:
    """End a request with its whole tree."""
    try:
        answer = await _found(call, given["jobId"])
    except JobNotFound:
        return _not_canceled(given["jobId"], "Job not found")
    if answer.status is not Status.RUNNING:
        return _not_canceled(answer.job.id, f"Job is already {answer.status}")
    await call.jobs.kill(answer.job.id, by="llm_job_cancel")
    after = await call.jobs.llm.answer(answer.job.id)
    return _told({"success": True, "jobId": answer.job.id, "status": str(after.status)})


def _not_canceled(job: str, reason: str) -> Answer:
    return replace(_told({"success": False, "jobId": job, "reason": reason}), is_error=True)


async def health(call: Call, _: Json) -> Answer:
    """How the processes of the caller's running requests do, and whether each CLI is asked or was given a rest."""
    rows = [llmtext.health(one) for one in await call.jobs.llm.processes(owner=call.caller.owner)]
    clis = [llmtext.cli_health(one) for one in await call.jobs.llm.health()]
    counts = {
        "runningJobs": len(rows),
        "deadJobs": sum(row["isDead"] for row in rows),
        "zombieJobs": sum(row["isZombie"] for row in rows),
    }
    kept = await call.jobs.llm.persistence(call.caller.env)
    return _told({"success": True, **counts, "jobs": rows, "clis": clis, "persistence": kept})


def _unknown(error: BideError) -> Answer:
    """Return the refusal of an id that is not known, as data, and say how to come by the answer all the same."""
    if not isinstance(error, JobNotFound):
        return refusal(error)
    why = "" if isinstance(error, JobForgotten) else f"no request of yours is known as {error.facts['job']!r}; "
    message = (
        f"{why or f'{error}; '}make it again: an equal one that runs or was answered lately is joined and not run twice"
    )
    told = {"success": False, "error": "Job not found", "jobId": error.facts["job"], "code": error.code}
    return replace(_told({**told, "message": message}), is_error=True)


_JOB = text()
_PAGE: dict[str, Json] = {
    "maxChars": whole("of each stream", minimum=1000, maximum=2_000_000, default=CHARS),
    "budget": whole("", minimum=0),
    "stdoutOffsetChars": whole("", minimum=0),
    "stderrOffsetChars": whole("", minimum=0),
}
TOOLS = (
    Tool(
        "llm_job_status",
        "Status of a request.",
        fields(("jobId",), jobId=_JOB),
        status,
        reads_only=True,
        refuse=_unknown,
    ),
    Tool("job_status", "", fields(("jobId",), jobId=_JOB), status, reads_only=True, refuse=_unknown, listed=False),
    Tool(
        "job_result",
        "",
        fields(("jobId",), jobId=_JOB, provider=text(), **_PAGE),
        result,
        reads_only=True,
        refuse=_unknown,
        listed=False,
    ),
    Tool(
        "llm_job_result",
        "Output of a request, partial while it runs; parsed.text is the answer.",
        fields(("jobId",), jobId=_JOB, **_PAGE),
        result,
        reads_only=True,
        refuse=_unknown,
    ),
    Tool(
        "llm_request_result",
        "The same by correlationId.",
        fields(("correlationId",), correlationId=text(), **_PAGE),
        request_result,
        reads_only=True,
        refuse=_unknown,
    ),
    Tool(
        "llm_job_watch",
        "Wait without polling until a request gets further, or for its end alone: afterProgressSeq 999999999999.",
        fields(
            ("jobId",),
            jobId=_JOB,
            afterProgressSeq=whole("last nextAfterSeq", minimum=0),
            progressLimit=whole("", minimum=1, maximum=KEPT, default=SHOWN),
            waitMs=whole("", minimum=0, maximum=30_000),
        ),
        watch,
        reads_only=True,
        refuse=_unknown,
    ),
    Tool(
        "llm_job_cancel",
        "End a request: TERM, KILL after 5 s. Its output stays.",
        fields(("jobId",), jobId=_JOB),
        cancel,
        destructive=True,
    ),
    Tool(
        "llm_process_health",
        "Processes of your running requests, and state of each CLI.",
        fields(()),
        health,
        reads_only=True,
    ),
)
