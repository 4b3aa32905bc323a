"""A stateful tool: spawn, fetch, apply and abort on handles, or one call from beginning to end. Seed 002's words."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

import anyio

from bide.mcpserver import arguments
from bide.mcpserver.tool import Answer, Call, Json, Tool, fields, text
from bide.mcpserver.toolsets.handlestate import answer, refuse, row, shown, state_of
from bide.mcpserver.waiting import wait_reporting
from bide.model.errors import BadRequest
from bide.model.job import ID_PATTERN, NAME_PATTERN, Job
from bide.model.phase import Ended, Queued, Reason
from bide.model.request import Request
from bide.model.until import Until
from bide.model.waiting import Mode

SETTLE = timedelta(milliseconds=100)
"""Output is awaited until nothing came for this long."""
SETTLE_LONGEST = 1.0
ABORT_GRACE = timedelta(seconds=2)
_INPUT: Json = {
    "anyOf": [
        *({"type": kind} for kind in ("string", "number", "boolean", "null")),
        {"type": "object", "additionalProperties": True},
    ],
    "description": "text for its input; null ends the input",
}


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
        self._forms = _forms(program)
        self._acts = {"spawn": self._spawn, "fetch": _fetch, "apply": _apply, "abort": _abort}

    def tool(self, *, combinators: bool) -> Tool:
        """The tool as clients see it; with `combinators`, also which fields go with which action."""
        action = text("leave it out to run to completion in this call", enum=list(self._program.actions))
        together: Json = {"action": action}
        for form in self._forms.values():
            for key, one in form["properties"].items():
                together.setdefault(key, one)
        return Tool(
            self._program.name,
            _described(self._program),
            fields((), **together),
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
            detail = f"{stray[0]!r} goes with an 'action': {', '.join(self._program.actions)}"
            raise BadRequest(detail=f"{detail}; without one the call runs to completion and leaves no handle")
        wrong = arguments.fault(given, self._forms[action])
        if wrong is not None:
            said = f"{action}: {wrong.sentence}" if action else wrong.sentence
            raise BadRequest(detail=said, field=wrong.field)
        return await (self._acts[action](call, given) if action else self._one_shot(call, given))

    async def _spawn(self, call: Call, given: Json) -> Answer:
        ref = given["id"]
        if not NAME_PATTERN.match(ref) or ID_PATTERN.match(ref):
            detail = f"`{shown(ref)}` cannot be a handle ID; use 1 to 64 letters, digits, '.', '_' or '-'"
            raise BadRequest(detail=f"{detail}, beginning with a letter or digit, and not of the form of a job's id")
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


def _described(program: Program) -> str:
    later = ", ".join(program.actions[1:])
    pattern = "Spawn with an id of your choice, then await that id" + (f"; on it go {later}." if later else ".")
    return f"{program.description} {pattern}".strip()


def _forms(program: Program) -> dict[str, Json]:
    """The fields of each action; those of a call without one under the empty name."""
    any_id = text("the handle's id", minLength=1)
    own_id = text("Handle ID for this tool instance. Must be unique across active handles.", minLength=1)
    forms = {
        "spawn": ({"id": own_id, **program.fields}, ("id", *program.required)),
        "fetch": ({"id": any_id}, ("id",)),
        "apply": ({"id": any_id, "input": _INPUT}, ("id", "input")),
        "abort": ({"id": any_id}, ("id",)),
    }
    acting = {
        action: fields(("action", *required), action=text(const=action), **taken)
        for action, (taken, required) in forms.items()
        if action in program.actions
    }
    return {**acting, "": fields(program.required, **program.fields)}


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
