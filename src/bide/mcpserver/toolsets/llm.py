"""The toolset `llm`: LLM command lines as jobs. Its names, fields and defaults are those of seed 004."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial

from msgspec.structs import replace

from bide.mcpserver.answers import beside, spoken
from bide.mcpserver.gaps import CHARS_PER_TOKEN
from bide.mcpserver.tool import Answer, Call, Tool, refusal
from bide.mcpserver.toolsets import llmjobs, llmopinions, llmreview, llmsessions, llmtext
from bide.mcpserver.toolsets.llmfields import CLIS, SERVERS, asked, field_of, schema, shown
from bide.mcpserver.waiting import reporting
from bide.model.errors import BadRequest, BideError
from bide.model.llm.answer import Asked, Status
from bide.model.llm.prompt import optimized
from bide.model.output import Stream
from bide.model.phase import Ended
from bide.model.schema import Json, fields, flag, text, whole

_UPGRADE_LINES = 20
_APPROVALS = 500
"""How many of the newest decisions are looked through for those of one CLI."""
_NAMES = {"claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI", "grok": "Grok", "mistral": "Mistral Vibe"}


def tools() -> tuple[Tool, ...]:
    """Return all tools, in the order of a client's list."""
    found: list[Tool] = []
    for cli in CLIS:
        found.append(_request(cli, partial(request, cli), sync=True))
        found.append(_request(cli, partial(request_async, cli), sync=False))
    return (*found, *llmjobs.TOOLS, llmreview.TOOL, *llmopinions.TOOLS, *llmsessions.TOOLS, *_ABOUT)


def _request(cli: str, act: Callable[[Call, Json], Awaitable[Answer]], *, sync: bool) -> Tool:
    how = (
        "Answers within 45 s, else `deferred` with a jobId. Equal requests within the hour join."
        if sync
        else f"Start it; answers with its id. Other fields as in {cli}_request."
    )
    return Tool(
        f"{cli}_request" if sync else f"{cli}_request_async",
        f"Ask {_NAMES[cli]}. {how}" if sync else how,
        schema(cli, sync=sync),
        act,
        destructive=True,
        refuse=_refused,
        shown=shown(cli, sync=sync),
    )


_NAMED = 50
"""So much of a field's name is enough to know it by: a refusal of a long one shows its beginning."""


def _refused(error: BideError) -> Answer:
    """Return a refusal that names the field that is wrong."""
    field = error.facts.get("field", "")
    named = field[:_NAMED] in str(error)
    return refusal(error if named else BadRequest(detail=f"{field!r}: {error}", field=field))


async def _asked(cli: str, call: Call, given: Json, *, background: bool) -> Asked:
    """Ask. Raises BadRequest that names the field as the caller gave it, where the fault is in an option."""
    try:
        return await call.jobs.llm.ask_once(asked(call, cli, given, background=background), call.key)
    except BadRequest as error:
        option = error.facts.get("field", "")
        wrong = f"option {option!r}"
        if not option or wrong not in str(error):
            raise
        field = field_of(cli, option, given)
        raise BadRequest(detail=str(error).replace(wrong, repr(field)), field=field) from error


async def request(cli: str, call: Call, given: Json) -> Answer:
    """Ask, and wait for as long as a call may take."""
    found = await reporting(call, [cli], lambda: _asked(cli, call, given, background=False))
    call.own.arrivals.ring()
    answer = found.answer
    if found.deferred:
        data = llmtext.deferred(found, given, SERVERS)
        return Answer(json.dumps(data), data)
    said = optimized(answer.text) if given.get("optimizeResponse") else answer.text
    total, room = len(said), given["budget"] * CHARS_PER_TOKEN if "budget" in given else len(said)
    # The verdict is at the end.
    said = said[max(total - room, 0) :]
    where = answer.job.spec.ask.worktree if answer.job.spec.ask else None
    said = f"[gateway] worktree={where}\n{said}" if where else said
    data = {
        "success": answer.status is Status.COMPLETED,
        "status": str(answer.status),
        "jobId": found.job.id,
        "exitCode": answer.exit_code,
        "response": said,
        **llmtext.common(found, given, SERVERS),
        **llmtext.figures(answer),
        "parsed": {key: value for key, value in llmtext.parsed(answer).items() if key != "text"},
    }
    if room < total:
        data |= {"responseTruncated": True, "responseTotalChars": total}
    aside = "\n".join([*beside(answer), f"[gateway] jobId={found.job.id} sessionId={data['sessionId']}"])
    if answer.status is Status.COMPLETED:
        return Answer(spoken(answer, said), data, aside=aside)
    data["error"] = {"code": str(answer.fault) or str(answer.status), "message": answer.error}
    data["errorCategory"] = str(answer.fault)
    why = f"{_NAMES[cli]} failed ({llmtext.exit_of(answer)}): {spoken(answer, said)}"
    return Answer(why, data, is_error=True, aside=aside)


async def request_async(cli: str, call: Call, given: Json) -> Answer:
    """Ask, and do not wait."""
    found = await _asked(cli, call, given, background=True)
    call.own.arrivals.ring()
    snapshot = llmtext.snapshot(found.answer)
    job = {key: snapshot[key] for key in ("id", "cli", "status", "startedAt")}
    data = {"success": True, "job": job, **llmtext.common(found, given, SERVERS)}
    # Until the CLI has named the session, the job's id stands for it.
    data["sessionId"] = data["sessionId"] or found.job.id
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
    return _told({"success": True, "versions": rows})


async def _upgrade(call: Call, given: Json) -> Answer:
    dry_run = bool(given.get("dryRun", True))
    found = await call.jobs.llm.upgrade(
        given["cli"], given.get("target"), dry_run=dry_run, env=call.caller.env, owner=call.caller.owner
    )
    target = given.get("target") or "latest"
    program, *words = found.command
    data: Json = {
        "success": True,
        "cli": found.cli,
        "dryRun": found.dry_run,
        "plan": {"cli": found.cli, "target": target, "command": program, "args": words},
        "command": list(found.command),
        "jobId": found.job,
    }
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
    figures = {"success": end.success, "status": status, "exitCode": end.exit_code, "output": output}
    told = _told(data | figures)
    return told if end.success else replace(told, is_error=True)


async def _models(call: Call, given: Json) -> Answer:
    return _told(llmtext.models(await call.jobs.llm.models(given.get("cli"))))


async def _available(call: Call, _: Json) -> Answer:
    return _told({"success": True, "models": llmtext.models(await call.jobs.llm.models())})


async def _approvals(call: Call, given: Json) -> Answer:
    cli, limit = given.get("cli"), given.get("limit", 50)
    rows = await call.jobs.llm.approvals(limit if cli is None else _APPROVALS)
    found = [row for row in rows if cli in (None, row["cli"])][:limit]
    return _told({"success": True, "count": len(found), "approvals": found})


_CLI = text(enum=list(CLIS))
_ABOUT = (
    Tool(
        "cli_versions",
        "Version and login of each LLM command line.",
        fields((), cli=_CLI),
        _versions,
        reads_only=True,
    ),
    Tool(
        "cli_upgrade",
        "Show the plan of an upgrade; with dryRun false, do it.",
        fields(
            ("cli",),
            cli=_CLI,
            target=text("a version"),
            dryRun=flag(),
            timeoutMs=whole("", minimum=30_000, maximum=3_600_000),
        ),
        _upgrade,
        destructive=True,
        refuse=_refused,
    ),
    Tool("list_models", "Models known by name.", fields((), cli=_CLI), _models, reads_only=True),
    Tool("list_available_models", "The same, of all.", fields(()), _available, reads_only=True),
    Tool(
        "approval_list",
        "The gate's newest decisions.",
        fields((), limit=whole("", minimum=1, maximum=500), cli=_CLI),
        _approvals,
        reads_only=True,
    ),
)
