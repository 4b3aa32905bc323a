"""Seed 003: permission, errors and names (179-183)."""

from __future__ import annotations

import json
from typing import Any

from seeds.checks.process_run import INPUTS, OUTPUTS, call, mistake, run
from seeds.mcp import RpcError
from seeds.registry import POLICY, check, skip
from seeds.trial import Json, Trial, brief

skip([180], POLICY)

FIVE = {
    "process.run": ("notify", "1.1", ["process", "execute", "sandbox"]),
    "process.monitor": ("autonomous", "1.0", ["process", "monitor", "status"]),
    "process.kill": ("notify", "1.0", ["process", "kill", "terminate"]),
    "process.list": ("autonomous", "1.0", ["process", "list", "status"]),
    "process.logs": ("autonomous", "1.0", ["process", "logs", "output"]),
}
DECLARED = {
    "process.run": {
        "CommandNotFound": {"check_path", "use_full_path"},
        "ResourceLimitExceeded": {"increase_limits", "optimize"},
        "PathOutOfScope": {"check_scope"},
        "SpawnFailed": {"check_permissions", "retry"},
    },
    "process.monitor": {"ProcessNotFound": {"list_processes"}},
    "process.kill": {
        "ProcessNotFound": {"list_processes"},
        "ProcessAlreadyExited": {"check_status"},
        "KillFailed": {"force_kill"},
    },
    "process.list": {"InvalidFilter": {"use_valid_filter"}},
    "process.logs": {"ProcessNotFound": {"list_processes"}, "InvalidStream": {"use_valid_stream"}},
}


def rows(found: Any) -> list[Json]:
    """Return the dictionaries of a list or of a dictionary by name."""
    if isinstance(found, dict):
        return [{"name": name} | (one if isinstance(one, dict) else {}) for name, one in found.items()]
    return [one for one in found or [] if isinstance(one, dict)]


@check(179)
def tiers(t: Trial) -> None:
    """run and kill are Notify, the others Autonomous; run is 1.1, the others 1.0; each has its tags."""
    c = t.client("process")
    answer = c.call("capabilities__list").data
    listed = {one["name"]: one for one in answer["capabilities"]}
    tools = c.tools()
    for name, (tier, version, tags) in FIVE.items():
        one = listed.get(name, {})
        t.equal(
            (one.get("permission"), one.get("version"), one.get("tags")), (tier, version, tags), f"{name}: in the list"
        )
        meta = tools[name.replace(".", "__")].get("_meta", {})
        t.equal(
            (meta.get("bide/permission"), meta.get("bide/version"), meta.get("bide/tags")),
            (tier, version, tags),
            f"{name}: in tools/list",
        )
    t.bide("events")
    pid = run(c, "echo NOTED-RUN; exec sleep 60", background=True)["process_id"]
    told = t.until(lambda: next((o for o in [t.bide("events").out] if "NOTED-RUN" in o), ""), "the word of run", 10)
    t.claim("process.run" in told, f"the person is told of run: {brief(told.partition('info:')[2], 120)}")
    call(c, "monitor", pid)
    call(c, "logs", pid)
    c.call("process__list")
    t.rest(0.5)
    t.equal(t.bide("events").out.strip(), "", "of monitor, logs and list")
    call(c, "kill", pid)
    told = t.until(
        lambda: next((o for o in [t.bide("inbox").out] if pid in o or "kill" in o), ""), "the word of kill", 10
    )
    t.claim(told, f"and of kill: {brief(told, 80)}")


@check(181)
def errors(t: Trial) -> None:
    """An error has type, message, recovery[{action, description}], retryable and context; each declared one a recovery."""
    c = t.client("process")
    for name, wanted in DECLARED.items():
        found = c.call("capabilities__describe", {"name": name}).data
        declared = {one.get("type") or one.get("name"): one for one in rows(found.get("errors"))}
        for kind, actions in wanted.items():
            recovery = rows(declared.get(kind, {}).get("recovery"))
            named = {one.get("action") for one in recovery}
            t.claim(
                actions <= named and all(one.get("description") for one in recovery),
                f"{name}: {kind} {sorted(map(str, named))}",
            )
        t.claim(
            all(rows(one.get("recovery")) for one in declared.values()),
            f"{name}: each of {sorted(map(str, declared))} has one",
        )
    done = run(c, "true")["process_id"]
    for tool, arguments in (
        ("process__run", {"command": "no-such-x", "args": []}),
        ("process__run", {"command": "ls", "working_directory": "/"}),
        ("process__run", {"command": "ls", "timeout": 0}),
        ("process__run", {}),
        ("process__monitor", {"process_id": "x"}),
        ("process__monitor", {}),
        ("process__kill", {"process_id": done}),
        ("process__list", {"state_filter": "x"}),
        ("process__logs", {"process_id": done, "stream": "x"}),
        ("process__logs", {"process_id": done, "offfset": 1}),
        ("capabilities__describe", {"name": "process.fly"}),
    ):
        answer = c.call(tool, arguments)
        found = mistake(answer)
        t.claim(
            answer.error
            and found.get("type")
            and found.get("message")
            and rows(found.get("recovery"))
            and all(one.get("action") and one.get("description") for one in rows(found.get("recovery")))
            and isinstance(found.get("retryable"), bool)
            and isinstance(found.get("context"), dict),
            f"{tool} {brief(arguments, 50)}: {brief(found, 160)}",
        )
        said = json.dumps(found)
        t.claim(
            "bide run" not in said and "bide logs" not in said and "--" not in said,
            f"{tool}: no words of the command line",
        )
        try:
            t.claim(json.loads(answer.text).get("error") == found, f"{tool}: the text is the same")
        except ValueError:
            t.claim(found["type"] in answer.text, f"{tool}: the text names it")


@check(182)
def described(t: Trial) -> None:
    """capabilities.list and describe tell of inputs, outputs, side effects, patterns, errors and when to use; agent.session is there."""
    c = t.client("process")
    for name in FIVE:
        found = c.call("capabilities__describe", {"name": name}).data
        text = json.dumps(found)
        for part in ("inputs", "outputs", "errors", "when_to_use"):
            t.claim(found.get(part), f"{name}: {part}")
        t.claim(any(found.get(key) for key in ("patterns", "common_patterns")), f"{name}: patterns")
        t.claim(
            found.get("permission") == FIVE[name][0] and found.get("version") == FIVE[name][1],
            f"{name}: permission and version",
        )
        if name in ("process.run", "process.kill"):
            effects = rows(found.get("side_effects"))
            t.claim(
                effects and all(isinstance(one.get("reversible"), bool) for one in effects), f"{name}: {brief(effects)}"
            )
        t.claim(name == "process.run" or "ProcessNotFound" in text or name == "process.list", f"{name}: its errors")
    run_inputs = {
        one["name"]: one for one in rows(c.call("capabilities__describe", {"name": "process.run"}).data["inputs"])
    }
    t.claim(set(run_inputs) >= INPUTS, f"inputs of run: {sorted(run_inputs)}")
    t.equal(
        [run_inputs["command"].get("required"), run_inputs["timeout"].get("default")], [True, 300], "required, default"
    )
    run_outputs = {
        one["name"] for one in rows(c.call("capabilities__describe", {"name": "process.run"}).data["outputs"])
    }
    t.claim(run_outputs >= OUTPUTS, f"outputs of run: {sorted(run_outputs)}")
    other = c.call("capabilities__describe", {"name": "process__run"})
    t.claim(not other.error, "described by the other spelling as well")
    some = c.call("capabilities__list", {"category": "process"}).data["capabilities"]
    t.claim({one["name"] for one in some} == set(FIVE), f"list of category process: {[one['name'] for one in some]}")
    run(c, "true")
    session = c.call("agent__session").data
    wanted = {
        "session_id",
        "connected_at",
        "duration_seconds",
        "invocation_count",
        "resource_usage",
        "workspace_path",
        "state_quota",
    }
    t.claim(wanted <= set(session), f"agent.session: {sorted(session)}")
    t.equal(session.get("workspace_path"), str(t.folder), "workspace")
    again = c.call("agent__session").data
    t.claim(again["invocation_count"] > session["invocation_count"], "invocations are counted")
    for name in ("process__run", "process__monitor", "process__kill", "process__list", "process__logs"):
        schema = c.tools()[name].get("outputSchema") or {}
        t.claim(schema.get("properties"), f"{name}: its outputs are a schema in tools/list")


@check(183)
def protocol(t: Trial) -> None:
    """MCP names have `__`; an unknown tool is -32601, wrong parameters -32602; the dotted names work too."""
    c = t.client("process")
    names = set(c.tools())
    t.claim({one.replace(".", "__") for one in FIVE} <= names, f"{sorted(names)}")
    dotted = c.call("process.run", {"command": "echo dot"})
    t.equal(dotted.data.get("stdout_summary"), "dot\n", "process.run as it is in the document:")

    def code(method: str, params: Any) -> object:
        try:
            return c.request(method, params)
        except RpcError as error:
            return error.code

    t.equal(code("tools/call", {"name": "process__fly", "arguments": {}}), -32601, "an unknown tool:")
    t.equal(code("no/such/method", {}), -32601, "an unknown method:")
    for wrong in (
        {},
        {"name": 5},
        {"name": "process__run", "arguments": "text"},
        {"name": "process__run", "arguments": [1]},
    ):
        t.equal(code("tools/call", wrong), -32602, f"{wrong}:")
    answer = c.call("process__run", {"command": 5})
    t.equal(mistake(answer).get("code"), -32602, "a wrong argument is an answer with the code:")
    t.equal(
        code("tools/call", {"name": "process__run", "arguments": None}) == -32602
        or mistake(c.call("process__run")).get("code") == -32602,
        True,
        "no arguments:",
    )
