"""Seed 000, `job`: what it takes and what it answers (1-10)."""

from __future__ import annotations

import re

from seeds.registry import check
from seeds.trial import Trial, brief

REFUSED = "`list` cannot be combined with `poll` or `cancel`."
DISABLED = "Async execution is disabled; no background jobs are available."


@check(1)
def fields(t: Trial) -> None:
    """`job` takes poll, cancel and list; no field is required."""
    schema = t.client("job").tools()["job"]["inputSchema"]
    kinds = {name: (one.get("type"), one.get("items", {}).get("type")) for name, one in schema["properties"].items()}
    wanted = {"poll": ("array", "string"), "cancel": ("array", "string"), "list": ("boolean", None)}
    kinds.pop("budget", None)
    t.claim(wanted.items() <= kinds.items(), f"properties {brief(kinds)}")
    t.claim(set(kinds) - set(wanted) <= {"budget"}, "and no other but budget, which every tool with output has")
    t.claim(not schema.get("required"), f"required {schema.get('required', [])}")


@check(2)
def list_alone(t: Trial) -> None:
    """`list` with `poll` or `cancel` is refused and cancels nothing."""
    c = t.client("job")
    c.call("bash", {"command": "sleep 60 # keep", "async": True, "id": "keep"})
    for beside in (
        {"cancel": ["keep"]},
        {"poll": ["keep"]},
        {"poll": ["keep"], "cancel": ["keep"]},
        {"cancel": []},
        {"poll": []},
    ):
        answer = c.call("job", {"list": True, **beside})
        t.claim(REFUSED in answer.text and answer.seconds < 5, f"list with {beside}: {brief(answer.text, 80)}")
    t.equal([one["status"] for one in c.call("job", {"list": True}).data["jobs"]], ["running"], "afterwards the job is")
    t.claim("keep" in c.call("job", {"list": False, "cancel": ["keep"]}).text, "list:false beside cancel is no list")


@check(3)
def one_text(t: Trial) -> None:
    """A reply is one text block and details, for every client and also when news rides on it."""
    for name in ("seeds-client", "claude-code", "codex-mcp-client", "gemini-cli-mcp-client", "Visual Studio Code"):
        c = t.client("job", name=name)
        c.call("bash", {"command": f"echo news # {name}", "async": True, "id": "quick"})
        t.ended(f"# {name}")
        c.call("bash", {"command": "sleep 60", "async": True, "id": "slow"})
        answer = c.call("job", {"cancel": ["slow"]})
        kinds = [one["type"] for one in answer.raw["content"]]
        t.claim(
            kinds == ["text"] and answer.structured is not None,
            f"{name}: {kinds}, details {answer.structured is not None}",
        )
        answer = c.call("job", {"list": True})
        t.claim(len(answer.texts) == 1 and answer.structured is not None, f"{name}, list: {len(answer.texts)} texts")


@check(4)
def sections(t: Trial) -> None:
    """Sections come in order with their counts; one with none is absent."""
    c = t.client("job")
    c.call("bash", {"command": "echo d", "async": True, "id": "done"})
    t.ended("echo d")
    for name, seconds in (("soon", 1), ("late", 60), ("gone", 60)):
        c.call("bash", {"command": f"sleep {seconds}", "async": True, "id": name})
    answer = c.call("job", {"cancel": ["gone"], "poll": ["late", "done", "soon"]})
    heads = re.findall(r"^## .*", answer.text, re.M)
    t.equal(heads, ["## Cancelled (1)", "## Completed (2)", "## Still Running (1)"], "sections")
    heads = re.findall(r"^## .*", c.call("job", {"cancel": ["late"]}).text, re.M)
    t.claim("## Still Running (0)" not in heads and heads[0] == "## Cancelled (1)", f"cancel alone: {heads}")
    heads = re.findall(r"^## .*", c.call("job", {"poll": ["done"]}).text, re.M)
    t.equal(heads, ["## Completed (1)"], "ended alone")


@check(5)
def completed(t: Trial) -> None:
    """`## Completed` has completed, failed and cancelled jobs with their texts."""
    c = t.client("job")
    for name, command in (
        ("good", "echo fine-words"),
        ("bad", "echo half; echo broken-words >&2; exit 4"),
        ("gone", "echo begun; sleep 60"),
    ):
        c.call("bash", {"command": command, "async": True, "id": name})
    t.ended("fine-words")
    t.ended("broken-words")
    t.until(
        lambda: (
            "begun"
            in str(
                t.http(
                    "GET", "/v1/jobs/" + next(j["id"] for j in t.jobs() if "begun" in str(j["command"])) + "/output"
                )[1]
            )
        ),
        "begun",
    )
    c.call("job", {"cancel": ["gone"]})
    t.ended("begun")
    answer = c.call("job", {"poll": ["good", "bad", "gone"]})
    t.claim("## Completed (3)" in answer.text and "## Still Running" not in answer.text, "one section of three")
    for word in ("fine-words", "broken-words", "half", "begun"):
        t.claim(word in answer.text, f"{word} in the text")
    by = {one["id"]: one for one in answer.data["jobs"]}
    t.claim("fine-words" in by["good"].get("resultText", ""), "resultText of the completed one")
    t.claim(
        "broken-words" in by["bad"].get("errorText", "") + by["bad"].get("resultText", ""),
        "errorText of the failed one",
    )
    t.equal(
        {n: o["status"] for n, o in by.items()}, {"good": "completed", "bad": "failed", "gone": "cancelled"}, "status"
    )


@check(6)
def snapshot(t: Trial) -> None:
    """`details.jobs[]` has id, type, status, label, durationMs, resultText and errorText."""
    c = t.client("job")
    c.call("bash", {"command": "echo out; sleep 0.3", "async": True})
    c.call("bash", {"command": "exit 2", "async": True})
    c.call("bash", {"command": "sleep 60 # stays", "async": True})
    t.ended("echo out")
    t.ended("exit 2")
    jobs = c.call("job", {"list": True}).data["jobs"]
    for one in jobs:
        extra = set(one) - {"id", "type", "status", "label", "durationMs", "resultText", "errorText"}
        t.claim(
            not extra and one["type"] == "bash" and isinstance(one["durationMs"], (int, float)), f"{brief(one, 150)}"
        )
    by = {one["label"]: one for one in jobs}
    t.claim(
        250 <= by["echo out; sleep 0.3"]["durationMs"] < 5000, f"durationMs {by['echo out; sleep 0.3']['durationMs']}"
    )
    t.claim(by["exit 2"]["status"] == "failed" and by["exit 2"].get("errorText"), "the failed one has errorText")
    t.claim(not {"resultText", "errorText"} & set(by["sleep 60 # stays"]), "a running one has neither text")
    t.claim("errorText" not in by["echo out; sleep 0.3"], "a completed one has no errorText")


@check(7)
def cancelled_details(t: Trial) -> None:
    """`details.cancelled[]` is there only if `cancel` was passed."""
    c = t.client("job")
    c.call("bash", {"command": "sleep 60", "async": True, "id": "a"})
    c.call("bash", {"command": "true # quick", "async": True, "id": "b"})
    t.ended("true # quick")
    t.claim("cancelled" not in c.call("job", {"list": True}).data, "absent from list")
    t.claim("cancelled" not in c.call("job", {"poll": ["b"]}).data, "absent from poll")
    found = c.call("job", {"cancel": ["b", "nobody", "a"]}).data["cancelled"]
    t.equal(
        found,
        [
            {"id": "b", "status": "already_completed"},
            {"id": "nobody", "status": "not_found"},
            {"id": "a", "status": "cancelled"},
        ],
        "cancelled",
    )


@check(8)
def never_empty(t: Trial) -> None:
    """No reply is empty; an empty list says `No background jobs.`"""
    c = t.client("job")
    t.equal(c.call("job", {"list": True}).own, "No background jobs.", "empty list")
    for given in (
        {},
        {"poll": []},
        {"cancel": []},
        {"poll": ["x"]},
        {"cancel": ["x"]},
        {"cancel": [], "poll": []},
        {"cancel": ["x"], "poll": ["y"]},
    ):
        answer = c.call("job", given)
        t.claim(answer.text.strip() and not answer.error, f"{given}: {brief(answer.text, 60)}")
    quiet = c.call("bash", {"command": "true"})
    t.claim(quiet.text.strip(), f"a command without output: {brief(quiet.text, 60)}")


@check(9)
def exposed(t: Trial) -> None:
    """The tool is listed only if async or auto-background is enabled."""
    for name, on, wanted in (
        ("neither", (False, False), False),
        ("async", (True, False), True),
        ("auto", (False, True), True),
    ):
        place = t.other(name)
        place.settings(f"[mcp.job]\nasync_enabled = {str(on[0]).lower()}\nauto_background = {str(on[1]).lower()}\n")
        tools = place.client("job").tools()
        t.claim(("job" in tools) == wanted and "bash" in tools, f"{name}: {sorted(tools)}")
        t.claim(("async" in tools["bash"]["inputSchema"]["properties"]) == on[0], f"{name}: bash takes async: {on[0]}")
    t.claim("job" in t.client("job").tools(), "as it comes: listed")


@check(10)
def no_manager(t: Trial) -> None:
    """Without a manager the answer is a normal text."""
    t.settings("[mcp.job]\nasync_enabled = false\nauto_background = false\n")
    c = t.client("job")
    for given in ({}, {"list": True}, {"poll": ["a"]}, {"cancel": ["a"]}):
        answer = c.call("job", given)
        t.claim(answer.text == DISABLED and not answer.error, f"{given}: {brief(answer.text, 90)} error={answer.error}")
