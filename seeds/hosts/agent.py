"""Embed bide as a JSON script on the command line says, and print what each step gave.

{"owner", "config": TOML of tools, "spawn": {tool: {...}}, "permit": {"seconds", "allow", "raises"}, "inquire": {handle: "wait" | "abort"} or text,
 "person": bool, "answer": a value or {"raises": words}, "assistant": bool, "policy", "steps": [["batch", [[tool, arguments], ...]], ["end_turn"], ["news"], ...]}

The tools: `work` (a coroutine that writes, sleeps, returns or raises), `ask` (asks a question), `sh` (a shell command), `pty`, `plain` (not stateful).
"""

import json
import os
import signal
import sys
import time
import tomllib
from datetime import timedelta
from typing import Any

import anyio

import bide
from bide import agents

GIVEN: dict[str, Any] = json.loads(sys.argv[1])
ASKED: list[Any] = []
INQUIRED: list[Any] = []
PERMITTED: list[str] = []
SEEN: dict[str, Any] = {}


async def work(context: agents.Context, given: dict[str, Any]) -> Any:
    """Write, sleep, return or raise."""
    SEEN["context"] = {
        "handles": context.handles is not None,
        "cancellation": context.cancellation is not None,
        "handle": context.handle,
    }
    await context.write(given.get("write", ""))
    try:
        await anyio.sleep(float(given.get("seconds", 0)))
    except BaseException:
        SEEN["cancelled"] = context.handle
        raise
    if given.get("fail"):
        raise RuntimeError(given["fail"])
    return given.get("say", "")


async def ask(context: agents.Context, given: dict[str, Any]) -> str:
    """Ask, and return the answer in words."""
    form = agents.Form(given.get("form", "text"))
    options = tuple(given.get("options", ()))
    question = agents.Question(
        given.get("text", "Which?"), form, options, default=given.get("default"), exclusive=bool(given.get("exclusive"))
    )
    said = await context.ask(question)
    await anyio.sleep(float(given.get("seconds", 0)))
    return f"answered {said!r}"


async def permit(call: Any, *rest: Any) -> Any:
    """Allow or refuse after a while."""
    how = GIVEN["permit"]
    PERMITTED.append(getattr(call, "tool", str(call)) + str(len(rest)))
    await anyio.sleep(float(how.get("seconds", 0)))
    if how.get("raises"):
        raise RuntimeError(how["raises"])
    return how.get("allow", True)


async def inquire(question: dict[str, Any], schema: dict[str, Any]) -> Any:
    """Answer the question of the end of a turn."""
    INQUIRED.append({"question": question, "schema": schema})
    how = GIVEN["inquire"]
    if isinstance(how, str):
        return how
    return {
        "handles": [
            {"id": one["id"], "action": how.get(one["id"], how.get("*", "wait"))} for one in question["handles"]
        ]
    }


async def cheaper(question: dict[str, Any], _: dict[str, Any]) -> Any:
    """Answer for one tool, as a cheaper model would."""
    SEEN["cheaper"] = [one["id"] for one in question["handles"]]
    return {"handles": [{"id": one["id"], "action": GIVEN["cheaper"]} for one in question["handles"]]}


async def answer(question: Any, *_: Any) -> Any:
    """Answer a question as somebody else."""
    ASKED.append(getattr(question, "text", str(question)))
    how = GIVEN["answer"]
    if isinstance(how, dict):
        await anyio.sleep(float(how.get("seconds", 0)))
        if how.get("raises"):
            raise RuntimeError(how["raises"])
        return how.get("value")
    return how


def spawning(name: str) -> agents.Spawn:
    """Return the spawn settings of a tool."""
    given = GIVEN.get("spawn", {}).get(name, {})
    life = {
        key: timedelta(seconds=value) if key != "on_turn_end" else value
        for key, value in given.get("lifecycle", {}).items()
    }
    return agents.Spawn(True, agents.Notifications(**given.get("notifications", {})), agents.Lifecycle(**life))


def make() -> agents.Tools:
    """Make the tools."""
    text, number = {"type": "string"}, {"type": "number"}
    anything = {"write": text, "seconds": number, "fail": text, "say": text}
    asking = {
        "text": text,
        "form": text,
        "options": {"type": "array", "items": text},
        "default": text,
        "exclusive": {"type": "boolean"},
        "seconds": number,
    }
    shell = agents.ToolSettings('eval "$command"', parameters={"command": "what to run"}, stdin=True)
    terminal = agents.ToolSettings('eval "$command"', parameters={"command": "what to run"}, pty=True)
    if GIVEN.get("stateless"):
        return agents.Tools(agents.Tool("plain", "Work.", work, anything))
    tools = agents.Tools(
        agents.Tool("work", "Work.", work, anything, spawn=spawning("work")),
        agents.Tool(
            "work2", "Work.", work, anything, spawn=spawning("work2"), inquire=cheaper if "cheaper" in GIVEN else None
        ),
        agents.Tool("ask", "Ask.", ask, asking, spawn=spawning("ask"), asks=True),
        agents.Tool("sh", "Run.", shell, spawn=spawning("sh")),
        agents.Tool("pty", "Run.", terminal, spawn=spawning("pty")),
        agents.Tool("plain", "Work.", work, anything),
    )
    if "config" in GIVEN:
        tools.configured(tomllib.loads(GIVEN["config"]), "seed.toml")
    return tools


def rows(answers: list[Any]) -> list[dict[str, Any]]:
    """Return responses as JSON."""
    return [{"id": one.id, "tool": one.tool, "text": one.text, "error": one.is_error} for one in answers]


async def batch(agent: agents.Coordinator, calls: list[Any]) -> Any:
    """Make a batch."""
    return rows(await agent.batch([agents.Call(str(n), tool, given) for n, (tool, given) in enumerate(calls)]))


async def call(agent: agents.Coordinator, tool: str, given: Any) -> Any:
    """Make one call, as frameworks that call tool by tool do."""
    return rows([await agent.call(agents.Call("c", tool, given))])


async def end_turn(agent: agents.Coordinator) -> Any:
    """End the turn."""
    end = await agent.end_turn()
    return {"results": rows(end.results), "aborted": end.aborted, "left": end.left}


async def news(agent: agents.Coordinator) -> Any:
    """Take what is due."""
    found = await agent.news()
    return {"rows": list(found.rows), "text": found.text}


async def sleep(_: agents.Coordinator, seconds: float) -> None:
    """Let time pass."""
    await anyio.sleep(seconds)


async def schemas(agent: agents.Coordinator, *more: str) -> Any:
    """Show the tools."""
    return agent.tools.schemas(*more)


async def do(agent: agents.Coordinator, step: list[Any]) -> Any:
    """Do a step."""
    return await STEPS[step[0]](agent, *step[1:])


async def together(agent: agents.Coordinator, *steps: Any) -> list[Any]:
    """Do several steps at once, each after its own delay."""
    found: list[Any] = [None] * len(steps)
    began = time.monotonic()

    async def one(place: int, delay: float, step: list[Any]) -> None:
        await anyio.sleep(delay)
        result = agent.interrupt() if step[0] == "interrupt" else await do(agent, step)
        found[place] = {"result": result, "at": time.monotonic() - began}

    async with anyio.create_task_group() as group:
        for place, (delay, step) in enumerate(steps):
            group.start_soon(one, place, delay, step)
    return found


async def interrupted(agent: agents.Coordinator, delay: float, step: list[Any]) -> Any:
    """Interrupt a step after a while."""
    return (await together(agent, [0, step], [delay, ["interrupt"]]))[0]["result"]


async def urgent(agent: agents.Coordinator, seconds: float) -> Any:
    """Wait for what is critical."""
    with anyio.move_on_after(seconds):
        async with agent.urgent() as news:
            return {"rows": list(news.rows), "text": news.text}


STEPS: dict[str, Any] = {
    "batch": batch,
    "call": call,
    "end_turn": end_turn,
    "news": news,
    "sleep": sleep,
    "schemas": schemas,
    "urgent": urgent,
    "interrupted": interrupted,
    "together": together,
}


async def main() -> None:
    """Do every step."""
    tools = make()
    answerers = (agents.Answerer(answer, person=GIVEN.get("person", False)),) if "answer" in GIVEN else ()
    more: dict[str, Any] = {"policy": agents.Policy(GIVEN["policy"])} if "policy" in GIVEN else {}
    answering = agents.Answering(answerers, assistant=GIVEN.get("assistant", False), **more)
    options: dict[str, Any] = {"answering": answering}
    if "permit" in GIVEN:
        options["permit"] = permit
    if "inquire" in GIVEN:
        options["inquire"] = inquire
    async with (
        bide.connect() as jobs,
        agents.coordinate(jobs, tools, owner=GIVEN.get("owner", "host"), **options) as agent,
    ):
        done: list[Any] = []
        for step in GIVEN["steps"]:
            began = time.monotonic()
            result = await do(agent, step)
            done.append({"result": result, "seconds": time.monotonic() - began})
            print(json.dumps({"steps": done}, default=str), flush=True)
            if GIVEN.get("die") == len(done):
                os.kill(os.getpid(), signal.SIGKILL)
        print(
            json.dumps({"asked": ASKED, "inquired": INQUIRED, "permitted": PERMITTED, "seen": SEEN}, default=str),
            flush=True,
        )
    print(json.dumps({"closed": True, "seen": SEEN}), flush=True)


anyio.run(main)
