"""Seed 000, `job`: limits, retention, ids, owners, the end of the host (49-56)."""

from __future__ import annotations

import time

from seeds.checks.job_cancel import listed, start
from seeds.checks.job_delivery import Receiver
from seeds.registry import check
from seeds.trial import Trial, brief


@check(49, seconds=100)
def most_running(t: Trial) -> None:
    """At most 100 run at once, by setting 1 to 100; a manager of its own falls back to 15."""
    refusal = "Background job limit reached ({}). Wait for running jobs to finish or cancel one."
    for setting, wanted in (("2", 2), ("0", 1)):
        place = t.other(f"most{setting}")
        place.settings(f"[mcp.job]\nmost = {setting}\n")
        c = place.client("job")
        said = [c.call("bash", {"command": "sleep 60", "async": True}).text for _ in range(wanted + 1)]
        t.claim(
            refusal.format(wanted) in said[-1] and "started" in said[-2], f"most = {setting}: {brief(said[-1], 90)}"
        )
        c.call("job", {"cancel": ["bg_1"]})
        t.claim(
            "started" in c.call("bash", {"command": "sleep 60", "async": True}).text,
            f"most = {setting}: one goes, one comes",
        )
    for name, setting in (("default", ""), ("500", "[mcp.job]\nmost = 500\n")):
        place = t.other(name)
        place.settings(setting)
        c = place.client("job")
        said = [c.call("bash", {"command": "sleep 60", "async": True}).text for _ in range(101)]
        t.claim(all("started" in one for one in said[:100]), f"{name}: a hundred start, one by one")
        t.claim(refusal.format(100) in said[100], f"{name}: the next one: {brief(said[100], 90)}")
    place = t.other("at-once")
    place.settings("[mcp.job]\nmost = 2\n")
    c = place.client("job")
    numbers = [c.begin("bash", {"command": "sleep 60", "async": True}) for _ in range(10)]
    said = [c.answer(one).text for one in numbers]
    t.equal(sum("started" in one for one in said), 2, "most = 2, ten at once: started")
    facts = t.host("many_tasks")
    t.equal(facts.get("started"), 15, "a manager without settings, in a program: tasks started of 16")
    t.claim(
        refusal.format(15) in str(facts.get("refused")),
        f"the 16th: {brief(facts.get('refused') or facts.get('failed') or 'not refused', 100)}",
    )


@check(50)
def queued_do_not_count(t: Trial) -> None:
    """Queued jobs do not count against the limit."""
    t.settings("[mcp.job]\nmost = 2\n[queue]\nrunning = 1\n")
    c = t.client("job")
    said = [c.call("bash", {"command": "sleep 60", "async": True}).text for _ in range(4)]
    t.claim(all("started" in one for one in said), f"one runs, three wait: {brief(said[-1], 80)}")
    t.equal(sum(one["phase"] == "queued" for one in t.jobs()), 3, "queued")


@check(51, seconds=345)
def retention(t: Trial) -> None:
    """Five minutes after its end a job is unknown to poll, cancel and list."""
    c = t.client("job")
    for name in ("listed", "polled"):
        start(c, name, f"echo {name}")
        t.ended(f"echo {name}")
    ended = time.monotonic()
    c.call("job", {"poll": ["polled"]})
    t.rest(285)
    t.equal(sorted(listed(c)), ["listed", "polled"], "after 285 s:")
    t.rest(max(0, 303 - (time.monotonic() - ended)))
    t.equal(sorted(listed(c)), [], "after 303 s:")
    t.claim("No matching jobs" in c.call("job", {"poll": ["listed"]}).text, "poll does not know it")
    t.equal(c.call("job", {"cancel": ["polled"]}).data["cancelled"][0]["status"], "not_found", "cancel says")
    answer = c.call("bash", {"command": "echo again", "async": True, "id": "listed"})
    t.claim("listed" in answer.text and "listed-2" not in answer.text, "its id is free")


@check(52)
def no_retention(t: Trial) -> None:
    """Retention 0 evicts at the end; timers keep no process alive."""
    t.settings("[retention]\nkeep = '0s'\nkeep_unseen = '0s'\n")
    c = t.client("job")
    start(c, "a", "echo 1")
    t.until(lambda: "a" not in listed(c), "the eviction", 20)
    t.claim(c.call("job", {"cancel": ["a"]}).data["cancelled"][0]["status"] == "not_found", "gone at once")
    place = t.other("timers")
    d = place.client("job")
    start(d, "b", "echo 2")
    d.call("job", {"poll": ["b"]})
    began = time.monotonic()
    done = place.bide("daemon", "stop")
    t.claim(
        done.code == 0 and time.monotonic() - began < 5,
        f"with a retention of minutes the daemon stops in {time.monotonic() - began:.1f} s",
    )


@check(53)
def ids(t: Trial) -> None:
    """Ids are the lowest free `bg_N`; one that is asked for is taken, with -2, -3 if it is not free."""
    c = t.client("job")
    numbers = [c.begin("bash", {"command": "sleep 60", "async": True}) for _ in range(8)]
    for one in numbers:
        c.answer(one)
    t.equal(sorted(listed(c), key=lambda name: int(name[3:])), [f"bg_{n}" for n in range(1, 9)], "eight at once")
    for _ in range(3):
        start(c, "build.x", "sleep 60")
    t.claim({"build.x", "build.x-2", "build.x-3"} <= set(listed(c)), f"asked for thrice: {sorted(listed(c))[-3:]}")
    d = t.client("job", name="gap")
    start(d, "bg_2", "sleep 60")
    for _ in range(2):
        d.call("bash", {"command": "sleep 60", "async": True})
    t.equal(sorted(listed(d)), ["bg_1", "bg_2", "bg_3"], "bg_2 is taken by choice:")


@check(54)
def owners(t: Trial) -> None:
    """list, poll and cancel see the caller's jobs only."""
    a, b = t.client("job", name="a"), t.client("job", name="b")
    start(a, "mine", "sleep 60")
    t.equal(listed(b), {}, "the other one's list")
    t.claim("No matching jobs" in b.call("job", {"poll": ["mine"]}).text, "poll: not there")
    real = next(one["id"] for one in t.jobs() if one["name"] == "mine")
    for name in ("mine", real):
        t.equal(b.call("job", {"cancel": [name]}).data["cancelled"], [{"id": name, "status": "not_found"}], "cancel")
    t.equal(b.call("job", {}).text, "No running background jobs to wait for.", "nothing to wait for:")
    t.equal(listed(a)["mine"]["status"], "running", "it is")
    start(b, "mine", "sleep 60")
    t.equal(sorted(listed(b)), ["mine"], "the same id for both:")


@check(55)
def disposed(t: Trial) -> None:
    """The end of the host refuses new jobs, cancels all, and says what became of deliveries."""
    hook = Receiver(500)
    t.settings(hook.settings())
    c = t.client("job")
    start(c, "deaf", "trap '' TERM; sleep 71.5 & wait; sleep 71.5")
    start(c, "plain", "sleep 72.5")
    start(c, "done", "sleep 0.5; echo UNDELIVERED")
    t.until(lambda: hook.got, "an attempt that fails")
    began = time.monotonic()
    done = t.bide("daemon", "stop", "--kill")
    took = time.monotonic() - began
    t.claim(done.code == 0 and took < 15, f"stopped in {took:.1f} s")
    t.claim(not t.alive("sleep 71.5") and not t.alive("sleep 72.5"), "nothing of the jobs is left")
    said = done.out + done.err
    t.claim("2 jobs" in said, f"says how many: {brief(said, 120)}")
    t.claim(any(word in said for word in ("deliver", "notice", "told", "news")), "says whether deliveries are done")
    facts = t.host("closed")
    t.claim(
        facts.get("refused"), f"a program's manager that is closed refuses: {brief(facts.get('refused') or facts, 100)}"
    )


@check(56)
def sub_agents(t: Trial) -> None:
    """The end of one agent cancels its own jobs only."""
    facts = t.host("two_agents")
    t.equal(facts.get("first"), "killed", "the task of the one that ended")
    t.equal(facts.get("second"), "running", "the other's task")
    a, b = t.client("job", name="a"), t.client("job", name="b")
    start(a, "of-a", "sleep 60")
    start(b, "of-b", "sleep 60")
    a.call("job", {"cancel": [*listed(a), "of-b"]})
    t.equal(listed(b)["of-b"]["status"], "running", "cancelling everything of one: the other's is")
