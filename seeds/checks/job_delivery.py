"""Seed 000, `job`: delivery of ends that nobody waited for (36-48)."""

from __future__ import annotations

import http.server
import itertools
import json
import os
import re
import threading
import time
from typing import Any

from seeds.checks.job_cancel import start
from seeds.registry import check
from seeds.trial import Client, Trial, brief

HEARS = "gemini-cli-mcp-client"
NAMES = ("seeds-client", "claude-code", "codex-mcp-client", "gemini-cli-mcp-client", "cursor-vscode")


def news(c: Client, calls: int = 2) -> str:
    """Call something unrelated and return everything the model reads of it, and of the calls after it."""
    said = ""
    for _ in range(calls):
        answer = c.call("bash", {"command": "echo unrelated"})
        said += answer.all
    return said


class Receiver:
    """A webhook that answers with a status of our choice and remembers what it got."""

    def __init__(self, status: int) -> None:
        self.status = status
        self.got: list[tuple[float, dict[str, Any]]] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.got.append((time.monotonic(), json.loads(body)))
                self.send_response(outer.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/"

    def settings(self, more: str = "") -> str:
        """Return the section of config.toml that names this webhook."""
        return f"[outbox.sinks.hook]\nwebhook = '{self.url}'\nsecret = 's'\n{more}"


@check(36)
def delivered_once(t: Trial) -> None:
    """An end that nobody waited for is delivered as a follow-up, once, to any client."""
    for number, name in enumerate(NAMES):
        c = t.client("job", name=name)
        start(c, f"mine{number}", f"sleep 0.2; echo NEWS-{number}")
        t.ended(f"NEWS-{number}")
        said = news(c, 3)
        t.equal(said.count(f"| NEWS-{number}"), 1, f"{name}: times told in three answers")
    for name in ("job,sessions", "sessions", "handles", "process"):
        c = t.client(name, name="plain-" + name.replace(",", "-"))
        tool, given = {
            "job,sessions": ("bash", {"command": "sleep 0.5; echo TOLD-X", "async": True}),
            "sessions": ("exec", {"code": "import time; time.sleep(0.5); print('TOLD-X')", "background": True}),
            "handles": ("shell", {"action": "spawn", "id": "h", "command": "sleep 0.5; echo TOLD-X"}),
            "process": (
                next((n for n in c.tools() if n.endswith("run")), "process.run"),
                {"command": "sleep 0.5; echo TOLD-X", "background": True},
            ),
        }[name]
        c.call(tool, given)
        t.until(lambda: all(one["phase"] == "ended" for one in t.jobs()))
        later = {
            "job,sessions": ("bash", {"command": "true"}),
            "sessions": ("exec", {"code": "1"}),
            "handles": ("shell", {"command": "true"}),
        }
        tool, given = later.get(name, (tool, {"command": "true"}))
        said = c.call(tool, given).all + c.call(tool, given).all
        t.equal(said.count("| TOLD-X"), 1, f"toolset {name}: times told")


@check(37)
def not_while_watched(t: Trial) -> None:
    """Watched ids are not delivered while watched; the watch is released, also by an abort."""
    c = t.client("job", name=HEARS)
    start(c, "a", "sleep 2; echo A-WORDS")
    start(c, "b", "sleep 4; echo B-WORDS")
    number = c.begin("job", {"poll": ["a", "b"]})
    c.told(number, 1)
    beside = c.call("bash", {"command": "sleep 3"}).all
    answer = c.answer(number)
    t.claim(
        "A-WORDS" in answer.text and "A-WORDS" not in beside, "the end of a watched job is in the poll's answer only"
    )
    t.ended("B-WORDS")
    said = news(c)
    t.claim("B-WORDS" in said and "A-WORDS" not in said, "after it the other one is delivered, the first is not again")
    start(c, "d", "sleep 2; echo D-WORDS")
    number = c.begin("job", {"poll": ["d"]})
    c.told(number, 1)
    c.cancel(number)
    t.ended("D-WORDS")
    t.claim("D-WORDS" in news(c), "after an aborted watch: delivered")


@check(38)
def counted_watches(t: Trial) -> None:
    """Watches are counted; what ended in a watch that never told of it is delivered."""
    c = t.client("job", name=HEARS)
    start(c, "shared", "sleep 4; echo SHARED")
    start(c, "short", "sleep 1.5; echo SHORT")
    one = c.begin("job", {"poll": ["shared", "short"]})
    two = c.begin("job", {"poll": ["shared"]})
    t.claim("SHORT" in c.answer(one).text, "the first poll ends with its first")
    beside = c.call("bash", {"command": "sleep 4"}).all
    t.claim("SHARED" in c.answer(two).text, "the second poll still watches")
    t.claim("SHARED" not in beside + news(c), "and what it told is not delivered again")
    start(c, "lost", "sleep 2; echo LOST-ANSWER")
    number = c.begin("job", {"poll": ["lost"]})
    c.told(number, 1)
    c.kill()
    t.ended("LOST-ANSWER")
    again = t.client("job", name=HEARS)
    t.claim("LOST-ANSWER" in news(again), "a client that died in its poll is told when it is back")


@check(39)
def acknowledged(t: Trial) -> None:
    """A poll reply acknowledges each ended job it has, and no other."""
    c = t.client("job", name=HEARS)
    start(c, "a", "echo A-WORDS")
    start(c, "b", "echo B-WORDS")
    t.ended("A-WORDS")
    t.ended("B-WORDS")
    start(c, "c", "sleep 2; echo C-WORDS")
    answer = c.call("job", {"poll": ["a"]})
    shown = answer.text.split("--- bide")
    t.claim("A-WORDS" in shown[0] and "A-WORDS" not in "".join(shown[1:]) + news(c), "the polled one is told once")
    t.ended("C-WORDS")
    t.claim("C-WORDS" in news(c), "one that was not in the answer is told of")
    start(c, "gone", "sleep 60; echo G-WORDS")
    c.call("job", {"cancel": ["gone"]})
    t.ended("G-WORDS")
    t.claim("gone" not in news(c), "one that was cancelled: no more of it")


@check(40)
def list_acknowledges(t: Trial) -> None:
    """`list` acknowledges what it shows in full; what it cuts off is still told of."""
    c = t.client("job", name=HEARS)
    start(c, "a", "echo A-WORDS")
    t.ended("A-WORDS")
    t.claim("A-WORDS" in c.call("job", {"list": True}).text, "the list has it")
    t.claim("A-WORDS" not in news(c), "no news of it then")
    start(c, "long", "head -c 300000 /dev/zero | tr '\\0' y; echo; echo LONG-END")
    t.ended("LONG-END")
    answer = c.call("job", {"list": True})
    whole = "LONG-END" in answer.text.replace("echo LONG-END", "")
    told = "LONG-END" in (answer.all + news(c)).replace("echo LONG-END", "")
    t.claim(whole or told, f"a long one: its end in the list {whole}, told of later {told}")


@check(41, seconds=110)
def retried(t: Trial) -> None:
    """A sink that fails is tried again after 500 ms, doubled each time, at most 30 s, with jitter under 200 ms."""
    hook = Receiver(500)
    t.settings(hook.settings())
    c = t.client("job", name=HEARS)
    start(c, "a", "echo FAILING-SINK")
    t.until(lambda: len(hook.got) >= 8, "eight attempts", 90)
    gaps = [b[0] - a[0] for a, b in itertools.pairwise(hook.got)]
    for gap, wanted in zip(gaps, (0.5, 1, 2, 4, 8, 16, 30), strict=False):
        t.claim(wanted - 0.02 <= gap <= wanted + 0.2 + 0.5, f"{wanted:g} s: {gap:.2f}")
    hook.status = 200
    deliveries = {one["delivery"] for _, one in hook.got}
    t.equal(len(deliveries), 1, "names of the delivery:")


@check(42)
def never_again(t: Trial) -> None:
    """An accepted delivery is never sent again, also after a crash of the daemon."""
    hook = Receiver(200)
    t.settings(hook.settings())
    c = t.client("job", name=HEARS)
    start(c, "a", "echo ONCE")
    t.until(lambda: hook.got, "the delivery")
    t.rest(2)
    os.kill(t.daemon(), 9)
    t.bide("ls")
    said = c.call("bash", {"command": "echo TWICE", "async": True}).all
    t.until(lambda: [one for _, one in hook.got if "TWICE" in json.dumps(one)], "the next delivery", 30)
    t.rest(2)
    t.equal(sum("ONCE" in json.dumps(one) for _, one in hook.got), 1, "the first was sent")
    t.equal(sum("TWICE" in json.dumps(one) for _, one in hook.got), 1, "the second was sent")
    said += news(c)
    t.equal(said.count("ONCE"), 1, "and to its agent, who is another, ONCE was told times:")
    t.claim("ONCE" not in news(c), "no more later")


@check(43)
def suppressed(t: Trial) -> None:
    """An end that was acknowledged meanwhile is not delivered: not when queued, tried again, or handed over."""
    hook = Receiver(500)
    t.settings(hook.settings())
    c = t.client("job", name=HEARS)
    start(c, "a", "echo QUEUED")
    t.until(lambda: hook.got, "the first attempt")
    c.call("job", {"poll": ["a"]})
    t.rest(1.2)
    before = len(hook.got)
    t.rest(5)
    t.equal(len(hook.got) - before, 0, "attempts after it was polled")
    t.claim("QUEUED" not in news(c), "not handed over either")
    start(c, "b", "sleep 1; echo WATCHED")
    c.call("job", {"poll": ["b"]})
    t.rest(2.5)
    t.equal(sum("WATCHED" in json.dumps(one) for _, one in hook.got), 0, "one that was watched is sent")


@check(44)
def long_results(t: Trial) -> None:
    """A result of 12,000 characters is inline; of a longer one a part, a notice and a link to all of it."""
    c = t.client("job", name=HEARS)
    text = "".join(f"{n:07d}\n" for n in range(1500))
    for name, size in (("fits", 12000), ("long", 12001)):
        path = t.folder / name
        path.write_text((text + "zzzzzzzzzzzz")[: size - 1] + "\n")
        start(c, name, f"cat {path} # {name}")
        t.ended(f"# {name}")
    fits, long = (c.call("job", {"poll": [name]}) for name in ("fits", "long"))
    t.claim((t.folder / "fits").read_text().strip() in fits.text, "12,000 characters: all inline")
    t.claim(text[:3900].strip() in long.text or "0001499" in long.text, "12,001: the first 4,000 are there, or the end")
    t.claim(len(long.text) < 9000, f"and not much more: {len(long.text)} characters")
    links = re.findall(r"job://[^\s)\]`>]+", long.text)
    t.claim(links and "truncated" in long.text.lower(), f"notice and link {links[:1]}")
    t.claim(links and c.read(links[0]) == (t.folder / "long").read_text(), "the link has the whole text")
    one = long.data["jobs"][0]
    t.claim(len(one.get("resultText", "")) < 9000, f"resultText {len(one.get('resultText', ''))} characters")


@check(45)
def one_message(t: Trial) -> None:
    """Several ends come in one message that names each id and label."""
    for name in ("seeds-client", "gemini-cli-mcp-client"):
        c = t.client("job", name=name)
        for n in range(4):
            c.call("bash", {"command": f"sleep 2 # label-{n}", "async": True})
        t.until(lambda: all(one["phase"] == "ended" for one in t.jobs()))
        answers = [c.call("bash", {"command": "echo"}) for _ in range(3)]
        carrying = [one for one in answers if "label-" in one.all or "bg_1" in one.all]
        t.equal(len(carrying), 1, f"{name}: answers with news")
        said = carrying[0].all if carrying else ""
        t.claim(all(f"bg_{n}" in said for n in range(1, 5)), f"{name}: every id")
        t.claim(all(f"label-{n}" in said for n in range(4)), f"{name}: every label: {brief(said, 200)}")


@check(46)
def busy_and_idle(t: Trial) -> None:
    """A busy agent is told between its requests; an idle one is woken."""
    c = t.client("job", name="claude-code")
    start(c, "a", "echo BUSY-NEWS")
    t.ended("BUSY-NEWS")
    t.claim("BUSY-NEWS" in news(c, 1), "busy: with its next answer")
    start(c, "b", "echo IDLE-NEWS")
    t.ended("IDLE-NEWS")
    hook = {"session_id": "s", "cwd": str(t.folder), "hook_event_name": "Stop", "stop_hook_active": False}
    done = t.bide("hook", "stop", "--client", "claude", stdin=json.dumps(hook))
    t.claim(
        "IDLE-NEWS" in done.out and '"block"' in done.out, f"idle: the hook goes on with it: {brief(done.out, 120)}"
    )
    again = t.bide("hook", "stop", "--client", "claude", stdin=json.dumps(hook))
    t.claim("IDLE-NEWS" not in again.out, "and says it once")
    wake = t.client("job", "--channel", name="claude-code", capabilities={"experimental": {"claude/channel": {}}})
    start(wake, "c", "sleep 1; echo CHANNEL-NEWS")
    try:
        t.until(lambda: [n for n in wake.notifications if "channel" in str(n.get("method"))], "a push", 10)
        t.claim(True, "idle: the channel pushes")
    except TimeoutError as error:
        t.fault(str(error))


@check(47)
def own_sinks(t: Trial) -> None:
    """One agent's end never reaches another; with nobody there it is kept and warned of."""
    a, b = t.client("job", "--owner", "agent-a", name=HEARS), t.client("job", "--owner", "agent-b", name=HEARS)
    start(a, "mine", "sleep 0.5; echo OF-A")
    t.ended("OF-A")
    t.claim("OF-A" not in news(b, 3), "the other one is never told")
    a.close()
    due = t.bide("inbox", "--owner", "agent-a")
    t.claim("OF-A" in due.out or "mine" in due.out, f"with its client gone it is due: {brief(due.out, 80)}")
    back = t.client("job", "--owner", "agent-a", name=HEARS)
    said = news(back)
    t.claim("OF-A" in said, "it is told when it is back")
    start(back, "later", "sleep 1; echo AWAY")
    back.close()
    t.ended("AWAY")
    row = [one for one in t.jobs() if one["name"] == "later"]
    t.claim(row and row[0]["phase"] == "ended", "and an end while it is away stays readable")
    all_of = t.bide("inbox", "--all").out
    t.claim("agent-a" in all_of and "due" in all_of, f"bide inbox --all says so: {brief(all_of, 100)}")


@check(48)
def delivery_state(t: Trial) -> None:
    """How deliveries stand can be asked: queued, delivering, next retry, jobs."""
    hook = Receiver(500)
    t.settings(hook.settings())
    c = t.client("job", name=HEARS)
    start(c, "a", "sleep 1.5; echo STATE")
    t.until(lambda: len(hook.got) >= 3, "three attempts")
    rows = {one["consumer"]: one for one in t.http("GET", "/v1/outbox")[1]["consumers"]}
    sink = next((one for name, one in rows.items() if "hook" in name), {})
    job = next(one["id"] for one in t.jobs() if one["name"] == "a")
    t.claim(sink and sink["due"] + sink["carried"] == 1, f"the sink has one: {brief(sink, 150)}")
    t.claim(sink.get("next_retry_at") or sink.get("delivering"), "and says when it tries again")
    t.claim(job in sink.get("jobs", []), "and which job")
    mine = next((one for name, one in rows.items() if not name.startswith("sink")), {})
    t.claim(mine.get("due", 0) + mine.get("carried", 0) == 1, f"the agent has one due: {brief(mine, 100)}")
    t.claim("retry" in (out := t.bide("inbox", "--all").out).lower() or "again" in out, f"in words: {brief(out, 150)}")
