"""Seed 002: configuration of spawns, notifications, the end of a turn (131-146)."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from typing import Any

from seeds.checks.handles import agent, said, spawn, stopped
from seeds.mcp import Json
from seeds.registry import check
from seeds.trial import Trial, brief

SEED = """
[conversation.tools.{0}.spawn]
stateful = true

[conversation.tools.{0}.spawn.notifications]
on_success = {1}
on_failure = true
on_waiting = true
on_content = false

[conversation.tools.{0}.spawn.lifecycle]
on_turn_end = "{2}"
"""


def sh(name: str, command: str) -> list[Any]:
    """Spawn a shell command."""
    return ["sh", {"action": "spawn", "id": name, "command": command}]


def work(name: str, tool: str = "work", **given: object) -> list[Any]:
    """Spawn a coroutine."""
    return [tool, {"action": "spawn", "id": name, **given}]


def rows(facts: Json, place: int) -> list[Json]:
    """Return the notices of a step `news`."""
    return list(facts["results"][place]["rows"]) if len(facts["results"]) > place else []


def kinds(found: list[Json]) -> dict[str, str]:
    """Return the kind of each notice by its handle."""
    return {one.get("id") or one.get("handle", {}).get("id", "?"): one.get("kind", "") for one in found}


@check(131)
def configuration(t: Trial) -> None:
    """Each tool has spawn.stateful, .notifications and .lifecycle, in the seed's own TOML."""
    facts = agent(
        t,
        ["batch", [work("a", say="done", seconds=0.3)]],
        ["sleep", 1],
        ["news"],
        ["schemas"],
        config=SEED.format("work", "false", "abort"),
    )
    t.claim(
        facts["results"] and not rows(facts, 2),
        "the seed's sections alone, for a tool of the program: on_success = false holds",
    )
    facts = agent(
        t,
        ["batch", [work("b", seconds=60)]],
        ["end_turn"],
        config=SEED.format("work", "true", "abort"),
        inquire={"*": "wait"},
    )
    t.claim(facts["results"] and facts["results"][1]["aborted"] == ["b"], "so does on_turn_end = abort")
    text = "[conversation.tools.mine]\ncommand = 'echo ran $x'\nparameters = { x = 'what' }\n" + SEED.format(
        "mine", "true", "await"
    )
    facts = agent(
        t, ["batch", [["mine", {"action": "spawn", "id": "m", "x": "it"}], ["await", {"all": ["m"]}]]], config=text
    )
    t.claim(facts["results"] and "ran it" in facts["results"][0][1]["text"], "a tool of the configuration runs")
    facts = agent(
        t,
        ["batch", [["mine", {"x": "once"}]]],
        config="[conversation.tools.mine]\ncommand = 'echo ran $x'\nparameters = { x = 'what' }\n",
    )
    t.claim(
        facts["results"] and "ran once" in facts["results"][0][0]["text"],
        "stateful is false, if not said: every call runs to completion",
    )
    place = t.other("home")
    place.settings(text)
    done = place.bide("run", "--", "echo", "home works")
    t.claim("home works" in done.out, f"in config.toml of a home it stops nothing: {brief(done.err or done.out, 150)}")


@check(132)
def defaults(t: Trial) -> None:
    """on_success, on_failure and on_waiting are true, on_content is false."""
    calls = [
        work("good", say="g", seconds=0.5),
        work("bad", fail="b", seconds=0.5),
        ["ask", {"action": "spawn", "id": "asks", "text": "What?"}],
        sh("noisy", "while :; do echo line; sleep 0.1; done"),
    ]
    facts = agent(t, ["batch", calls], ["sleep", 2], ["news"], assistant=True, owner="on")
    found = kinds(rows(facts, 2))
    t.equal(
        {key: found.get(key) for key in ("good", "bad", "asks")},
        {"good": "tool.stopped", "bad": "tool.failed", "asks": "tool.waiting"},
        "told",
    )
    t.claim("noisy" not in found, "new output is not")
    flags = {"on_success": False, "on_failure": False, "on_waiting": False, "on_content": True}
    facts = agent(
        t,
        ["batch", calls],
        ["sleep", 2],
        ["news"],
        assistant=True,
        owner="off",
        spawn={tool: {"notifications": flags} for tool in ("work", "ask", "sh")},
    )
    found = kinds(rows(facts, 2))
    t.equal(found, {"noisy": "tool.content"}, "with every flag turned over")


@check(133)
def watched(t: Trial) -> None:
    """What is awaited or was fetched is not notified."""
    facts = agent(
        t,
        [
            "batch",
            [
                work("awaited", say="AWAITED", seconds=0.5),
                work("fetched", say="FETCHED", seconds=0.3),
                work("other", say="OTHER", seconds=0.3),
                ["await", {"all": ["awaited"]}],
            ],
        ],
        ["sleep", 1],
        ["batch", [["work", {"action": "fetch", "id": "fetched"}]]],
        ["sleep", 0.5],
        ["news"],
    )
    every = json.dumps(facts["results"])
    t.equal(every.count("AWAITED"), 1, "the awaited one is told of, times")
    t.equal(
        sorted(kinds(rows(facts, 4))),
        [one for one in ("other",) if "OTHER" not in json.dumps(facts["results"][:4])],
        "news of",
    )
    t.equal(every.count("OTHER") >= 1, True, "the other one is told of:")
    t.claim("FETCHED" not in json.dumps(rows(facts, 4)), "the fetched one is not")
    c = t.client("handles", name="gemini-cli-mcp-client")
    spawn(c, "x", "sleep 1; echo XWORDS")
    first = c.call("await", {"all": ["x"]}).all
    later = c.call("shell", {"command": "true"}).all + c.call("shell", {"command": "true"}).all
    t.claim("XWORDS" in first and "XWORDS" not in later, "over MCP: awaited, not told again")


@check(134)
def shape(t: Trial) -> None:
    """A notification has a kind, a level and a message: stopped is info, waiting warning, failed error."""
    facts = agent(
        t,
        [
            "batch",
            [
                work("good", say="g", seconds=0.5),
                work("bad", fail="b", seconds=0.5),
                ["ask", {"action": "spawn", "id": "asks"}],
            ],
        ],
        ["sleep", 1.5],
        ["news"],
        assistant=True,
    )
    found = {one["kind"]: one for one in rows(facts, 2)}
    t.equal(
        {kind: one.get("level") for kind, one in found.items()},
        {"tool.stopped": "info", "tool.failed": "error", "tool.waiting": "warning"},
        "levels",
    )
    t.claim(
        all(one.get("message") for one in found.values()),
        f"messages {brief([one.get('message') for one in found.values()], 200)}",
    )


@check(135)
def recorded(t: Trial) -> None:
    """Notifications are recorded whatever the filters, delivered once, and survive a crash of the carrier."""
    facts = agent(
        t,
        ["batch", [work("w", say="TOLD-ONCE", seconds=0.3)]],
        ["sleep", 1],
        ["news"],
        ["batch", [["plain", {}]]],
        ["news"],
        ["news"],
        owner="once",
    )
    t.equal(json.dumps(facts["results"][2:]).count('"message"'), 1, "delivered, times")
    t.equal(len(rows(facts, 4)) + len(rows(facts, 5)), 0, "again:")
    crash = t.host(
        "agent",
        json.dumps(
            {
                "owner": "crash",
                "steps": [["batch", [sh("s", "sleep 0.5; echo AFTER-CRASH")]], ["sleep", 1.5], ["news"]],
                "die": 3,
            }
        ),
    )
    t.claim("AFTER-CRASH" in json.dumps(crash.get("steps", [])), "a program that dies with the news in its hands")
    for _ in range(3):  # the daemon may need a moment to notice that the carrier is gone
        t.rest(0.5)
        facts = agent(t, ["news"], owner="crash")
        if rows(facts, 0):
            break
    t.equal([one["message"] for one in rows(facts, 0)], ["s exited with 0"], "the next one of that owner is told:")
    agent(
        t,
        ["batch", [sh("q", "sleep 0.3; echo QUIET")]],
        ["sleep", 1],
        owner="quiet",
        spawn={"sh": {"notifications": {"on_success": False}}},
    )
    facts = agent(t, ["news"], owner="quiet", spawn={"sh": {"notifications": {"on_success": False}}})
    t.equal(rows(facts, 0), [], "one that a filter holds back is not delivered:")


@check(136)
def points(t: Trial) -> None:
    """News comes with the first reply of a batch, with a message of the user, with the next turn; what is critical at once."""
    facts = agent(
        t,
        ["batch", [work("w", say="NEWS", seconds=0.3)]],
        ["sleep", 1],
        ["batch", [["plain", {"say": "one"}], ["plain", {"say": "two"}]]],
        owner="first",
    )
    first, second = (one["text"] for one in facts["results"][2])
    t.claim(
        first.startswith("one") and "NEWS" in first and "NEWS" not in second,
        f"the first reply of a batch: {brief(first, 150)}",
    )
    facts = agent(
        t,
        ["batch", [work("w", say="NEWS", seconds=0.5), sh("long", "sleep 60")]],
        ["interrupted", 1.5, ["batch", [["await", {"all": ["long"]}]]]],
        ["news"],
        owner="user",
    )
    t.claim("NEWS" in json.dumps(facts["results"][1:]), "a user who interrupts")
    facts = agent(t, ["batch", [work("w", say="NEWS", seconds=0.5)]], ["sleep", 1.2], ["news"], owner="turn")
    t.claim("NEWS" in facts["results"][2]["text"], "the next turn")
    done: dict[str, Json] = {}
    thread = threading.Thread(target=lambda: done.update(agent(t, ["urgent", 20], owner="critical")))
    thread.start()
    t.rest(2)
    t.host("agent", json.dumps({"owner": "critical", "steps": [["batch", [work("lost", seconds=60)]]], "die": 1}))
    thread.join()
    found = (done["results"] or [None])[0]
    t.claim(
        found and [one["level"] for one in found["rows"]] == ["critical"], f"critical, at once: {brief(found, 200)}"
    )
    t.claim(
        done["steps"] and done["steps"][0]["seconds"] < 15,
        f"after {done['steps'][0]['seconds'] if done['steps'] else 0:.1f} s",
    )


@check(137)
def grouped(t: Trial) -> None:
    """News is one block, the most severe first, labelled as unrelated."""
    calls = [
        work("good", say="GOOD", seconds=0.5),
        ["ask", {"action": "spawn", "id": "asks", "text": "ASKS"}],
        work("bad", fail="BAD", seconds=0.5),
        work("good2", say="GOODER", seconds=0.5),
    ]
    facts = agent(t, ["batch", calls], ["sleep", 2], ["batch", [["plain", {"say": "reply"}]]], assistant=True)
    text = facts["results"][2][0]["text"]
    places = [text.find(word) for word in ("reply", "BAD", "ASKS", "GOOD")]
    t.claim(-1 not in places and places == sorted(places), f"order of reply, error, warning, info: {places}")
    t.claim("unrelated" in text, f"labelled: {brief(text, 160)}")
    t.equal(text.count("unrelated"), 1, "blocks:")


@check(138)
def policies(t: Trial) -> None:
    """on_turn_end is inquire, await or abort; inquire is the default; handles that wait for permission are in it."""
    mark = t.folder / "late"
    facts = agent(t, ["batch", [sh("a", "sleep 60")]], ["end_turn"], inquire={"a": "abort"}, owner="d")
    t.claim(len(facts["inquired"]) == 1 and facts["results"][1]["aborted"] == ["a"], "by default it inquires")
    for policy, aborted in (("await", []), ("abort", ["a"])):
        facts = agent(
            t,
            ["batch", [sh("a", "sleep 1")]],
            ["end_turn"],
            inquire={"*": "wait"},
            owner=policy,
            spawn={"sh": {"lifecycle": {"on_turn_end": policy}}},
        )
        t.claim(
            not facts["inquired"] and facts["results"][1]["aborted"] == aborted,
            f"{policy}: {brief(facts['results'][1])}",
        )
    bad = t.host("agent", json.dumps({"steps": [], "spawn": {"sh": {"lifecycle": {"on_turn_end": "explode"}}}}))
    t.claim(
        bad.get("failed") and "inquire, await" in bad["stderr"],
        f"another word is refused: {brief(bad.get('failed', 'no'))}",
    )
    facts = agent(
        t,
        ["together", [0, ["batch", [sh("p", f"touch {mark}; sleep 60")]]], [0.7, ["end_turn"]]],
        ["sleep", 3],
        permit={"seconds": 2.5},
        inquire={"p": "abort"},
        owner="pending",
    )
    ends = facts["results"][0][1]["result"] if facts["results"] else {}
    t.claim(
        "p" in json.dumps([ends.get("aborted"), ends.get("left"), ends.get("results")]),
        f"one that waits for permission is in the turn's end: {brief(ends)}",
    )
    t.claim(not mark.exists(), "and does not start after it")
    facts = agent(
        t,
        ["together", [0, ["batch", [sh("i", f"touch {mark}; sleep 60")]]], [0.7, ["interrupt"]]],
        ["sleep", 3],
        ["batch", [["sh", {"action": "fetch", "id": "i"}]]],
        permit={"seconds": 2.5},
        owner="inter",
    )
    t.claim(
        not mark.exists() and facts["results"],
        f"interrupted while it waits for permission: it does not start: {brief(facts['results'][-1] if facts['results'] else '', 120)}",
    )


@check(139)
def payload(t: Trial) -> None:
    """The inquiry has id, tool, state, elapsed seconds and a preview of each handle, and wants wait or abort for each."""
    facts = agent(
        t,
        [
            "batch",
            [sh("check", "echo Compiling jp_cli; sleep 60"), ["ask", {"action": "spawn", "id": "asks", "text": "Q?"}]],
        ],
        ["sleep", 1.5],
        ["end_turn"],
        inquire={"*": "abort"},
        assistant=True,
    )
    handles = {one["id"]: one for asked in facts["inquired"] for one in asked["question"]["handles"]}
    t.equal(sorted(handles), ["asks", "check"], "asked about")
    one = handles.get("check", {})
    t.equal({k: one.get(k) for k in ("tool", "state")}, {"tool": "sh", "state": "running"}, "check")
    t.claim(
        isinstance(one.get("elapsed_secs"), float) and 1 < one["elapsed_secs"] < 20,
        f"elapsed_secs {one.get('elapsed_secs')}",
    )
    t.claim(
        "Compiling jp_cli" in one.get("output_preview", ""), f"output_preview {brief(one.get('output_preview', ''))}"
    )
    t.equal(handles.get("asks", {}).get("state"), "waiting", "the other is")
    schema = json.dumps(facts["inquired"][0]["schema"])
    t.claim('"wait"' in schema and '"abort"' in schema, f"the schema has wait and abort: {brief(schema, 150)}")


@check(140)
def chosen(t: Trial) -> None:
    """`wait` blocks, within a timeout, and gives the result as the response of the call; `abort` kills at once."""
    facts = agent(
        t,
        ["batch", [work("keep", say="KEPT", seconds=1.5), sh("kill", "sleep 87.5")]],
        ["end_turn"],
        inquire={"keep": "wait", "kill": "abort"},
        spawn={"sh": {}},
    )
    end = facts["results"][1]
    t.claim(0.5 < facts["steps"][1]["seconds"] < 12, f"blocked {facts['steps'][1]['seconds']:.1f} s")
    t.claim(len(end["results"]) == 1 and "KEPT" in end["results"][0]["text"], f"results {brief(end['results'], 150)}")
    t.claim(
        end["results"] and end["results"][0]["tool"] == "work" and end["results"][0]["id"] == "0",
        "with the tool and the id of the call that spawned it",
    )
    t.claim(end["aborted"] == ["kill"] and not t.alive("sleep 87.5"), "the other is dead")
    facts = agent(
        t,
        ["batch", [work("slow", seconds=20)]],
        ["end_turn"],
        inquire={"slow": "wait"},
        owner="late",
        spawn={"work": {"lifecycle": {"wait_timeout": 1}}},
    )
    end = facts["results"][1]
    t.claim(
        facts["steps"][1]["seconds"] < 4 and "timed_out" in json.dumps(end["results"]),
        f"past the timeout: {brief(end, 200)}",
    )
    text = json.dumps({"handles": [{"id": "t", "action": "abort"}]})
    facts = agent(t, ["batch", [sh("t", "sleep 60")]], ["end_turn"], inquire=text, owner="text")
    t.equal(facts["results"][1]["aborted"], ["t"], "an answer as JSON text is taken: aborted")
    facts = agent(
        t, ["batch", [sh("t", "sleep 60")]], ["end_turn"], inquire="I would rather wait, I think.", owner="prose"
    )
    t.equal(facts["results"][1]["left"], ["t"], "an answer that says nothing usable: left")


@check(141)
def target(t: Trial) -> None:
    """The inquiry can go to another model, by tool, else by the coordinator."""
    facts = agent(
        t,
        ["batch", [work("a", seconds=30), work("b", "work2", seconds=30)]],
        ["end_turn"],
        inquire={"*": "abort"},
        cheaper="abort",
    )
    t.equal(facts["seen"].get("cheaper"), ["b"], "the tool's own is asked about")
    t.equal(
        [one["id"] for asked in facts["inquired"] for one in asked["question"]["handles"]],
        ["a"],
        "the coordinator's about",
    )
    t.equal(sorted(facts["results"][1]["aborted"]), ["a", "b"], "both count: aborted")
    facts = agent(
        t,
        ["batch", [["ask", {"action": "spawn", "id": "q", "text": "Cheap?"}], ["await", {"all": ["q"]}]]],
        answer="from the cheaper one",
        assistant=True,
        owner="q",
    )
    t.claim(
        "from the cheaper one" in facts["results"][0][1]["text"] and facts["asked"] == ["Cheap?"],
        "questions go to the configured answerer before the assistant",
    )


@check(142)
def policy_await(t: Trial) -> None:
    """Policy await: no model is asked; it waits within its timeout; results come at the next turn; what is left is aborted."""
    life = {"on_turn_end": "await", "await_timeout": 2}
    facts = agent(
        t,
        ["batch", [work("quick", say="QUICK", seconds=0.7), sh("slow", "sleep 88.5")]],
        ["end_turn"],
        ["news"],
        inquire={"*": "wait"},
        spawn={tool: {"lifecycle": life} for tool in ("work", "sh")},
    )
    end = facts["results"][1]
    t.claim(not facts["inquired"], "no model is asked")
    t.claim(1.8 < facts["steps"][1]["seconds"] < 8, f"it took {facts['steps'][1]['seconds']:.1f} s")
    t.equal([end["results"], end["aborted"]], [[], ["slow"]], "results and aborted")
    t.claim(not t.alive("sleep 88.5"), "what was left is dead")
    t.claim("QUICK" in facts["results"][2]["text"], "the result comes with the news of the next turn")


@check(143)
def policy_abort(t: Trial) -> None:
    """Policy abort: everything is killed at once, and its results are lost."""
    life = {"on_turn_end": "abort"}
    facts = agent(
        t,
        ["batch", [work("a", say="X", seconds=30), sh("b", "sleep 89.5 & sleep 89.5")]],
        ["sleep", 0.5],
        ["end_turn"],
        ["news"],
        spawn={tool: {"lifecycle": life} for tool in ("work", "sh")},
    )
    t.equal(sorted(facts["results"][2]["aborted"]), ["a", "b"], "aborted")
    t.claim(
        facts["steps"][2]["seconds"] < 8 and not t.alive("sleep 89.5"),
        f"dead after {facts['steps'][2]['seconds']:.1f} s",
    )
    t.equal(facts["seen"].get("cancelled"), "a", "the coroutine is cancelled:")
    t.equal(rows(facts, 3), [], "no news of them:")


@check(144)
def host_exit(t: Trial) -> None:
    """When the host ends, its coroutines are ended, verified; when it dies they are lost; commands are found again."""
    agent(t, ["batch", [work("a", seconds=60), sh("c", "echo CMD; sleep 60")]], owner="ends")
    by = {one["name"]: one for one in t.jobs() if one["owner"] == "ends"}
    t.claim(
        by["a"]["phase"] == "ended" and by["a"]["reason"] == "killed",
        f"a coroutine: {by['a']['phase']}, {by['a']['reason']}, by {by['a']['by']}",
    )
    t.host(
        "agent",
        json.dumps(
            {"owner": "dies", "steps": [["batch", [work("a", seconds=60), sh("c", "echo CMD; sleep 60")]]], "die": 1}
        ),
    )
    job = t.until(
        lambda: next(
            (one for one in t.jobs() if one["owner"] == "dies" and one["name"] == "a" and one["phase"] == "ended"), None
        ),
        "the end of an orphan",
    )
    t.equal(job["reason"], "lost", "a coroutine whose program was killed:")
    for action, wanted in (("fetch", "running"), ("abort", "stopped")):
        try:
            facts = agent(t, ["batch", [["sh", {"action": action, "id": "c"}]]], owner="dies", seconds=12)
            t.equal(said(facts["results"][0][0]).get("state"), wanted, f"its command in the next program, {action}:")
        except subprocess.TimeoutExpired:
            t.fault(f"{action} of its command, in the next program of that owner, never answers")


@check(145)
def nobody(t: Trial) -> None:
    """Nobody to answer: auto, defaults or deny; deny if nothing is said; exclusive questions are for people only."""

    def asked(owner: str, given: Json, **more: Any) -> Json:
        facts = agent(
            t,
            ["batch", [["ask", {"action": "spawn", "id": "q", **given}], ["await", {"all": ["q"], "timeout_secs": 8}]]],
            owner=owner,
            **more,
        )
        return (said(facts["results"][0][1]).get("completed") or [{}])[0]

    t.claim("error" in asked("1", {"default": "d"}), "nothing said: denied, though there is a default")
    t.equal(asked("2", {"form": "boolean"}, policy="auto").get("result"), "answered True", "auto, boolean")
    t.equal(
        asked("3", {"form": "select", "options": ["red", "blue"]}, policy="auto").get("result"),
        "answered 'red'",
        "auto, select without a default",
    )
    t.equal(
        asked("4", {"form": "select", "options": ["red", "blue"], "default": "blue"}, policy="auto").get("result"),
        "answered 'blue'",
        "auto, with one",
    )
    t.equal(asked("5", {"default": "Bob"}, policy="defaults").get("result"), "answered 'Bob'", "defaults")
    t.claim("error" in asked("6", {}, policy="defaults"), "defaults, without one: denied")
    t.claim(
        "error" in asked("7", {"exclusive": True, "default": "x"}, policy="auto", answer="from a model"),
        "exclusive, with a model as answerer and policy auto: denied",
    )
    t.equal(
        asked("8", {"exclusive": True}, answer="from a person", person=True).get("result"),
        "answered 'from a person'",
        "exclusive, with a person",
    )
    t.settings("[questions]\npolicy = 'auto'\nask = []\n")


@check(146)
def sizes(t: Trial) -> None:
    """A response has at most 256 KB, a batch 2 MB; the largest is cut first, says so truly, and keeps its end."""
    lines = "head -c 262000 /dev/zero | tr '\\0' x; echo; for i in $(seq 1 12); do echo FAILED test_$i; done"
    c = t.client("handles")
    for name, command in (
        ("edge", lines),
        ("big", "seq 1 200000"),
        ("small", "echo small-one"),
        ("multi", "printf 'ü%.0s' $(seq 200000); echo END"),
    ):
        spawn(c, name, command)
    for name in ("edge", "big", "multi"):
        answer = c.call("await", {"all": [name]})
        text = answer.data["completed"][0]["result"]
        size = len(answer.text.encode())
        t.claim(size <= 262144, f"{name}: {size} bytes of text")
        end = {"edge": "FAILED test_12", "big": "200000", "multi": "END"}[name]
        t.claim(end in text[-200:], f"{name} keeps its end")
        cut = re.search(r"\.\.\. \[truncated[^\]]*\]", text)
        both = re.search(r"truncated, (.*?) → (.*?)[\];]", text)
        t.claim(cut and both and both[1] != both[2], f"{name} says {cut[0] if cut else 'nothing'}")
        t.claim(text.count("x") > 100_000 if name == "edge" else True, f"{name}: {len(text)} characters kept")
    stopped(c, "small")
    answer = c.call("await", {"all": ["big", "small"]})
    t.claim(
        "small-one" in answer.text and len(answer.text.encode()) < 270_000, "the largest is cut, the small one whole"
    )
    batch = [sh(f"h{n}", "seq 1 60000") for n in range(12)] + [["await", {"all": [f"h{n}"]}] for n in range(12)]
    facts = agent(t, ["batch", batch])
    sizes = [len(one["text"].encode()) for one in facts["results"][0]]
    t.claim(
        max(sizes) <= 262144 and sum(sizes) <= 2 * 1024 * 1024, f"embedded: largest {max(sizes)}, together {sum(sizes)}"
    )
    found = [json.loads(one["text"])["completed"][0]["result"] for one in facts["results"][0] if one["tool"] == "await"]
    t.claim(len(found) == 12 and all(one.rstrip().endswith("60000") for one in found), "each is JSON and keeps its end")
    structured = c.call("await", {"all": ["big"]})
    whole = len(json.dumps(structured.raw).encode())
    t.claim(whole < 400_000, f"text and structured content together: {whole} bytes")
