"""Seed 000, `job`: cancelling (11-19)."""

from __future__ import annotations

from seeds.registry import check
from seeds.trial import Client, Json, Trial, brief

DEAF = "trap '' TERM; echo deaf; sleep 60 & wait; sleep 60"


def start(c: Client, name: str, command: str) -> None:
    """Start a background job."""
    c.call("bash", {"command": command, "async": True, "id": name})


def listed(c: Client) -> dict[str, Json]:
    """List the caller's jobs by id."""
    return {one["id"]: one for one in c.call("job", {"list": True}).data["jobs"]}


@check(11)
def before_polling(t: Trial) -> None:
    """Cancels happen before any polling."""
    c = t.client("job")
    start(c, "a", "sleep 60")
    start(c, "b", "sleep 60")
    number = c.begin("job", {"cancel": ["a"], "poll": ["b"]})
    state = t.until(
        lambda: [j for j in t.jobs() if j["name"] == "a" or j["phase"] == "ended"], "the cancelled job's end"
    )
    t.claim(not c.answered(number), "the poll still waits when the cancelled job has ended")
    t.claim(state, "cancelled while polling")
    start(c, "dummy", "true")
    c.call("job", {"cancel": ["b"]})
    answer = c.answer(number)
    t.equal(answer.data.get("cancelled"), [{"id": "a", "status": "cancelled"}], "the poll's answer has cancelled")


@check(12)
def outcomes(t: Trial) -> None:
    """Unknown ids are `not_found`, ended ones `already_completed`; nothing raises."""
    c = t.client("job")
    start(c, "good", "echo 1")
    start(c, "bad", "exit 3")
    start(c, "gone", "sleep 60 # gone")
    c.call("job", {"cancel": ["gone"]})
    t.ended("echo 1")
    t.ended("exit 3")
    t.ended("# gone")
    odd = ["never", "", "../x", "bg_999", "ü", "a b"]
    answer = c.call("job", {"cancel": ["good", "bad", "gone", *odd]})
    t.claim(not answer.error, "no error")
    found = {one["id"]: one["status"] for one in answer.data.get("cancelled", [])}
    for name in ("good", "bad", "gone"):
        t.equal(found.get(name), "already_completed", name)
    for name in odd:
        t.equal(found.get(name), "not_found", repr(name))
    twice = c.call("job", {"cancel": ["gone", "gone"]})
    t.claim(not twice.error, "the same id twice is no error")


@check(13)
def alone(t: Trial) -> None:
    """`cancel` alone returns at once, with others running."""
    c = t.client("job")
    start(c, "a", "sleep 60")
    start(c, "b", "sleep 60")
    start(c, "deaf", DEAF)
    t.claim((one := c.call("job", {"cancel": ["a"]})).seconds < 2, f"one: {one.seconds:.2f} s")
    t.claim((one := c.call("job", {"cancel": ["deaf"]})).seconds < 2, f"one that ignores TERM: {one.seconds:.2f} s")
    t.claim((one := c.call("job", {"cancel": ["nope"]})).seconds < 2, f"an unknown one: {one.seconds:.2f} s")
    t.equal(listed(c)["b"]["status"], "running", "the other is")


@check(14)
def before_stopped(t: Trial) -> None:
    """The status is `cancelled` before the work has stopped; teardown is not awaited."""
    c = t.client("job")
    mark = f"{t.folder}/deaf"
    start(c, "deaf", f"trap '' TERM; touch {mark}; sleep 61.25 & wait; sleep 61.25")
    t.until((t.folder / "deaf").exists)
    answer = c.call("job", {"cancel": ["deaf"]})
    running = t.alive("sleep 61.25")
    t.claim(
        answer.seconds < 2 and answer.data["jobs"][0]["status"] == "cancelled",
        f"{brief(answer.data, 90)} after {answer.seconds:.2f} s",
    )
    t.claim(running, "its process is still there then")
    t.equal(listed(c)["deaf"]["status"], "cancelled", "list says")
    t.equal(c.call("job", {"poll": ["deaf"]}).data["jobs"][0]["status"], "cancelled", "poll says")
    t.until(lambda: not t.alive("sleep 61.25"), "the death of its tree", 20)
    t.equal(listed(c)["deaf"]["status"], "cancelled", "when it is dead, list says")


@check(15)
def late_words(t: Trial) -> None:
    """What a job writes after its cancellation is kept; the status stays."""
    c = t.client("job")
    mark = t.folder / "up"
    start(
        c,
        "late",
        f"trap 'sleep 0.7; echo LATE-WORDS; exit 0' TERM; echo EARLY; touch {mark}; while :; do sleep 0.05; done",
    )
    t.until(mark.exists)
    c.call("job", {"cancel": ["late"]})
    t.ended("LATE-WORDS")
    one = listed(c)["late"]
    words = one.get("resultText", "") + one.get("errorText", "")
    t.claim("EARLY" in words and "LATE-WORDS" in words, f"texts {brief(words)}")
    t.equal(one["status"], "cancelled", "status, though it exited with 0,")


@check(16)
def not_delivered(t: Trial) -> None:
    """A cancelled job is never delivered by itself."""
    for name in ("seeds-client", "gemini-cli-mcp-client"):
        c = t.client("job", name=name)
        start(c, "gone", f"echo UNWANTED; sleep 60 # {name}")
        c.call("job", {"cancel": ["gone"]})
        start(c, "kept", f"echo WANTED # {name}")
        t.ended(f"sleep 60 # {name}")
        t.ended(f"WANTED # {name}")
        said = c.call("bash", {"command": "echo hello"}).all + c.call("bash", {"command": "echo hello"}).all
        t.claim("UNWANTED" not in said and "gone" not in said, f"{name}: nothing of the cancelled one")
        t.claim("kept" in said, f"{name}: the other one is told of (so news does come)")


@check(17)
def texts(t: Trial) -> None:
    """The texts of cancelling."""
    c = t.client("job")
    start(c, "x", "sleep 60")
    start(c, "good", "echo 1")
    start(c, "bad", "exit 3")
    t.ended("echo 1")
    t.ended("exit 3")
    said = c.call("job", {"cancel": ["x", "nobody", "good", "bad"]}).text
    again = c.call("job", {"cancel": ["x"]}).text
    for wanted in (
        "Cancelled background job x.",
        "Background job not found: nobody",
        "Background job good is already completed.",
        "Background job bad is already failed.",
    ):
        t.claim(wanted in said, wanted if wanted in said else f"no {wanted!r} in {brief(said)}")
    t.claim("Background job x is already cancelled." in again, brief(again, 80))


@check(18)
def then_poll(t: Trial) -> None:
    """`cancel` with `poll` cancels first, then waits on the poll ids that are there."""
    c = t.client("job")
    start(c, "a", "sleep 60 # a")
    start(c, "b", "sleep 2")
    start(c, "c", "sleep 60 # c")
    answer = c.call("job", {"cancel": ["a"], "poll": ["b", "missing"]})
    t.claim(1 < answer.seconds < 12, f"waited {answer.seconds:.1f} s for the one that takes 2 s")
    t.equal([one["id"] for one in answer.data["jobs"]], ["b"], "jobs")
    start(c, "d", "sleep 2 # d")
    answer = c.call("job", {"cancel": ["c"], "poll": ["c", "d"]})
    t.claim(1 < answer.seconds < 12, f"the cancelled one among the polled: waited {answer.seconds:.1f} s")
    by = {one["id"]: one["status"] for one in answer.data["jobs"]}
    t.equal(by, {"c": "cancelled", "d": "completed"}, "both are shown:")


@check(19)
def nothing_to_watch(t: Trial) -> None:
    """`cancel` with nothing left to watch returns snapshots of the cancelled ids that exist."""
    c = t.client("job")
    start(c, "a", "sleep 60")
    start(c, "b", "echo b-text")
    start(c, "other", "sleep 60")
    t.ended("b-text")
    answer = c.call("job", {"cancel": ["a", "b", "nobody"], "poll": ["nowhere"]})
    t.claim(answer.seconds < 2, f"at once ({answer.seconds:.2f} s)")
    t.equal(sorted(one["id"] for one in answer.data["jobs"]), ["a", "b"], "snapshots of")
    answer = c.call("job", {"cancel": ["nobody"], "poll": []})
    t.equal(answer.data["jobs"], [], "nothing exists: jobs")
    t.claim(answer.text.strip(), f"text {brief(answer.text, 60)}")
