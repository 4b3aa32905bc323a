"""Seed 000, `job`: waiting (20-35)."""

from __future__ import annotations

import itertools
import re
import threading
import time

from seeds.checks.job_cancel import listed, start
from seeds.registry import check
from seeds.trial import Answer, Trial, brief


def ids(answer: Answer) -> dict[str, str]:
    """Return id and status of each job in an answer."""
    return {one["id"]: one["status"] for one in answer.data.get("jobs", [])}


@check(20)
def no_arguments(t: Trial) -> None:
    """No arguments watch all running jobs of the caller."""
    c, other = t.client("job"), t.client("job", name="other")
    start(other, "theirs", "sleep 1 # theirs")
    start(c, "old", "echo old")
    t.ended("echo old")
    start(c, "a", "sleep 2.5 # a")
    start(c, "b", "sleep 60")
    answer = c.call("job", {})
    t.claim(
        1.5 < answer.seconds < 12, f"waited {answer.seconds:.1f} s for its own first end (another's came after 1 s)"
    )
    t.equal(ids(answer), {"a": "completed", "b": "running"}, "watched")


@check(21)
def missing_ids(t: Trial) -> None:
    """Poll ids that do not exist are dropped silently."""
    c = t.client("job")
    start(c, "a", "sleep 1")
    answer = c.call("job", {"poll": ["nope", "a", "bg_77", ""]})
    t.equal(ids(answer), {"a": "completed"}, "jobs")
    t.claim("nope" not in answer.all and "bg_77" not in answer.all and not answer.error, "no word of the others")
    t.claim(answer.seconds > 0.5, "and it waited")


@check(22)
def nothing_to_wait_for(t: Trial) -> None:
    """All ids missing, or nothing running: the two texts, at once."""
    c = t.client("job")
    answer = c.call("job", {"poll": ["a", "b"]})
    t.equal(answer.own, "No matching jobs found for IDs: a, b", "text")
    t.claim(answer.seconds < 2 and not answer.error, f"after {answer.seconds:.2f} s, no error")
    t.equal(c.call("job", {}).own, "No running background jobs to wait for.", "text")
    start(c, "done", "echo 1")
    t.ended("echo 1")
    t.equal(c.call("job", {}).own, "No running background jobs to wait for.", "with an ended one:")


@check(23)
def empty_poll(t: Trial) -> None:
    """`poll: []` gives the text of nothing running."""
    c = t.client("job")
    t.equal(c.call("job", {"poll": []}).own, "No running background jobs to wait for.", "text")
    start(c, "a", "sleep 60")
    answer = c.call("job", {"poll": []})
    t.claim(
        answer.own == "No running background jobs to wait for." and answer.seconds < 2,
        f"also while one runs: {brief(answer.text, 60)} after {answer.seconds:.1f} s",
    )


@check(24)
def all_ended(t: Trial) -> None:
    """If every watched job is over the answer comes at once; if only some are, the rest is raced."""
    c = t.client("job")
    start(c, "good", "echo g-text")
    start(c, "bad", "exit 1")
    t.ended("g-text")
    t.ended("exit 1")
    answer = c.call("job", {"poll": ["good", "bad"]})
    t.claim(answer.seconds < 2 and len(ids(answer)) == 2, f"all ended: {answer.seconds:.2f} s")
    start(c, "runs", "sleep 2")
    answer = c.call("job", {"poll": ["good", "runs", "bad"]})
    t.claim(answer.seconds > 1, f"one runs: waited {answer.seconds:.2f} s")
    t.equal(ids(answer), {"good": "completed", "runs": "completed", "bad": "failed"}, "jobs")


@check(25)
def first_to_settle(t: Trial) -> None:
    """The wait ends at the first job to settle; the rest is still running."""
    c = t.client("job")
    start(c, "slow", "sleep 60")
    start(c, "quick", "sleep 1.5; exit 9")
    start(c, "middle", "sleep 30")
    answer = c.call("job", {"poll": ["slow", "quick", "middle"]})
    t.claim(0.8 < answer.seconds < 10, f"waited {answer.seconds:.1f} s")
    t.equal(ids(answer), {"slow": "running", "quick": "failed", "middle": "running"}, "jobs")
    t.claim("## Still Running (2)" in answer.text and "## Completed (1)" in answer.text, "sections")


def window(t: Trial, setting: str | None, most: float) -> float:
    """Poll one long job in a home of its own; return how long that took, at most `most`."""
    place = t.other(setting or "none")
    if setting:
        place.settings(f"[mcp.job]\npoll_wait = '{setting}'\n")
    c = place.client("job", name="claude-code")
    start(c, "long", "sleep 300")
    number = c.begin("job", {"poll": ["long"]})
    try:
        return c.answer(number, most).seconds
    except TimeoutError:
        c.cancel(number)
        return most


@check(26, seconds=110)
def windows(t: Trial) -> None:
    """The window is 5s, 10s, 30s, 1m or 5m; 30 s by default and for any other value."""
    expected = {"5s": 5, "10s": 10, "30s": 30, "1m": 60, "none": 30, "7s": 30, "banana": 30}
    took: dict[str, float] = {}

    def one(setting: str) -> None:
        took[setting] = window(t, None if setting == "none" else setting, 80)

    five = threading.Thread(target=lambda: took.update({"5m": window(t, "5m", 72)}))
    threads = [threading.Thread(target=one, args=(setting,)) for setting in expected] + [five]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for setting, wanted in expected.items():
        t.claim(wanted - 0.5 <= took.get(setting, 0) <= wanted + 4, f"{setting}: {took.get(setting, 0):.1f} s")
    t.claim(took.get("5m", 0) >= 72, f"5m: longer than {took.get('5m', 0):.0f} s")


@check(27)
def expiry(t: Trial) -> None:
    """The end of the window is no error: the current snapshot."""
    t.settings("[mcp.job]\npoll_wait = '5s'\n")
    c = t.client("job")
    start(c, "a", "sleep 60")
    start(c, "b", "sleep 60")
    answer = c.call("job", {})
    t.claim(not answer.error and 4.5 < answer.seconds < 10, f"no error after {answer.seconds:.1f} s")
    t.equal(ids(answer), {"a": "running", "b": "running"}, "snapshot")
    t.claim(all(one["durationMs"] >= 4500 for one in answer.data["jobs"]), "its durations are of now")


@check(28)
def aborted(t: Trial) -> None:
    """Aborting the call ends the wait and leaves the jobs running."""
    c = t.client("job", name="gemini-cli-mcp-client")
    start(c, "a", "sleep 5 # aborted")
    number = c.begin("job", {"poll": ["a"]})
    c.told(number, 2)
    began = time.monotonic()
    c.cancel(number)
    seen = len(c.told(number, 0))
    t.equal(listed(c)["a"]["status"], "running", "after the abort the job is")
    t.claim(time.monotonic() - began < 3, "the connection answers at once")
    t.rest(1.5)
    t.claim(len(c.progress_of(number)) <= seen + 1, "no more progress after it")
    t.ended("# aborted")
    t.claim("(a)" in c.call("bash", {"command": "echo"}).all, "its end is delivered then: the watch was released")
    late = c.answered(number) and "error" not in c.frame(number)
    t.claim(not late or "Still Running" in str(c.frame(number)), "an answer, if one comes, is a snapshot")


@check(29)
def steering(t: Trial) -> None:
    """A user who speaks ends the wait early, and the model is told where things stand."""
    c = t.client("job")
    start(c, "a", "sleep 60")
    number = c.begin("job", {})
    c.told(number, 1)
    c.cancel(number)
    answer = c.call("job", {"list": True})
    t.claim(
        answer.seconds < 2 and ids(answer) == {"a": "running"},
        f"the next call answers after {answer.seconds:.2f} s: {ids(answer)}",
    )
    facts = t.host("steer")
    t.claim(
        facts.get("cancelled") is True and facts.get("seconds", 99) < 3, f"embedded, interrupt(): {brief(facts, 100)}"
    )
    t.equal(facts.get("state"), "running", "the handle goes on:")


@check(30)
def updates(t: Trial) -> None:
    """While it waits an update comes at once and every 500 ms, and none after the answer."""
    t.settings("[mcp.job]\npoll_wait = '5s'\n")
    c = t.client("job")
    start(c, "a", "sleep 60")
    start(c, "b", "sleep 60")
    number = c.begin("job", {})
    answer = c.answer(number)
    times = [when for when, _ in answer.progress]
    gaps = [b - a for a, b in itertools.pairwise(times)]
    t.claim(times and times[0] < 0.45, f"first after {times[0] if times else 99:.2f} s")
    t.claim(8 <= len(times) <= 12, f"{len(times)} in 5 s")
    t.claim(
        gaps and 0.35 < sorted(gaps)[len(gaps) // 2] < 0.7,
        f"median gap {sorted(gaps)[len(gaps) // 2] if gaps else 0:.2f} s",
    )
    words = [one.get("message", "") for _, one in answer.progress]
    t.claim(
        all("a" in re.findall(r"\w+", w) and "j0" not in w for w in words),
        f"words {brief(words[-1:], 80)}",
    )
    numbers = [one["progress"] for _, one in answer.progress]
    t.claim(numbers == sorted(numbers) and all(round(n, 3) == n for n in numbers), f"numbers {brief(numbers, 60)}")
    before = len(answer.progress)
    t.rest(1.2)
    t.equal(len(c.progress_of(number)) - before, 0, "after the answer, more:")


@check(31)
def duplicates(t: Trial) -> None:
    """Duplicate ids give one snapshot each."""
    c = t.client("job")
    start(c, "a", "sleep 1")
    start(c, "b", "sleep 60")
    answer = c.call("job", {"poll": ["a", "b", "a", "b", "a"]})
    t.equal([one["id"] for one in answer.data["jobs"]].count("a"), 1, "snapshots of a:")
    t.equal(len(answer.data["jobs"]), 2, "snapshots")
    t.equal(answer.text.count("### a "), 1, "in the text:")
    twice = c.call("job", {"cancel": ["b", "b"]})
    t.equal(len(twice.data["jobs"]), 1, "cancelled twice in one call: snapshots")


@check(32)
def failures(t: Trial) -> None:
    """Failures of the work are `failed` with errorText; `job` raises nothing."""
    c = t.client("job")
    for name, command in (
        ("code", "echo why >&2; exit 7"),
        ("unknown", "no-such-program-here"),
        ("killed", "kill -SEGV $$"),
        ("syntax", "if then"),
    ):
        start(c, name, command)
    c.call("bash", {"command": "sleep 60 # slow", "timeout": 1, "async": True, "id": "slow"})
    t.until(lambda: all(one["phase"] == "ended" for one in t.jobs()), "all ends")
    answer = c.call("job", {"poll": ["code", "unknown", "killed", "syntax", "slow"]})
    t.claim(not answer.error, "not flagged as an error")
    for one in answer.data["jobs"]:
        t.claim(
            one["status"] == "failed" and one.get("errorText", "").strip(),
            f"{one['id']}: {one['status']}, {brief(one.get('errorText', ''), 50)}",
        )
    t.claim(len(answer.data["jobs"]) == 5, "all five")


@check(33)
def snapshot_of_all(t: Trial) -> None:
    """`list` shows the caller's running and ended jobs at once; commands in the foreground are none."""
    c, other = t.client("job,sessions"), t.client("job", name="other")
    start(other, "theirs", "sleep 60")
    start(c, "done", "echo 1")
    start(c, "bad", "exit 1")
    start(c, "runs", "sleep 60")
    c.call("bash", {"command": "echo FOREGROUND"})
    c.call("exec", {"code": "print('EXEC')"})
    t.ended("echo 1")
    t.ended("exit 1")
    answer = c.call("job", {"list": True})
    t.claim(answer.seconds < 2, f"at once: {answer.seconds:.2f} s")
    t.equal(ids(answer), {"done": "completed", "bad": "failed", "runs": "running"}, "jobs")
    t.claim("FOREGROUND" not in answer.all and "EXEC" not in answer.all, "nothing of what ran in the foreground")
    number = c.begin("bash", {"command": "sleep 4; echo FORE"})
    t.until(lambda: [j for j in t.jobs() if "echo FORE" in str(j["command"]) and j["phase"] == "running"])
    c.call("job", {"cancel": ["runs"]})
    answer = c.call("job", {})
    t.claim(
        answer.seconds < 2 and "FORE" not in answer.all,
        f"job{{}} beside a foreground call does not wait for it: {answer.seconds:.1f} s",
    )
    t.claim("FORE" in c.answer(number).all, "which answers by itself")


@check(34)
def useless(t: Trial) -> None:
    """A poll that learned nothing is flagged as useless; others are not."""
    t.settings("[mcp.job]\npoll_wait = '5s'\n")
    c = t.client("job")
    start(c, "a", "sleep 7")
    answer = c.call("job", {})
    t.claim(answer.data.get("useless") is True, f"all still running: useless {answer.data.get('useless')}")
    t.claim(not c.call("job", {}).data.get("useless"), "one ended: not")
    start(c, "b", "sleep 60")
    t.claim(not c.call("job", {"cancel": ["b"]}).data.get("useless"), "a cancel: not")
    t.claim(not c.call("job", {"list": True}).data.get("useless"), "a list: not")


@check(35, seconds=130)
def smart(t: Trial) -> None:
    """`smart` waits 5, 10, 30 s with every poll in a row, by owner, and 5 s again after a minute without."""
    t.settings("[mcp.job]\npoll_wait = 'smart'\n")
    c, other = t.client("job", name="claude-code"), t.client("job", name="codex-mcp-client")
    start(c, "a", "sleep 300")
    start(other, "b", "sleep 300")
    took = [c.call("job", {}).seconds, c.call("job", {}).seconds]
    t.claim(4.5 < took[0] < 7.5 and 9.5 < took[1] < 13, f"first {took[0]:.1f} s, second {took[1]:.1f} s")
    t.claim(4.5 < (one := other.call("job", {}).seconds) < 7.5, f"another owner's first: {one:.1f} s")
    number = c.begin("job", {})
    t.rest(12)
    t.claim(not c.answered(number), "the third waits longer than 12 s")
    c.cancel(number)
    t.rest(62)
    t.claim(4.5 < (one := c.call("job", {}).seconds) < 7.5, f"after a minute without: {one:.1f} s")
