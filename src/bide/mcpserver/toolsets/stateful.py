"""A stateful tool: spawn, fetch, apply and abort on handles, or one call from beginning to end. Seed 002's words."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

import anyio

from bide.mcpserver.tool import Answer, Call, Tool
from bide.mcpserver.toolsets.handlestate import answer, refuse, row
from bide.mcpserver.waiting import wait_reporting
from bide.model import arguments, handles
from bide.model.errors import BadRequest
from bide.model.handles import shown, state_of
from bide.model.job import Job
from bide.model.phase import Ended, Queued, Reason
from bide.model.request import Request
from bide.model.schema import Json
from bide.model.until import Until
from bide.model.waiting import Mode

SETTLE = timedelta(milliseconds=100)
"""Output is awaited until nothing came for this long."""
SETTLE_LONGEST = 1.0
ABORT_GRACE = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class Program:
    """What a stateful tool runs, and what it can do."""

    name: str
    description: str
    fields: Json
    """What a spawn takes beside the id."""
    required: tuple[str, ...]
    actions: tuple[str, ...]
    request: Callable[[Call, Json], Request]


class Stateful:
    """The tool of a program."""

    def __init__(self, program: Program) -> None:
        """Nothing is remembered: handles are jobs."""
        self._program = program
        self._forms = handles.forms(program.fields, program.required, program.actions)
        self._acts = {"spawn": self._spawn, "fetch": _fetch, "apply": _apply, "abort": _abort}

    def tool(self, *, combinators: bool) -> Tool:
        """The tool as clients see it; with `combinators`, also which fields go with which action."""
        return Tool(
            self._program.name,
            handles.described(self._program.description, self._program.actions),
            handles.flattened(self._forms),
            self.act,
            destructive=True,
            refuse=refuse,
            also={"oneOf": list(self._forms.values())} if combinators else {},
        )

    async def act(self, call: Call, given: Json) -> Answer:
        """Do one action; without one, run to completion."""
        action = given.get("action", "")
        stray = [key for key in ("id", "input") if key in given] if not action else []
        if stray:
            raise handles.stray_refusal(stray[0], self._program.actions)
        wrong = arguments.fault(given, self._forms[action])
        if wrong is not None:
            said = f"{action}: {wrong.sentence}" if action else wrong.sentence
            raise BadRequest(detail=said, field=wrong.field)
        return await (self._acts[action](call, given) if action else self._one_shot(call, given))

    async def _spawn(self, call: Call, given: Json) -> Answer:
        ref = handles.check_handle_id(given["id"])
        job = await self._start(call, given, ref)
        if isinstance(job.phase, Ended) and job.phase.end.reason is Reason.SPAWN_FAILED:
            return answer(await row(call, job, ref))
        return answer({"id": ref, "state": "pending" if isinstance(job.phase, Queued) else "running"})

    async def _one_shot(self, call: Call, given: Json) -> Answer:
        job = await self._start(call, given, None)
        longest = timedelta(seconds=call.longest)
        (job,) = (await wait_reporting(call, [job.id], Mode.ALL, Until(), longest)).jobs
        data = await row(call, await call.jobs.get(job.id), job.id)
        if data["state"] != "stopped":
            following = json.dumps({"all": [job.id]})
            return answer({**data, "note": f"it takes longer than this call may; it goes on: await {following}"})
        del data["id"]
        error: Json | None = data.get("error")
        parts = [data["result"], data.get("content", ""), *(error["trace"] if error else [data.get("stderr", "")])]
        said = "\n".join(part.rstrip("\n") for part in parts if part) or "(no output)"
        return Answer(said, data, is_error=error is not None)

    async def _start(self, call: Call, given: Json, name: str | None) -> Job:
        request = replace(
            self._program.request(call, given),
            name=name,
            label=self._program.name,
            owner=call.caller.owner,
            base_env=call.caller.env,
            key=call.key,
            background=True,
        )
        ran = await call.jobs.run(request)
        call.own.arrivals.ring()
        return ran.job


async def handle(call: Call, ref: str) -> Job:
    """The caller's handle of this id; one that is being spawned is given a moment to be there."""
    (known,) = await call.own.ids([ref])
    return await call.jobs.get(known)


async def _fetch(call: Call, given: Json) -> Answer:
    job = await handle(call, given["id"])
    if job.spec.pty and not isinstance(job.phase, Ended):
        await _settled(call, job, await _size(call, job))
        job = await call.jobs.get(job.id)
    return answer(await row(call, job, given["id"]))


async def _apply(call: Call, given: Json) -> Answer:
    ref, value = given["id"], given["input"]
    job = await handle(call, ref)
    if isinstance(job.phase, Ended):
        detail = f"Handle `{shown(ref)}` is stopped, so nothing can be applied to it; fetch gives its result"
        raise BadRequest(detail=detail)
    if not (job.spec.stdin or job.spec.pty):
        raise BadRequest(detail=f"Handle `{shown(ref)}` was spawned without stdin; abort it and spawn it with stdin")
    before = await _size(call, job)
    await call.jobs.send(job.id, data=_input(job, value), eof=value is None, key=call.key)
    await _settled(call, job, before)
    return answer(await row(call, await call.jobs.get(job.id), ref))


def _input(job: Job, value: object) -> bytes:
    """What is written: an answer to a question is a whole line, and everything else is what it is."""
    if value is None:
        return b""
    said = value if isinstance(value, str) else json.dumps(value)
    asked = not job.spec.pty and state_of(job) == "waiting" and job.facts is not None and bool(job.facts.waiting)
    return (f"{said}\n" if asked and not said.endswith("\n") else said).encode("utf-8", "replace")


async def _abort(call: Call, given: Json) -> Answer:
    job = await handle(call, given["id"])
    killed = await call.jobs.kill(job.id, grace=ABORT_GRACE, by=call.caller.owner)
    data = await row(call, killed.job, given["id"])
    if not killed.verified_empty:
        left = ", ".join(f"{one.pid} ({one.command})" for one in killed.survivors)
        data["note"] = f"still alive: {left}"
    return answer(data)


async def _size(call: Call, job: Job) -> int:
    return (await call.jobs.read(job.id, limit=1)).size


async def _settled(call: Call, job: Job, offset: int) -> None:
    """Let output come until there was none for a moment."""
    with anyio.move_on_after(SETTLE_LONGEST):
        while True:
            piece = await call.jobs.read(job.id, offset=offset, follow=SETTLE)
            if not piece.data:
                return
            offset = piece.next
