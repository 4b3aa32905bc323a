"""The suite's tools that become tasks, each a real job of bide's."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from bide.api import Jobs
from bide.mcpserver import tasks
from bide.mcpserver.tasks import Question, Tasks
from bide.mcpserver.tool import Answer, Call, Tool
from bide.mcpserver.toolsets import runs
from bide.model.errors import InternalError
from bide.model.job import Job
from bide.model.schema import Json, fields, number, text

_FAILS, _BREAKS, _TWO = "fails", "breaks", "asks two"


Begin = Callable[[Call, Json], Awaitable[Job]]


async def _begun(call: Call, command: str, **options: Any) -> Job:
    env = {"PATH": "/usr/bin:/bin"}
    ran = await call.jobs.run(command, cwd="/", owner=call.caller.owner, background=True, base_env=env, **options)
    return ran.job


async def slow(call: Call, given: Json) -> Job:
    return await _begun(call, f"sleep {float(given['seconds'])}; echo computed")


async def fail(call: Call, _: Json) -> Job:
    return await _begun(call, "sleep 1; exit 1", label=_FAILS)


async def break_off(call: Call, _: Json) -> Job:
    return await _begun(call, "sleep 1", label=_BREAKS)


async def confirm(call: Call, _: Json) -> Job:
    return await _begun(call, 'printf "delete it? "; read answer; echo "$answer"', stdin=True)


async def two(call: Call, _: Json) -> Job:
    return await _begun(call, "read one; read two; echo both", stdin=True, label=_TWO)


async def greeted(call: Call, name: str) -> Job:
    """The job of a tool that asked for a name before."""
    return await _begun(call, f"sleep 1; echo Hello, {name}")


async def told(call: Call, job: Job) -> Answer:
    """As a run is told, but for the tools that are to fail."""
    answer = await runs.told_end(call, job)
    if job.label == _BREAKS:
        raise InternalError(detail="it was to break off")
    return Answer(answer.text, answer.data, is_error=job.label == _FAILS)


class FixtureTasks(Tasks):
    """One of the jobs asks two things at once."""

    def __init__(self, jobs: Jobs) -> None:
        super().__init__(jobs, told)
        self._half: dict[str, dict[str, object]] = {}

    def questions(self, job: Job) -> tuple[Question, ...]:
        found = super().questions(job)
        if job.label != _TWO:
            return found
        known = self._half.get(job.id, {})
        return tuple(
            Question(f"{one.key}-{part}", f"{part}?", one.at)
            for one in found
            for part in ("first", "second")
            if f"{one.key}-{part}" not in known
        )

    async def answer(self, call: Call, job: Job, responses: Mapping[str, object]) -> None:
        if job.label != _TWO:
            await super().answer(call, job, responses)
            return
        known = self._half.setdefault(job.id, {})
        known |= {one.key: responses[one.key] for one in self.questions(job) if one.key in responses}
        if len(known) == 2:
            said = [tasks.line_of(response) or "\n" for response in known.values()]
            await self._jobs.send(job.id, data="".join(said).encode())


async def _greet(_: Call, given: Json) -> Answer:
    return Answer(f"Hello, {given['name']}!", {})


async def _waited(begin: Begin, call: Call, given: Json) -> Answer:
    job = await begin(call, given)
    return await told(call, (await call.jobs.wait([job.id])).jobs[0])


def _tool(name: str, begin: Begin, *, needs: bool = False, **schema: Json) -> Tool:
    return Tool(
        name,
        f"{name} of the conformance suite",
        fields((), **schema),
        lambda call, given: _waited(begin, call, given),
        task=begin,
        needs_task=needs,
    )


TOOLS = (
    Tool("greet", "greet of the conformance suite", fields((), name=text()), _greet),
    _tool("slow_compute", slow, seconds=number(), label=text()),
    _tool("failing_job", fail, needs=True),
    _tool("protocol_error_job", break_off),
    _tool("confirm_delete", confirm, filename=text()),
    _tool("multi_input", two),
)
