"""Seed 002: `await` (112-130)."""

from __future__ import annotations

import json
import os
import threading
import time

from seeds.checks.handles import act, agent, said, spawn, stopped
from seeds.mcp import Client, Json
from seeds.registry import check
from seeds.trial import Answer, Trial, brief


def wait(c: Client, seconds: float = 60, **given: object) -> Answer:
    """Await."""
    return c.call("await", dict(given), seconds=seconds)


def split(found: Json) -> tuple[list[str], list[str]]:
    """Return the ids that have stopped, and those that have not."""
    return sorted(one["id"] for one in found.get("completed", [])), sorted(
        one["id"] for one in found.get("pending", [])
    )


@check(112)
def takes(t: Trial) -> None:
    """`await` takes any, all and timeout_secs; one of any and all must be there."""
    t.settings("[mcp.handles]\ncombinators = true\n")
    schema = t.client("handles").tools()["await"]["inputSchema"]
    kinds = {
        name: (one["type"], one.get("items", {}).get("type"))
        for name, one in schema["properties"].items()
        if name in ("any", "all", "timeout_secs")
    }
    t.equal(
        kinds, {"any": ("array", "string"), "all": ("array", "string"), "timeout_secs": ("integer", None)}, "fields"
    )
    needs = [one.get("required") for one in schema.get("anyOf", [])]
    t.claim(["any"] in needs and ["all"] in needs, f"anyOf {needs}")
    plain = agent(t, ["schemas"])["results"][0]
    mine = next(one for one in plain if one["name"] == "await")
    parameters = mine.get("parameters") or mine.get("input_schema") or mine.get("inputSchema") or {}
    t.claim(
        set(parameters.get("properties", {})) == {"any", "all", "timeout_secs"} and parameters.get("anyOf"),
        f"embedded: {brief(parameters, 100)}",
    )
    flat = t.other("flat").client("handles")
    answer = wait(flat, timeout_secs=1)
    t.claim(answer.error and "At least one handle ID required" in answer.text, "without either: checked at run time")
    extra = set(flat.tools()["await"]["inputSchema"]["properties"]) - {"any", "all", "timeout_secs", "budget"}
    t.equal(sorted(extra), [], "with the toolset handles alone, other fields")


@check(113)
def empty(t: Trial) -> None:
    """Both empty or missing: `At least one handle ID required`."""
    c = t.client("handles")
    for given in ({}, {"any": []}, {"all": []}, {"any": [], "all": []}, {"any": None}, {"timeout_secs": 3, "all": []}):
        answer = c.call("await", given)
        t.claim(answer.error and answer.text == "At least one handle ID required", f"{given}: {brief(answer.text, 60)}")
    rows = agent(t, ["batch", [["await", {}], ["await", {"any": [], "all": []}]]])["results"][0]
    t.claim(
        all(one["error"] and "At least one handle ID required" in one["text"] for one in rows),
        f"embedded: {brief(rows, 120)}",
    )


@check(114)
def unknown(t: Trial) -> None:
    """An unknown id is an error for the whole call."""
    c = t.client("handles")
    spawn(c, "runs", "sleep 60")
    for given in (
        {"all": ["runs", "my_handle"]},
        {"any": ["my_handle", "runs"]},
        {"all": ["runs"], "any": ["my_handle"]},
    ):
        answer = wait(c, **given)
        t.claim(
            answer.error and "Handle `my_handle` not found" in answer.text and answer.seconds < 4,
            f"{given}: {brief(answer.text, 60)} after {answer.seconds:.1f} s",
        )
    rows = agent(t, ["batch", [["await", {"any": ["typo"]}]]])["results"][0]
    t.claim(
        rows[0]["error"] and "Handle `typo` not found" in rows[0]["text"], f"embedded: {brief(rows[0]['text'], 60)}"
    )
    other = t.client("handles", name="other")
    t.claim("Handle `runs` not found" in wait(other, all=["runs"]).text, "another client's handle is not found")


@check(115)
def condition(t: Trial) -> None:
    """All of `all` have stopped and at least one of `any`."""
    c = t.client("handles")
    gates = {name: t.gate(name) for name in "abcd"}
    for name, gate in gates.items():
        spawn(c, name, f"read x < {gate}; echo {name}")
    number = c.begin("await", {"all": ["a", "b"], "any": ["c", "d"]})
    for name in "ac":
        t.open_gate(gates[name])
        stopped(c, name)
    t.rest(0.7)
    t.claim(not c.answered(number), "a and c have stopped: it still waits for b")
    t.open_gate(gates["b"])
    found = c.answer(number, 10).data
    t.equal(split(found), (["a", "b", "c"], ["d"]), "then")
    spawn(c, "e", f"read x < {t.gate('e')}")
    number = c.begin("await", {"all": ["a"], "any": ["d", "e"]})
    t.rest(0.7)
    t.claim(not c.answered(number), "all has stopped, none of any: it waits")
    t.open_gate(gates["d"])
    t.equal(split(c.answer(number, 10).data), (["a", "d"], ["e"]), "then")
    t.claim(wait(c, any=["e", "a"]).seconds < 2, "one of any has stopped: at once")


@check(116)
def already(t: Trial) -> None:
    """Stopped handles count; if the condition is met the answer comes at once."""
    c = t.client("handles")
    spawn(c, "a", "echo a")
    spawn(c, "b", "exit 1")
    spawn(c, "runs", "sleep 60")
    stopped(c, "a", "b")
    for given in ({"all": ["a", "b"]}, {"any": ["runs", "a"]}, {"all": ["a"], "any": ["b", "runs"]}):
        answer = wait(c, **given)
        t.claim(answer.seconds < 1.5 and not answer.error, f"{given}: {answer.seconds:.2f} s")
    t.equal(split(wait(c, all=["a"], any=["b", "runs"]).data), (["a", "b"], ["runs"]), "states")


@check(117)
def reply(t: Trial) -> None:
    """The reply is {completed, pending}, by state, each id once; it is JSON whatever its size."""
    c = t.client("handles")
    spawn(c, "ok", "echo fine")
    spawn(c, "runs", "sleep 60")
    stopped(c, "ok")
    answer = wait(c, any=["ok", "runs", "ok"], all=["ok", "ok"])
    t.claim({"completed", "pending"} == set(answer.data), f"keys {sorted(answer.data)}")
    (one,) = answer.data["completed"] if len(answer.data["completed"]) == 1 else ({},)
    t.equal(
        {key: one.get(key) for key in ("id", "state", "result")},
        {"id": "ok", "state": "stopped", "result": "fine\n"},
        "completed",
    )
    t.equal(answer.data["pending"], [{"id": "runs", "state": "running"}], "pending")
    for number in range(3):
        spawn(c, f"big{number}", "seq 1 60000; printf 'é%.0s' $(seq 20000); echo; echo '\"\\'")
    answer = wait(c, all=["big0", "big1", "big2"])
    try:
        found = json.loads(answer.text)
        t.claim(len(found["completed"]) == 3, f"three of 400 kB over MCP: JSON of {len(answer.text)} characters")
    except ValueError as error:
        t.fault(f"three of 400 kB over MCP: the text is no JSON: {error}")
    facts = agent(
        t,
        [
            "batch",
            [["sh", {"action": "spawn", "id": f"b{n}", "command": "seq 1 60000"}] for n in range(2)]
            + [["await", {"all": ["b0", "b1"]}]],
        ],
    )
    text = facts["results"][0][2]["text"]
    try:
        rows = json.loads(text)["completed"]
        t.claim(
            len(rows) == 2 and all("60000" in one["result"] for one in rows),
            f"embedded: JSON of {len(text)} characters, with both ends",
        )
    except ValueError as error:
        t.fault(f"embedded: no JSON: {error}")


@check(118)
def failed(t: Trial) -> None:
    """The result of a failed handle is its error message; its state is stopped."""
    c = t.client("handles")
    for name, command, more in (
        ("code", "exit 101", {}),
        ("signal", "kill -9 $$", {}),
        ("late", "sleep 60", {"timeout": 0.5}),
    ):
        spawn(c, name, command, **more)
    answer = wait(c, all=["code", "signal", "late"])
    rows = {one["id"]: one for one in answer.data["completed"]}
    t.claim(not answer.error, "the await is no error")
    t.claim(all(one["state"] == "stopped" for one in rows.values()) and len(rows) == 3, "all are stopped")
    t.equal(rows["code"]["result"], "Process exited with code 101", "code")
    t.claim(
        "kill" in rows["signal"]["result"].lower() or "signal" in rows["signal"]["result"].lower(),
        f"signal: {rows['signal']['result']}",
    )
    t.claim("timed out" in rows["late"]["result"], f"timeout: {rows['late']['result']}")
    facts = agent(
        t, ["batch", [["work", {"action": "spawn", "id": "f", "fail": "my own words"}], ["await", {"all": ["f"]}]]]
    )
    t.equal(said(facts["results"][0][1])["completed"][0]["result"], "my own words", "a coroutine that raises:")


@check(119)
def timeout(t: Trial) -> None:
    """At the timeout: the current states and timed_out; the handles go on."""
    c = t.client("handles")
    spawn(c, "quick", "echo ok")
    spawn(c, "slow", "sleep 3; echo slow")
    answer = wait(c, all=["quick", "slow"], timeout_secs=1)
    t.claim(0.9 < answer.seconds < 2.5 and not answer.error, f"after {answer.seconds:.2f} s")
    t.equal((split(answer.data), answer.data.get("timed_out")), ((["quick"], ["slow"]), True), "states")
    again = wait(c, all=["quick", "slow"], timeout_secs=30)
    t.claim(
        split(again.data) == (["quick", "slow"], []) and "timed_out" not in again.data,
        f"awaited again: {sorted(again.data)}",
    )
    t.equal(next(one["result"] for one in again.data["completed"] if one["id"] == "slow"), "slow\n", "it ran on:")


@check(120, seconds=100)
def no_timeout(t: Trial) -> None:
    """There is no default timeout; 0 answers at once; a negative one is an error."""
    c = t.client("handles", name="claude-code")
    spawn(c, "long", "sleep 55; echo done")
    found: dict[str, Json] = {}
    thread = threading.Thread(
        target=lambda: found.update(
            agent(
                t,
                [
                    "batch",
                    [["sh", {"action": "spawn", "id": "e", "command": "sleep 52; echo e"}], ["await", {"all": ["e"]}]],
                ],
                seconds=90,
            )
        )
    )
    thread.start()
    zero = wait(c, all=["long"], timeout_secs=0)
    t.claim(
        zero.seconds < 1.5 and zero.data.get("timed_out") is True and split(zero.data) == ([], ["long"]),
        f"0: {zero.data} after {zero.seconds:.2f} s",
    )
    for bad in (-1, -0.5, "soon", 1.5):
        answer = wait(c, all=["long"], timeout_secs=bad)
        t.claim(answer.error and "timeout_secs" in answer.text, f"{bad}: {brief(answer.text, 80)}")
    answer = wait(c, 90, all=["long"])
    t.claim(
        split(answer.data) == (["long"], []) and "timed_out" not in answer.data,
        f"none given: waited {answer.seconds:.0f} s to the end",
    )
    thread.join()
    row = said(found["results"][0][1])
    t.claim(split(row) == (["e"], []) and "timed_out" not in row, f"embedded: {found['steps'][0]['seconds']:.0f} s")


@check(121)
def others_go_on(t: Trial) -> None:
    """When `any` is met the others go on."""
    c = t.client("handles")
    spawn(c, "win", "sleep 0.5; echo first")
    spawn(c, "lose", "sleep 2.5; echo second")
    spawn(c, "never", "sleep 60")
    t.equal(split(wait(c, any=["win", "lose", "never"]).data), (["win"], ["lose", "never"]), "the race")
    t.equal(stopped(c, "lose")["lose"]["result"], "second\n", "the loser ends by itself")
    t.equal(act(c, "fetch", "never")["state"], "running", "the other is")


@check(122, seconds=90)
def waiting(t: Trial) -> None:
    """A handle that asks is pending while the question is put to whoever can answer; a question that fails stops it."""
    asked: list[Json] = []

    def accept(method: str, params: Json) -> Json:
        asked.append({"method": method, **params})
        key = next(iter(params.get("requestedSchema", {}).get("properties", {"answer": {}})))
        return {"action": "accept", "content": {key: True}}

    c = t.client("handles", capabilities={"elicitation": {}}, asked=accept)
    spawn(c, "q", "bide ask-user --boolean 'Which way?' && echo YES || echo NO")
    answer = wait(c, all=["q"], timeout_secs=20)
    t.claim(
        asked and "Which way?" in json.dumps(asked),
        f"a client with elicitation is asked: {brief([one['method'] for one in asked])}",
    )
    t.claim(
        split(answer.data) == (["q"], []) and "YES" in answer.data["completed"][0]["result"],
        f"and await ends: {brief(answer.data, 120)}",
    )
    d = t.client("handles", name="declines", capabilities={"elicitation": {}}, asked=lambda *_: {"action": "decline"})
    spawn(d, "q", "bide ask-user 'Name?'")
    answer = wait(d, all=["q"], timeout_secs=20)
    t.claim(
        split(answer.data) == (["q"], []) and answer.data["completed"][0].get("error"),
        f"who declines: stopped with an error: {brief(answer.data, 150)}",
    )
    e = t.client("handles", name="plain")
    spawn(e, "q", "x=$(bide ask-user --select red --select blue 'Which?'); echo got:$x")
    answer = wait(e, all=["q"], timeout_secs=20)
    row = (answer.data.get("pending") or [{}])[0]
    t.claim(
        answer.seconds < 10 and row.get("state") == "waiting" and "Which?" in json.dumps(row),
        f"a client without: {brief(row, 200)} after {answer.seconds:.1f} s",
    )
    t.claim(
        "apply" in json.dumps(row.get("next", "")) and "timed_out" not in answer.data,
        f"with the call that answers it: {brief(row.get('next', 'none'), 120)}",
    )
    act(e, "apply", "q", input="blue")
    t.claim("got:blue" in json.dumps(wait(e, all=["q"], timeout_secs=20).data), "which does")
    batch = ["batch", [["ask", {"action": "spawn", "id": "a", "form": "boolean"}], ["await", {"all": ["a"]}]]]
    facts = agent(
        t,
        batch,
        ["batch", [["ask", {"action": "apply", "id": "a", "input": True}]]],
        ["batch", [["await", {"all": ["a"]}]]],
        assistant=True,
        seconds=30,
    )
    first = said(facts["results"][0][1]) if facts["results"] else {}
    t.claim(
        first.get("pending", [{}])[0].get("state") == "waiting" and "question" in json.dumps(first),
        f"embedded, in one batch: await returns with the question: {brief(first, 150)}",
    )
    t.claim("answered True" in json.dumps(facts["results"][-1]), "and after the answer it ends")
    facts = agent(t, batch, answer={"seconds": 1, "value": True})
    t.claim(
        "answered True" in facts["results"][0][1]["text"] and facts["steps"][0]["seconds"] > 0.9,
        "an answerer is asked while await waits",
    )
    facts = agent(t, batch, answer={"raises": "the inquiry broke"})
    t.claim(
        "the inquiry broke" in facts["results"][0][1]["text"] and split(said(facts["results"][0][1])) == (["a"], []),
        "an inquiry that fails: stopped with an error",
    )


@check(123)
def several(t: Trial) -> None:
    """Several awaits on a handle are all woken."""
    c, d = t.client("handles"), t.client("handles")
    gate = t.gate()
    spawn(c, "x", f"read l < {gate}; echo shared")
    numbers = [
        (one, one.begin("await", {"all": ["x"]} if n % 2 else {"any": ["x"]})) for n, one in enumerate((c, c, c, d, d))
    ]
    t.rest(0.5)
    t.claim(not any(one.answered(n) for one, n in numbers), "five wait")
    t.open_gate(gate)
    rows = [one.answer(n, 10).data["completed"][0]["result"] for one, n in numbers]
    t.equal(rows, ["shared\n"] * 5, "all are woken")


@check(124)
def cancelled(t: Trial) -> None:
    """await is ended by an interrupt of the user and by the end of the turn; the handles go on."""
    c = t.client("handles")
    spawn(c, "x", "sleep 60")
    number = c.begin("await", {"all": ["x"]})
    t.rest(0.7)
    c.cancel(number)
    t.claim(
        (one := c.call("shell", {"action": "fetch", "id": "x"})).data["state"] == "running" and one.seconds < 2,
        "cancelled over MCP: the handle runs",
    )
    facts = agent(
        t,
        ["batch", [["sh", {"action": "spawn", "id": "y", "command": "sleep 60"}]]],
        ["interrupted", 1, ["batch", [["await", {"all": ["y"]}]]]],
        ["batch", [["sh", {"action": "fetch", "id": "y"}]]],
        ["together", [0, ["batch", [["await", {"all": ["y"]}]]]], [1, ["end_turn"]]],
        inquire={"*": "abort"},
    )
    row = said(facts["results"][1][0])
    t.claim(
        facts["steps"][1]["seconds"] < 4 and split(row) == ([], ["y"]),
        f"interrupted: {brief(row)} after {facts['steps'][1]['seconds']:.1f} s",
    )
    t.equal(said(facts["results"][2][0])["state"], "running", "the handle is")
    t.claim(facts["steps"][3]["seconds"] < 8, f"the end of the turn ends it: {facts['steps'][3]['seconds']:.1f} s")


@check(125)
def same_batch(t: Trial) -> None:
    """await may stand in the batch of its spawns, in any order."""
    for n, order in enumerate(((0, 1, 2), (2, 0, 1), (1, 2, 0))):
        c = t.client("handles", name=f"order{n}")
        calls = [
            ("shell", {"action": "spawn", "id": "check", "command": "sleep 0.5; echo c"}),
            ("shell", {"action": "spawn", "id": "test", "command": "sleep 1; echo t"}),
            ("await", {"all": ["check", "test"]}),
        ]
        numbers = {place: c.begin(*calls[place]) for place in order}
        t.equal(split(c.answer(numbers[2], 20).data), (["check", "test"], []), f"over MCP in the order {order}")
        for place in (0, 1):
            c.answer(numbers[place])
    for reverse in (False, True):
        calls = [["sh", {"action": "spawn", "id": "a", "command": "sleep 0.5; echo new"}], ["await", {"any": ["a"]}]]
        calls = calls[::-1] if reverse else calls
        facts = agent(
            t,
            ["batch", [["sh", {"action": "spawn", "id": "a", "command": "echo old"}], ["await", {"all": ["a"]}]]],
            ["batch", calls],
            owner=f"o{reverse}",
        )
        row = said(next(one for one in facts["results"][1] if one["tool"] == "await"))
        t.equal(
            row.get("completed", [{}])[0].get("result"),
            "new\n",
            f"embedded, an id that was used before, await {'first' if reverse else 'last'}:",
        )
    c = t.client("handles", name="reuse")
    spawn(c, "r", "echo old")
    stopped(c, "r")
    number = c.begin("await", {"all": ["r"]})
    spawn(c, "r", "sleep 0.5; echo new")
    t.equal(
        c.answer(number, 20).data["completed"][0]["result"],
        "new\n",
        "over MCP, await before the spawn of an id that was used before:",
    )


@check(126)
def rejected(t: Trial) -> None:
    """An id that is twice in a batch, or active, rejects the whole batch before anything runs; the error names it."""
    mark = t.folder / "ran"
    run = f"touch {mark}; sleep 60"
    facts = agent(
        t,
        [
            "batch",
            [
                ["sh", {"action": "spawn", "id": "dup", "command": run}],
                ["work", {"action": "spawn", "id": "dup"}],
                ["plain", {"say": "x"}],
            ],
        ],
        ["batch", [["sh", {"action": "spawn", "id": "busy", "command": "sleep 60"}]]],
        [
            "batch",
            [
                ["sh", {"action": "spawn", "id": "other", "command": run}],
                ["sh", {"action": "spawn", "id": "busy", "command": run}],
            ],
        ],
        ["batch", [["await", {"any": ["other"]}]]],
    )
    twice, _, active, after = facts["results"]
    t.claim(
        all(one["error"] and "dup" in one["text"] for one in twice),
        f"twice: {brief([one['text'] for one in twice], 200)}",
    )
    t.claim(not any("already active" in one["text"] for one in twice), "its error does not say that it is active")
    t.claim(
        all(one["error"] and "busy" in one["text"] for one in active),
        f"active: {brief([one['text'] for one in active], 200)}",
    )
    t.claim(not mark.exists(), "nothing of either batch ran")
    t.claim("not found" in after[0]["text"], "no placeholder is left")


@check(127)
def concurrent(t: Trial) -> None:
    """The calls of a batch run at once."""
    calls = [
        ["work", {"action": "spawn", "id": "a", "seconds": 1.5}],
        ["work", {"action": "spawn", "id": "b", "seconds": 1.5}],
        ["work", {"seconds": 1.5}],
        ["await", {"all": ["a", "b"]}],
    ]
    facts = agent(t, ["batch", [["work", {"say": "warm"}]]], ["batch", calls])
    t.claim(
        1.4 < facts["steps"][1]["seconds"] < 2.9, f"four that take 1.5 s each: {facts['steps'][1]['seconds']:.2f} s"
    )
    c = t.client("handles")
    began = time.monotonic()
    numbers = [c.begin("shell", {"command": "sleep 1.5"}) for _ in range(3)]
    for one in numbers:
        c.answer(one)
    t.claim(time.monotonic() - began < 3, f"three calls over MCP: {time.monotonic() - began:.2f} s")


@check(128)
def failed_spawn(t: Trial) -> None:
    """A spawn that fails after its registration is a stopped handle; await does not hang."""
    facts = agent(
        t,
        ["batch", [["sh", {"action": "spawn", "id": "x", "command": 7, "nonsense": 1}], ["await", {"all": ["x"]}]]],
        ["batch", [["work", {"action": "spawn", "id": "y", "seconds": "never"}], ["await", {"all": ["y"]}]]],
        seconds=30,
    )
    for place, name in enumerate(("x", "y")):
        rows = facts["results"][place] if len(facts["results"]) > place else [{}, {"text": ""}]
        found = said(rows[1])
        t.claim(
            rows[0].get("error") and split(found) == ([name], []) and found["completed"][0].get("error"),
            f"{name}: {brief(rows, 250)}",
        )
    t.claim(facts["steps"] and facts["steps"][0]["seconds"] < 5, "at once")
    c = t.client("handles")
    numbers = [
        c.begin("await", {"all": ["z"]}),
        c.begin("shell", {"action": "spawn", "id": "z", "command": "true", "cwd": "/no/such/folder"}),
    ]
    answer = c.answer(numbers[0], 15)
    t.claim(answer.seconds < 5, f"over MCP: {brief(answer.text, 100)} after {answer.seconds:.1f} s")


@check(129)
def listing(t: Trial) -> None:
    """`await` is listed only beside a stateful tool, and cannot be spawned."""
    t.claim("await" in t.client("handles").tools(), "with stateful tools: listed")
    place = t.other("none")
    place.settings("[mcp.handles]\nbuiltin = []\n")
    t.claim("await" not in place.client("handles").tools(), "without: not listed")
    names = [one["name"] for one in agent(t, ["schemas"], stateless=True)["results"][0]]
    t.equal(names, ["plain"], "embedded, without stateful tools")
    c = t.client("handles")
    answer = c.call("await", {"action": "spawn", "id": "w", "all": ["x"]})
    t.claim(answer.error and "not found" not in answer.text, f"spawned over MCP: {brief(answer.text, 100)}")
    rows = agent(
        t, ["batch", [["await", {"action": "spawn", "id": "w", "all": ["x"]}], ["await", {"all": ["w"]}]]], seconds=20
    )["results"]
    t.claim(rows and all(one["error"] for one in rows[0]), f"spawned, embedded: {brief(rows, 150)}")


@check(130)
def events(t: Trial) -> None:
    """Waking is by events; a tool gets a context with a cancellation and the handles."""
    c = t.client("handles")
    gate = t.gate()
    mark = t.folder / "ended-at"
    spawn(c, "x", f"read l < {gate}; date +%s.%N > {mark}")
    for n in range(30):
        c.begin("await", {"all": ["x"]}, progress=False)
        del n
    number = c.begin("await", {"all": ["x"]}, progress=False)
    t.rest(2)
    pid, ticks = t.daemon(), os.sysconf("SC_CLK_TCK")

    def cpu() -> float:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / ticks

    before = cpu()
    t.rest(5)
    used = cpu() - before
    t.claim(used < 0.15, f"31 waits for 5 s took {used:.2f} s of CPU")
    t.open_gate(gate)
    c.answer(number, 10)
    late = time.time() - float(mark.read_text())
    t.claim(late < 0.7, f"woken {late * 1000:.0f} ms after the end")
    facts = agent(
        t,
        ["batch", [["work", {"action": "spawn", "id": "a", "say": "x"}], ["await", {"all": ["a"]}]]],
        ["batch", [["work", {"action": "spawn", "id": "b", "seconds": 60}]]],
        ["sleep", 1],
        ["batch", [["work", {"action": "abort", "id": "b"}]]],
    )
    t.equal(
        {k: facts["seen"]["context"][k] for k in ("handles", "cancellation")},
        {"handles": True, "cancellation": True},
        "context",
    )
    t.equal(facts["seen"].get("cancelled"), "b", "an abort cancels the coroutine of")
