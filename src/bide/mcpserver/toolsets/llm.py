"""The toolset `llm`: LLM command lines as jobs. Its names, fields and defaults are those of seed 004."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial

from msgspec.structs import asdict, replace

from bide.mcpserver.answers import beside, spoken
from bide.mcpserver.tool import Answer, Call, Tool
from bide.mcpserver.toolsets import llmjobs, llmreview, llmsessions, llmtext
from bide.mcpserver.toolsets.llmfields import CLIS, SERVERS, asked, schema
from bide.model.llm.answer import Status
from bide.model.llm.prompt import optimized
from bide.model.output import Stream
from bide.model.phase import Ended
from bide.model.schema import Json, fields, flag, text, whole

_UPGRADE_LINES = 20
_NAMES = {"claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI", "grok": "Grok", "mistral": "Mistral Vibe"}


def tools() -> tuple[Tool, ...]:
    """All of them."""
    found: list[Tool] = []
    for cli in CLIS:
        found.append(_request(cli, partial(request, cli), sync=True))
        found.append(_request(cli, partial(request_async, cli), sync=False))
    return (*found, *llmjobs.TOOLS, llmreview.TOOL, *llmsessions.TOOLS, *_ABOUT)


def _request(cli: str, act: Callable[[Call, Json], Awaitable[Answer]], *, sync: bool) -> Tool:
    how = (
        "and answer with what it said; past 45 s with the id of the job, which goes on"
        if sync
        else "and answer at once with its id; wait for it with llm_job_watch, fetch with llm_job_result"
    )
    return Tool(
        f"{cli}_request" if sync else f"{cli}_request_async",
        f"Ask {_NAMES[cli]} as a durable job {how}. Give `prompt` or `promptParts`. An equal request within the hour gets the same job.",
        schema(cli, sync=sync),
        act,
        destructive=True,
    )


async def request(cli: str, call: Call, given: Json) -> Answer:
    """Ask, and wait for as long as a call may take."""
    found = await call.jobs.llm.ask_once(asked(call, cli, given, background=False), call.key)
    call.own.arrivals.ring()
    answer = found.answer
    if found.deferred:
        data = llmtext.deferred(found, given, SERVERS)
        return Answer(json.dumps(data), data)
    said = optimized(answer.text) if given.get("optimizeResponse") else answer.text
    where = answer.job.spec.ask.worktree if answer.job.spec.ask else None
    said = f"[gateway] worktree={where}\n{said}" if where else said
    data = {
        "success": answer.status is Status.COMPLETED,
        "status": str(answer.status),
        "jobId": found.job.id,
        "exitCode": answer.exit_code,
        "response": said,
        **llmtext.common(found, given, SERVERS),
        "parsed": {key: value for key, value in llmtext.parsed(answer).items() if key != "text"},
    }
    aside = "\n".join([*beside(answer), f"[gateway] jobId={found.job.id} sessionId={data['sessionId']}"])
    if answer.status is Status.COMPLETED:
        return Answer(spoken(answer, said), data, aside=aside)
    data["error"] = {"code": str(answer.fault) or str(answer.status), "message": answer.error}
    data["errorCategory"] = str(answer.fault)
    return Answer(spoken(answer, said), data, is_error=True, aside=aside)


async def request_async(cli: str, call: Call, given: Json) -> Answer:
    """Ask, and do not wait."""
    found = await call.jobs.llm.ask_once(asked(call, cli, given, background=True), call.key)
    call.own.arrivals.ring()
    snapshot = llmtext.snapshot(found.answer)
    job = {key: snapshot[key] for key in ("id", "cli", "status", "startedAt")}
    data = {"success": True, "job": job, **llmtext.common(found, given, SERVERS)}
    return Answer(json.dumps(data), data)


def _told(data: Json) -> Answer:
    return Answer(json.dumps(data), data)


async def _versions(call: Call, given: Json) -> Answer:
    found = await call.jobs.llm.programs(given.get("cli"), login=True, env=call.caller.env)
    rows = [
        {"cli": one.cli, "installed": one.installed, "version": one.version or None, "loginStatus": one.login}
        | ({"hint": one.hint} if one.hint else {})
        for one in found
    ]
    return _told({"versions": rows})


async def _upgrade(call: Call, given: Json) -> Answer:
    dry_run = bool(given.get("dryRun", True))
    found = await call.jobs.llm.upgrade(
        given["cli"], given.get("target"), dry_run=dry_run, env=call.caller.env, owner=call.caller.owner
    )
    data: Json = {"cli": found.cli, "command": list(found.command), "dryRun": found.dry_run, "jobId": found.job}
    return _told(data) if found.job is None else await _upgraded(call, data, found.job)


async def _upgraded(call: Call, data: Json, job: str) -> Answer:
    """What became of an upgrade, or that it goes on: the same call then waits for the same one."""
    (one,) = (await call.jobs.wait([job], timeout=timedelta(seconds=call.longest))).jobs
    if not isinstance(one.phase, Ended):
        return _told({**data, "status": "running", "next": "It goes on. The same call waits for it again."})
    end = one.phase.end
    said = [await call.jobs.read(job, stream=stream, tail=_UPGRADE_LINES) for stream in Stream]
    output = "\n".join(piece.data.decode("utf-8", "replace").strip() for piece in said if piece.data)
    status = "completed" if end.success else "failed"
    told = _told({**data, "status": status, "exitCode": end.exit_code, "output": output})
    return told if end.success else replace(told, is_error=True)


async def _models(call: Call, given: Json) -> Answer:
    found = await call.jobs.llm.models(given.get("cli"))
    return _told({"models": [{**asdict(one), "models": list(one.models)} for one in found]})


async def _approvals(call: Call, given: Json) -> Answer:
    return _told({"approvals": list(await call.jobs.llm.approvals(given.get("limit", 50)))})


_CLI = text("only this one", enum=list(CLIS))
_ABOUT = (
    Tool(
        "cli_versions",
        "Which LLM command lines are installed, in which version, and whether somebody is logged in.",
        fields((), cli=_CLI),
        _versions,
        reads_only=True,
    ),
    Tool(
        "cli_upgrade",
        "Bring an LLM command line to a version. Only shows the plan unless dryRun is false; then it is done as a job, and waited for.",
        fields(("cli",), cli=_CLI, target=text("a version; the newest if not given"), dryRun=flag("true if not given")),
        _upgrade,
        destructive=True,
    ),
    Tool("list_models", "Models that are known by name.", fields((), cli=_CLI), _models, reads_only=True),
    Tool(
        "approval_list",
        "What the approval gate decided lately.",
        fields((), limit=whole("50 if not given", minimum=1, maximum=500)),
        _approvals,
        reads_only=True,
    ),
)
