"""A stateful tool: spawn, fetch, apply and abort on handles, or one call from beginning to end. Seed 002's words."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from bide.agents import acting
from bide.agents.rows import pending_row, row
from bide.mcpserver.tool import Answer, Call, Tool
from bide.mcpserver.toolsets.awaiting import applier, until_met
from bide.mcpserver.toolsets.handlestate import answer, refuse, room_of
from bide.mcpserver.waiting import reporting
from bide.model import arguments, handles
from bide.model.errors import BadRequest
from bide.model.job import Job
from bide.model.phase import Ended, Queued, Reason
from bide.model.request import Request
from bide.model.schema import Json, budget
from bide.model.waiting import Mode


class Program(Struct, frozen=True):
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

    def __init__(self, program: Program, appliers: Mapping[str, bool]) -> None:
        """Nothing is remembered: handles are jobs. `appliers` has every tool with whether it can apply."""
        self._program = program
        self._appliers = appliers
        self._forms = handles.forms(program.fields, program.required, program.actions)
        for action, form in self._forms.items():
            if action != "spawn":  # which shows no output
                form["properties"]["budget"] = budget()
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
        given = handles.meant(given, self._forms)
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
            return answer(await row(call.jobs, job, ref))
        return answer({"id": ref, "state": "pending" if isinstance(job.phase, Queued) else "running"})

    async def _one_shot(self, call: Call, given: Json) -> Answer:
        job = await self._start(call, given, None)
        await reporting(call, [job.id], lambda: until_met(call, [([job.id], Mode.ALL)], call.longest))
        job = await call.jobs.get(job.id)
        data = await row(call.jobs, job, job.id, room_of(call, given))
        if data["state"] == "waiting":
            return answer({**data, **pending_row(job, job.id, applier(self._appliers, job))})
        if data["state"] != "stopped":
            following = json.dumps({"all": [job.id]})
            return answer({**data, "note": f"it takes longer than this call may; it goes on: await {following}"})
        del data["id"]
        error: Json | None = data.get("error")
        parts = [data["result"], data.get("content", ""), *(error["trace"] if error else [data.get("stderr", "")])]
        said = "\n".join(part.rstrip("\n") for part in parts if part) or "(no output)"
        return answer(data, said, is_error=error is not None)

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
    if isinstance(job.phase, Ended):
        call.own.arrivals.told.add(job.id)
    return answer(await acting.fetch(call.jobs, job, given["id"], room_of(call, given)))


async def _apply(call: Call, given: Json) -> Answer:
    job = await handle(call, given["id"])
    return answer(await acting.apply(call.jobs, job, given["id"], given["input"], call.key, room_of(call, given)))


async def _abort(call: Call, given: Json) -> Answer:
    job = await handle(call, given["id"])
    return answer(await acting.abort(call.jobs, job, given["id"], call.caller.owner, room_of(call, given)))
