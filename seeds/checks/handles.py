"""Seed 002 and what it builds on: handles (100-111)."""

from __future__ import annotations

import json
from typing import Any

from seeds.mcp import Client, Json
from seeds.registry import check
from seeds.trial import Trial, brief


def spawn(c: Client, name: str, command: str, **more: object) -> Json:
    """Spawn a shell handle."""
    return c.call("shell", {"action": "spawn", "id": name, "command": command, **more}).data


def act(c: Client, action: str, name: str, tool: str = "shell", **more: object) -> Json:
    """Fetch, apply or abort."""
    return c.call(tool, {"action": action, "id": name, **more}).data


def stopped(c: Client, *names: str) -> dict[str, Json]:
    """Await all of these and return them by id."""
    return {one["id"]: one for one in c.call("await", {"all": list(names)}).data["completed"]}


def agent(t: Trial, *steps: list[Any], seconds: float = 50, **given: Any) -> Json:
    """Run the embedding program with these steps; the results of the steps are in `steps`, unpacked."""
    facts = t.host("agent", json.dumps({**given, "steps": list(steps)}), seconds=seconds)
    if facts.get("failed"):
        t.fault(f"the embedding program failed: {brief(facts['stderr'][-300:], 300)}")
    facts["steps"] = facts.get("steps", [])
    facts["results"] = [one["result"] for one in facts["steps"]]
    return facts


def said(row: Json) -> Json:
    """Read the text of a response as JSON; news may ride behind it."""
    try:
        return json.JSONDecoder().raw_decode(row["text"])[0]
    except ValueError:
        return {"text": row["text"]}


@check(100)
def states(t: Trial) -> None:
    """A handle is pending, running, waiting or stopped; stopped has a text, or an error with message, trace and transient."""
    t.settings("[queue]\nrunning = 3\n")
    c = t.client("handles")
    spawn(c, "run", "sleep 60")
    spawn(c, "ask", "bide ask-user --boolean 'Sure?'")
    t.until(lambda: act(c, "fetch", "ask")["state"] == "waiting", "the question")
    spawn(c, "good", "echo fine")
    spawn(c, "bad", "echo why >&2; exit 6")
    both = stopped(c, "good", "bad")
    spawn(c, "third", "sleep 60")
    spawn(c, "turn", "sleep 60")
    t.equal(
        [act(c, "fetch", one)["state"] for one in ("turn", "run", "ask", "good")],
        ["pending", "running", "waiting", "stopped"],
        "states",
    )
    t.claim(
        both["good"]["result"].strip() == "fine" and "error" not in both["good"], f"stopped well: {brief(both['good'])}"
    )
    error = both["bad"].get("error", {})
    t.claim(
        {"message", "trace", "transient"} <= set(error) and error["transient"] is False,
        f"stopped badly: {brief(error)}",
    )


@check(101)
def actions(t: Trial) -> None:
    """spawn, fetch, apply, abort; a schema for each; a tool has only those it supports."""
    t.settings(
        "[mcp.handles]\ncombinators = true\n[mcp.handles.tools.only]\ncommand = 'echo $x'\nactions = ['spawn', 'fetch']\nparameters = { x = 'text' }\nrequired = ['x']\n"
    )
    c = t.client("handles")
    tools = c.tools()
    forms = {
        one["properties"]["action"]["const"]: one
        for one in tools["shell"]["inputSchema"].get("oneOf", [])
        if "action" in one.get("properties", {})
    }
    t.equal(sorted(forms), ["abort", "apply", "fetch", "spawn"], "oneOf of shell")
    t.claim(
        {"action", "id", "command"} <= set(forms.get("spawn", {}).get("required", [])),
        f"spawn requires {forms.get('spawn', {}).get('required')}",
    )
    only = {
        one["properties"]["action"]["const"]
        for one in tools["only"]["inputSchema"].get("oneOf", [])
        if "action" in one.get("properties", {})
    }
    t.equal(sorted(only), ["fetch", "spawn"], "a tool without apply and abort shows")
    c.call("only", {"action": "spawn", "id": "o", "x": "1"})
    for action in ("apply", "abort"):
        answer = c.call("only", {"action": action, "id": "o", "input": "x"})
        t.claim(answer.error and action in answer.text, f"{action}: {brief(answer.text, 100)}")
    bad = c.call("shell", {"action": "explode", "id": "o"})
    t.claim(bad.error and "action" in bad.text, f"an action that is none: {brief(bad.text, 90)}")
    for given, word in (
        ({"action": "spawn", "command": "true"}, "id"),
        ({"action": "spawn", "id": "z"}, "command"),
        ({"action": "fetch"}, "id"),
        ({"action": "apply", "id": "o"}, "input"),
    ):
        answer = c.call("shell", given)
        t.claim(answer.error and word in answer.text, f"{given}: {brief(answer.text, 90)}")
    place = t.other("flat")
    flat = place.client("handles").tools()["shell"]
    text = json.dumps(flat)
    t.claim(
        "spawn requires" in text.lower()
        or ("with spawn" in text.lower())
        or "spawn needs" in text.lower()
        or "for spawn" in text.lower()
        or "to spawn" in text.lower(),
        f"flat schemas say in words what spawn requires: {brief(flat['description'], 200)}",
    )


@check(102)
def chosen_ids(t: Trial) -> None:
    """spawn takes the model's id and answers {id, state: running} at once."""
    c = t.client("handles")
    answer = c.call("shell", {"action": "spawn", "id": "build_release", "command": "sleep 60"})
    t.equal(answer.data, {"id": "build_release", "state": "running"}, "answer")
    t.claim(answer.seconds < 2, f"after {answer.seconds:.2f} s")
    without = c.call("shell", {"action": "spawn", "command": "sleep 60"})
    t.claim(without.error and "id" in without.text, f"without id: {brief(without.text, 90)}")
    for name in ("a b", "", "x" * 65, "-x", "ü"):
        bad = c.call("shell", {"action": "spawn", "id": name, "command": "true"})
        t.claim(bad.error and "id" in bad.text, f"{name[:10]!r}: {brief(bad.text, 70)}")


@check(103)
def clashes(t: Trial) -> None:
    """An id of an active handle is an error; that of a stopped one is free."""
    c = t.client("handles")
    spawn(c, "x", "sleep 60")
    again = c.call("python", {"action": "spawn", "id": "x", "code": "print(1)"})
    t.claim(again.error and "x" in again.text, f"active: {brief(again.text, 100)}")
    act(c, "abort", "x")
    t.equal(spawn(c, "x", "echo second").get("state"), "running", "after abort it is free:")
    t.equal(stopped(c, "x")["x"]["result"].strip(), "second", "and is the new one")
    t.equal(spawn(c, "x", "echo third").get("state"), "running", "after its end too:")
    t.equal(stopped(c, "x")["x"]["result"].strip(), "third", "await tells of the newest")
    c.call("shell", {"action": "spawn", "id": "ask", "command": "bide ask-user 'Name?'"})
    t.until(lambda: act(c, "fetch", "ask")["state"] == "waiting")
    t.claim(c.call("shell", {"action": "spawn", "id": "ask", "command": "true"}).error, "a waiting one is active")


@check(104)
def fetch(t: Trial) -> None:
    """fetch shows state and content, or the result; also of a handle that waits for permission."""
    c = t.client("handles")
    gate = t.gate()
    spawn(c, "a", f"echo part; echo warn >&2; read x < {gate}; echo rest")
    one = t.until(lambda: (got := act(c, "fetch", "a")).get("content") and got)
    t.claim(
        one["state"] == "running" and "part" in one["content"] and "warn" in json.dumps(one), f"running: {brief(one)}"
    )
    t.open_gate(gate)
    stopped(c, "a")
    one = act(c, "fetch", "a")
    t.claim(one["state"] == "stopped" and one["result"].split() == ["part", "rest"], f"stopped: {brief(one)}")
    t.claim(act(c, "fetch", "a") == one, "again: the same")
    missing = c.call("shell", {"action": "fetch", "id": "nope"})
    t.claim(
        missing.error and "nope" in missing.text and "not found" in missing.text, f"unknown: {brief(missing.text, 80)}"
    )
    facts = agent(
        t,
        [
            "together",
            [0, ["batch", [["sh", {"action": "spawn", "id": "p", "command": "echo hi"}]]]],
            [0.7, ["batch", [["sh", {"action": "fetch", "id": "p"}]]]],
        ],
        permit={"seconds": 2},
    )
    row = facts["results"][0][1]["result"][0] if facts["results"] else {"text": "", "error": True}
    t.claim(not row["error"] and said(row).get("state") == "pending", f"waiting for permission: {brief(row['text'])}")


@check(105)
def apply(t: Trial) -> None:
    """apply writes to stdin, answers a question, and is an error on a stopped handle."""
    c = t.client("handles")
    spawn(c, "cat", "while read l; do echo got:$l; done; echo end", stdin=True)
    one = act(c, "apply", "cat", input="first\n")
    t.claim("got:first" in json.dumps(one), f"stdin: {brief(one)}")
    act(c, "apply", "cat", input="second\n")
    act(c, "apply", "cat", input=None)
    t.equal(stopped(c, "cat")["cat"]["result"].split(), ["got:first", "got:second", "end"], "null ends the input:")
    spawn(c, "q", "bide ask-user --boolean 'Go on?' && echo YES || echo NO")
    t.until(lambda: act(c, "fetch", "q")["state"] == "waiting")
    act(c, "apply", "q", input=True)
    t.equal(stopped(c, "q")["q"]["result"].split()[-1], "YES", "the question is answered:")
    late = c.call("shell", {"action": "apply", "id": "cat", "input": "x"})
    t.claim(late.error and "stopped" in late.text.lower(), f"stopped: {brief(late.text, 90)}")
    spawn(c, "deaf", "sleep 60")
    shut = c.call("shell", {"action": "apply", "id": "deaf", "input": "x\n"})
    t.claim(shut.error, f"one without stdin: {brief(shut.text, 90)}")


@check(106)
def abort(t: Trial) -> None:
    """abort is SIGTERM, then SIGKILL; stopped, with partial output; also while permission is awaited."""
    c = t.client("handles")
    spawn(c, "a", "echo partial; sleep 85.5 & sleep 85.5")
    t.until(lambda: act(c, "fetch", "a").get("content"))
    one = act(c, "abort", "a")
    t.claim(
        one["state"] == "stopped" and "partial" in json.dumps(one) and not t.alive("sleep 85.5"),
        f"{brief(one)}; its tree is dead",
    )
    spawn(c, "deaf", "trap '' TERM; echo deaf; sleep 60 & wait; sleep 60")
    t.until(lambda: act(c, "fetch", "deaf").get("content"))
    answer = c.call("shell", {"action": "abort", "id": "deaf"})
    t.claim(
        1.5 < answer.seconds < 8 and answer.data["state"] == "stopped", f"one that ignores TERM: {answer.seconds:.1f} s"
    )
    t.claim(c.call("shell", {"action": "abort", "id": "nope"}).error, "unknown: error")
    mark = t.folder / "started"
    facts = agent(
        t,
        [
            "together",
            [0, ["batch", [["sh", {"action": "spawn", "id": "p", "command": f"touch {mark}"}]]]],
            [0.7, ["batch", [["sh", {"action": "abort", "id": "p"}]]]],
        ],
        ["sleep", 2],
        ["batch", [["sh", {"action": "fetch", "id": "p"}]]],
        permit={"seconds": 2},
    )
    row = facts["results"][0][1]["result"][0] if facts["results"] else {"text": "", "error": True}
    t.claim(
        not row["error"] and said(row).get("state") == "stopped", f"while permission is awaited: {brief(row['text'])}"
    )
    t.claim(not mark.exists(), "and it never starts, though permission comes")


@check(107)
def one_shot(t: Trial) -> None:
    """A call without action runs to completion and leaves no handle."""
    c = t.client("handles")
    answer = c.call("shell", {"command": "sleep 0.5; echo one-shot"})
    t.claim("one-shot" in answer.text and answer.seconds > 0.4, f"{brief(answer.text, 60)}")
    named = c.call("shell", {"command": "echo x", "id": "named"})
    gone = c.call("shell", {"action": "fetch", "id": "named"})
    t.claim(named.error or gone.error, f"with an id: {brief(named.text, 80)}; fetch of it: {brief(gone.text, 60)}")
    bad = c.call("shell", {"command": "exit 3"})
    t.claim(bad.error and "Process exited with code 3" in bad.text, f"failed: {brief(bad.text, 60)}")
    facts = agent(t, ["batch", [["work", {"say": "at once", "seconds": 0.3}], ["plain", {"say": "plain"}]]])
    t.claim(
        [row["text"] for row in facts["results"][0]] == ["at once", "plain"], f"embedded: {brief(facts['results'])}"
    )


@check(108)
def process_ends(t: Trial) -> None:
    """Exit 0 is stdout; exit N is `Process exited with code N` with stderr as trace."""
    c = t.client("handles")
    spawn(c, "good", "echo out; echo noise >&2")
    spawn(c, "bad", "echo out; echo first >&2; echo second >&2; exit 42")
    both = stopped(c, "good", "bad")
    t.equal(both["good"]["result"], "out\n", "Ok")
    t.equal(both["bad"]["result"], "Process exited with code 42", "result of the failed one")
    error = both["bad"]["error"]
    t.claim(
        error["message"] == "Process exited with code 42"
        and "first" in "".join(error["trace"])
        and "second" in "".join(error["trace"]),
        f"error {brief(error)}",
    )


@check(109)
def terminals(t: Trial) -> None:
    """A terminal has 24 rows and 80 columns; its content is the screen without trailing blanks."""
    c = t.client("handles")
    c.call("terminal", {"action": "spawn", "id": "size", "command": "stty size; sleep 60"})
    one = t.until(lambda: (got := act(c, "fetch", "size", "terminal")).get("content") and got)
    t.claim("24 80" in one["content"], f"toolset: {brief(one['content'], 60)}")
    c.call("terminal", {"action": "spawn", "id": "sh", "command": "PS1='$ ' exec bash --norc"})
    t.until(lambda: "$" in act(c, "fetch", "sh", "terminal").get("content", ""))
    one = act(c, "apply", "sh", "terminal", input="echo typed-$((1+1))\n")
    t.claim("typed-2" in one.get("content", ""), f"apply answers with the settled screen: {brief(one, 120)}")
    c.call("terminal", {"action": "apply", "id": "sh", "input": "printf '\\033[2J\\033[Hclean   \\n'\n"})
    one = act(c, "fetch", "sh", "terminal")
    t.claim(
        "typed-2" not in one["content"] and all(line == line.rstrip() for line in one["content"].split("\n")),
        f"a cleared screen: {one['content']!r:.80}",
    )
    c.call("terminal", {"action": "spawn", "id": "deaf", "command": "trap '' TERM HUP; while :; do sleep 1; done"})
    answer = c.call("terminal", {"action": "abort", "id": "deaf"})
    t.claim(answer.seconds < 8 and answer.data["state"] == "stopped", f"abort: {answer.seconds:.1f} s")
    facts = agent(
        t,
        ["batch", [["pty", {"action": "spawn", "id": "p", "command": "stty size; tput cols; sleep 60"}]]],
        ["sleep", 1.2],
        ["batch", [["pty", {"action": "fetch", "id": "p"}]]],
        ["batch", [["pty", {"action": "abort", "id": "p"}]]],
    )
    t.claim("24 80" in facts["results"][2][0]["text"], f"embedded: {brief(facts['results'][2][0]['text'], 100)}")


@check(110)
def asking(t: Trial) -> None:
    """A question makes the handle waiting, with its id, text, type and default; the answer lets it go on."""
    c = t.client("handles")
    for name, words, value, wanted in (
        ("b", "--boolean --default no 'Deploy?'", True, "0"),
        ("s", "--select red --select blue 'Which colour?'", "blue", "blue"),
        ("t", "--default Bob 'Your name?'", "Al Ice", "Al Ice"),
    ):
        spawn(c, name, f'x=$(bide ask-user {words}); echo "said:$x:$?"')
        one = t.until(lambda name=name: (got := act(c, "fetch", name))["state"] == "waiting" and got, "the question")
        question = one.get("question", {})
        t.claim(
            question.get("id")
            and question.get("text")
            and (question.get("type") or question.get("form")) in ("boolean", "select", "text"),
            f"{name}: {brief(question, 150)}",
        )
        t.claim(
            "default" in question if name != "s" else question.get("options") == ["red", "blue"],
            f"{name}: default or options",
        )
        act(c, "apply", name, input=value)
        result = stopped(c, name)[name]["result"]
        t.claim(wanted in result, f"{name} goes on: {brief(result, 60)}")
    spawn(c, "bad", "bide ask-user --select red --select blue 'Which?'")
    t.until(lambda: act(c, "fetch", "bad")["state"] == "waiting")
    refused = c.call("shell", {"action": "apply", "id": "bad", "input": "green"})
    t.claim(refused.error and "red" in refused.text, f"an answer that does not fit: {brief(refused.text, 90)}")
    t.equal(act(c, "fetch", "bad")["state"], "waiting", "the question stays:")


@check(111)
def permission(t: Trial) -> None:
    """Permission is asked on spawn only; await sees the handle before it runs."""
    facts = agent(
        t,
        [
            "batch",
            [
                ["await", {"all": ["p"], "timeout_secs": 1}],
                ["sh", {"action": "spawn", "id": "p", "command": "echo permitted"}],
            ],
        ],
        ["batch", [["await", {"all": ["p"]}]]],
        ["batch", [["sh", {"action": "fetch", "id": "p"}]]],
        ["batch", [["sh", {"action": "abort", "id": "p"}]]],
        permit={"seconds": 2},
    )
    first = said(facts["results"][0][0])
    t.equal(first.get("pending"), [{"id": "p", "state": "pending"}], "await meanwhile")
    t.claim("permitted" in facts["results"][1][0]["text"], "it runs when it is permitted")
    t.equal(len(facts["permitted"]), 1, "times asked, for spawn, fetch and abort together:")
    denied = agent(
        t,
        ["batch", [["sh", {"action": "spawn", "id": "d", "command": "echo no"}], ["await", {"all": ["d"]}]]],
        permit={"allow": False},
    )
    rows = denied["results"][0]
    t.claim(
        rows[0]["error"] and said(rows[1]).get("completed", [{}])[0].get("state") == "stopped",
        f"refused: {brief(rows, 200)}",
    )
    raising = agent(
        t,
        ["batch", [["sh", {"action": "spawn", "id": "e", "command": "echo no"}], ["plain", {"say": "other"}]]],
        permit={"raises": "boom"},
    )
    t.claim(
        raising["results"] and raising["results"][0][0]["error"] and len(raising["results"][0]) == 2,
        f"a permit that raises breaks no batch: {brief(raising['results'], 150)}",
    )
