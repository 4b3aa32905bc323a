"""What holds over all five documents (256-269)."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from seeds.gateway import calls, job_of, llm, result
from seeds.gateway import over as llm_over
from seeds.mcp import RpcError
from seeds.registry import Skip, check
from seeds.trial import BIDE, Client, Json, Trial, brief

TOOLSETS = ("core", "job", "sessions", "process", "handles", "llm")
POLITE = "trap 'exit 0' TERM INT; echo up; while :; do sleep 0.05; done"
SLEEPER = "trap '' TERM; (sh -c 'trap \"\" TERM; sleep {0}; sleep {0}' &); setsid sleep {0} & nohup sleep {0} >/dev/null 2>&1 & echo up; sleep {0}; while :; do sleep {0}; done"


def every(t: Trial, *args: str, **more: object) -> Client:
    """Connect with all toolsets, with fake command lines for llm."""
    llm(t).close()
    return t.client("core,job,sessions,process,handles,llm", *args, **more)  # type: ignore[arg-type]


def session(c: Client) -> str:
    """Start a session."""
    c.call("startSession", {"id": "x"})
    return "x"


def up(t: Trial, word: str) -> Json:
    """Wait until a job whose command has this word has written something; return it as the server shows it."""

    def look() -> Json | None:
        found = [one for one in t.jobs() if word in json.dumps([one["command"], one["argv"]])]
        return found[0] if found and found[0]["output"]["out"]["size"] else None

    return t.until(look, f"the output of {word}")


def ends(t: Trial, id_: str) -> Json:
    """Wait for the end of a job."""
    return t.until(
        lambda: next((one for one in t.jobs() if one["id"] == id_ and one["phase"] == "ended"), None),
        f"the end of {id_}",
        25,
    )


def killers(c: Client) -> dict[str, tuple[Callable[[str], object], Callable[[Json], object]]]:
    """Return for each toolset how a command is started and ended."""
    session(c)
    return {
        "core": (
            lambda command: c.call("run", {"command": command, "background": True}),
            lambda job: c.call("kill", {"job": job["id"]}),
        ),
        "job": (
            lambda command: c.call("bash", {"command": command, "async": True, "id": "by-job"}),
            lambda _: c.call("job", {"cancel": ["by-job"]}),
        ),
        "sessions": (
            lambda command: c.call(
                "exec", {"sessionId": "x", "code": command, "language": "shell", "background": True}
            ),
            lambda job: c.call("killJob", {"sessionId": "x", "jobId": job["id"]}),
        ),
        "process": (
            lambda command: c.call("process__run", {"command": command, "background": True}),
            lambda job: c.call("process__kill", {"process_id": job["id"], "force_after": 2}),
        ),
        "handles": (
            lambda command: c.call("shell", {"action": "spawn", "id": "by-handle", "command": command}),
            lambda _: c.call("shell", {"action": "abort", "id": "by-handle"}),
        ),
    }


@check(256, seconds=90)
def never_success(t: Trial) -> None:
    """What was killed, timed out or cancelled never reads as success, though it leaves with 0."""
    c = every(t)
    seen: dict[str, Json] = {}
    for name, (start, stop) in killers(c).items():
        start(f"{POLITE} # {name}")
        job = up(t, f"# {name}")
        stop(job)
        seen[name] = ends(t, job["id"])
        t.claim(
            seen[name]["reason"] == "killed" and seen[name]["status"] != 0,
            f"{name}: {seen[name]['reason']}, {seen[name]['status']}",
        )
    t.claim("exited with 0" not in c.call("await", {"jobs": [seen["core"]["id"]], "timeout": "1s"}).all, "core: await")
    told = c.call("job", {"list": True}).data["jobs"]
    t.equal([one["status"] for one in told if one["id"] == "by-job"], ["cancelled"], "job: list")
    row = next(
        one for one in c.call("listJobs", {"sessionId": "x"}).data["jobs"] if one["id"] == seen["sessions"]["id"]
    )
    t.claim(row["status"] == "failed" and row.get("exitCode") != 0, f"sessions: {row['status']}, {row.get('exitCode')}")
    found = c.call("process__monitor", {"process_id": seen["process"]["id"]}).data
    t.equal([found["state"], found["exit_code"]], ["killed", None], "process:")
    found = c.call("shell", {"action": "fetch", "id": "by-handle"}).data
    t.claim("error" in json.dumps(found), f"handles: {brief(found, 150)}")
    job = job_of(c.call("claude_request_async", {"prompt": "x [[late=bye sleep=60 partial=up]]"}).data)
    up(t, "late=bye")
    c.call("llm_job_cancel", {"jobId": job})
    last = llm_over(t, c, job)
    t.claim(last["status"] == "canceled" and last["exitCode"] != 0, f"llm: {last['status']}, {last['exitCode']}")
    timed: dict[str, Json] = {
        "run": {"command": POLITE, "timeout": "1s"},
        "bash": {"command": POLITE, "timeout": 1},
        "exec": {"sessionId": "x", "code": POLITE, "language": "shell", "timeout": 1000},
        "process__run": {"command": POLITE, "timeout": 1},
        "shell": {"command": POLITE, "timeout": 1},
    }
    for tool, words in timed.items():
        answer = c.call(tool, words)
        text = answer.all + json.dumps(answer.data)
        good = re.search(r"timed.?out|timeout|time limit", text, re.IGNORECASE) and '"success": true' not in text
        t.claim(good and "exited with 0" not in text, f"{tool} past its timeout: {brief(text, 110)}")
    t.equal(
        [one for one in t.jobs() if one["reason"] == "timed_out" and one["status"] == 0], [], "timed out with status 0"
    )
    t.claim(t.bide("wait", seen["core"]["id"]).code != 0, "bide wait: exit")


@check(257, seconds=120)
def whole_tree(t: Trial) -> None:
    """Kill, cancel and timeout reach the whole tree, with what ignores SIGTERM, has a session of its own or was let go."""
    c = every(t)
    for at, (name, (start, stop)) in enumerate(killers(c).items()):
        mark = f"{at + 1}81.4{os.getpid()}"
        start(f"{SLEEPER.format(mark)} # {name}")
        job = up(t, f"# {name}")
        t.until(lambda mark=mark: len(t.alive(f"sleep {mark}")) >= 4)
        stop(job)
        t.until(lambda mark=mark: not t.alive(f"sleep {mark}"), f"the end of the tree of {name}", 25)
        t.claim(True, f"{name}: the whole tree is dead")
    mark = f"991.4{os.getpid()}"
    c.call("process__run", {"command": SLEEPER.format(mark), "timeout": 1})
    t.until(lambda: not t.alive(f"sleep {mark}"), "the end of a tree past its timeout", 15)
    c.call("run", {"command": SLEEPER.format(mark), "timeout": "1s"})
    t.until(lambda: not t.alive(f"sleep {mark}"), "the end of a tree past its timeout (run)", 15)
    t.claim(True, "past a timeout too")


@check(258)
def held_pipe(t: Trial) -> None:
    """A job whose child holds the pipe completes; late bytes are collected for a short time."""
    c = every(t)
    session(c)
    holder = "(sleep 0.1; echo late; sleep 200.5) & echo now; exit 0"
    tries: dict[str, Json] = {
        "run": {"command": holder},
        "bash": {"command": holder},
        "exec": {"sessionId": "x", "code": holder, "language": "shell"},
        "process__run": {"command": holder},
        "shell": {"command": holder},
    }
    for tool, words in tries.items():
        answer = c.call(tool, words)
        t.claim(
            answer.seconds < 12 and "now" in answer.all and not answer.error,
            f"{tool}: answered after {answer.seconds:.1f} s",
        )
    for one in t.jobs():
        t.equal([one["phase"], one["reason"], one["exit_code"]], ["ended", "exited", 0], f"{one['id']}:")
        text = t.bide("logs", one["id"]).out
        t.claim("now" in text, f"{one['id']}: {text!r}")
    job = job_of(c.call("claude_request_async", {"prompt": "held [[child=200.5 say=fine]]"}).data)
    began = time.monotonic()
    last = llm_over(t, c, job)
    t.claim(
        last["status"] == "completed" and time.monotonic() - began < 15,
        f"llm: {last['status']} after {time.monotonic() - began:.1f} s",
    )


@check(259)
def found_again(t: Trial) -> None:
    """A client that gave up finds the job again by list, by correlation id, by asking again."""
    c = every(t)
    session(c)
    begun = [
        c.begin("run", {"command": "sleep 4; echo by-run"}),
        c.begin("bash", {"command": "sleep 4; echo by-bash"}),
        c.begin("exec", {"sessionId": "x", "code": "sleep 4; echo by-exec", "language": "shell"}),
        c.begin("process__run", {"command": "sleep 4; echo by-process"}),
        c.begin("claude_request", {"prompt": "gave up [[sleep=4 say=by-llm]]", "correlationId": "lost-one"}),
    ]
    words = ("by-run", "by-bash", "by-exec", "by-process", "by-llm")
    t.until(lambda: all(word in str(t.jobs()) for word in words), "five jobs")
    for number in begun[:2]:
        c.cancel(number)
    c.kill()
    d = every(t)
    mine = d.call("jobs").all
    t.claim("by-run" in mine, f"jobs lists the run, with its command: {brief(mine, 200)}")
    commands = [one["command"] for one in d.call("process__list").data["processes"]]
    t.claim("sleep 4; echo by-process" in commands, "process__list the process")
    listed = d.call("listJobs", {"sessionId": "x"}).data["jobs"]
    t.claim("by-exec" in json.dumps(listed), "listJobs the exec")
    t.claim("by-bash" in mine, "and the bash command")
    same = d.call("claude_request", {"prompt": "gave up [[sleep=4 say=by-llm]]"})
    t.claim("by-llm" in same.all and len(calls(t, "gave up")) == 1, "asked again, the request is joined")
    found = d.call("llm_request_result", {"correlationId": "lost-one"})
    t.claim("by-llm" in found.all, f"by correlation id as well: {brief(found.text[-300:], 300)}")
    run = next(one["id"] for one in t.jobs() if one["command"].endswith("by-run"))
    t.claim(
        "exited with 0" in (said := d.call("await", {"jobs": [run]}).all), f"await gives its end: {brief(said, 150)}"
    )
    ended = [ends(t, one["id"]) for one in t.jobs()]
    t.claim(all(one["exit_code"] == 0 for one in ended), "all five went on to a good end")


@check(260)
def unknown(t: Trial) -> None:
    """An id that is not there: never was, or was forgotten, and where the rest is."""
    c = every(t)
    session(c)
    made = {
        "process": c.call("process__run", {"command": "echo a"}).data["process_id"],
        "sessions": c.call("exec", {"sessionId": "x", "code": "echo b", "language": "shell"}).data["jobId"],
        "llm": job_of(c.call("claude_request_async", {"prompt": "z"}).data),
    }
    c.call("run", {"command": "echo c # core"})
    made["core"] = next(one["id"] for one in t.jobs() if "# core" in one["command"])
    c.call("bash", {"command": "echo d", "async": True, "id": "by-job"})
    made["job"] = "by-job"
    c.call("shell", {"action": "spawn", "id": "h", "command": "echo e"})
    made["handles"] = "h"
    llm_over(t, c, made["llm"])
    t.until(lambda: all(one["phase"] == "ended" for one in t.jobs()), "all ends")
    for one in t.jobs():
        t.equal(t.bide("forget", one["id"]).code, 0, f"{one['id']} forgotten: exit")
    asks: dict[str, Callable[[str], object]] = {
        "core": lambda id_: c.call("logs", {"job": id_}),
        "process": lambda id_: c.call("process__monitor", {"process_id": id_}),
        "sessions": lambda id_: c.call("getJobOutput", {"sessionId": "x", "jobId": id_}),
        "llm": lambda id_: c.call("llm_job_result", {"jobId": id_}),
        "handles": lambda id_: c.call("shell", {"action": "fetch", "id": id_}),
    }
    for name, ask in asks.items():
        gone, never = ask(made[name]).all, ask("never-was").all  # type: ignore[attr-defined]
        t.claim(
            re.search(r"forgotten|cleaned up|no longer|removed", gone),
            f"{name}: of a forgotten one: {brief(gone, 150)}",
        )
        t.claim(
            gone != never and not re.search(r"was forgotten|was cleaned up", never),
            f"{name}: of one that never was: {brief(never, 110)}",
        )
    poll = c.call("job", {"cancel": ["by-job"]}).all
    t.claim("by-job" in poll, f"job: {brief(poll, 90)}")


@check(261, seconds=100)
def bounded(t: Trial) -> None:
    """No call blocks past 60 s, whatever it waits for; the job is on record and goes on."""
    c = every(t)
    session(c)
    held: dict[str, int] = {
        "process__run": c.begin("process__run", {"command": "sleep 80; echo p", "timeout": 300}),
        "exec": c.begin("exec", {"sessionId": "x", "code": "sleep 80; echo x", "language": "shell"}),
        "run": c.begin("run", {"command": "sleep 80; echo r", "wait": 600}),
        "bash": c.begin("bash", {"command": "sleep 80; echo b"}),
        "shell": c.begin("shell", {"command": "sleep 80; echo s"}),
    }
    c.call("shell", {"action": "spawn", "id": "long", "command": "sleep 80"})
    held["await"] = c.begin("await", {"all": ["long"]})
    back = c.call("exec", {"sessionId": "x", "code": "sleep 80", "language": "shell", "background": True}).data["jobId"]
    held["waitJob"] = c.begin("waitJob", {"sessionId": "x", "jobId": back})
    held["claude_request"] = c.begin("claude_request", {"prompt": "long [[sleep=80]]"})
    quick = t.client("core,process,sessions,handles,job", "--patience", "2")
    for tool, words in (
        ("run", {"command": "sleep 30 # q"}),
        ("process__run", {"command": "sleep 30 # q"}),
        ("await", {"all": ["long"]}),
        ("bash", {"command": "sleep 30 # q"}),
    ):
        answer = quick.call(tool, words)
        t.claim(answer.seconds < 6 and not answer.error, f"--patience 2: {tool} after {answer.seconds:.1f} s")
        t.claim(
            re.search(r"running|goes on|pending", answer.all, re.IGNORECASE),
            f"--patience 2: {tool}: {brief(answer.text, 70)}",
        )
    ids = {one["command"]: one["id"] for one in t.jobs()}
    for tool, number in held.items():
        answer = c.answer(number, 70)
        t.claim(35 < answer.seconds < 58, f"{tool}: answered after {answer.seconds:.1f} s")
        text = answer.all + json.dumps(answer.data)
        t.claim(
            re.search(r"running|goes on|pending|deferred|timed out", text, re.IGNORECASE),
            f"{tool}: {brief(answer.text, 90)}",
        )
        t.claim(c.progress_of(number), f"{tool}: progress meanwhile")
        if tool in ("process__run", "run"):
            t.claim(ids["sleep 80; echo " + tool[0]] in text, f"{tool}: the id of the job is in the answer")
    t.claim(all(one["phase"] == "running" for one in t.jobs() if "sleep 80" in one["command"]), "the jobs go on")


@check(262, seconds=120)
def nasty(t: Trial) -> None:
    """Invalid UTF-8, NUL, CR, 100 MB, no newline: no crash, bounded answers, bounded memory."""
    c = every(t)
    session(c)
    daemon = t.daemon()
    commands = {
        "NUL": "head -c 100000000 /dev/zero",
        "no newline": "head -c 100000000 /dev/zero | tr '\\0' x",
        "invalid": "head -c 3000000 /dev/urandom",
        "progress": "for i in $(seq 3000); do printf '\\r%d%% done' $i; done; echo; echo LAST-LINE",
    }

    def resident() -> int:
        text = Path(f"/proc/{daemon}/status").read_text()
        return int(text.split("VmHWM:")[1].split()[0]) // 1024

    tools: dict[str, Callable[[str], tuple[str, Json]]] = {
        "run": lambda command: ("run", {"command": command}),
        "bash": lambda command: ("bash", {"command": command}),
        "exec": lambda command: ("exec", {"sessionId": "x", "code": command, "language": "shell"}),
        "process": lambda command: ("process__run", {"command": command, "memory_limit": 512 << 20}),
        "shell": lambda command: ("shell", {"command": command}),
    }
    t.claim(resident() < 400, f"memory at first: {resident()} MiB")
    for tool, words in tools.items():
        for name, command in commands.items():
            if tool in ("bash", "exec") and name == "no newline":
                continue
            answer = c.call(*words(command), seconds=60)
            size = len(json.dumps(answer.raw))
            t.claim(
                size < (7_000_000 if tool == "exec" else 2_400_000) and not answer.error,
                f"{tool} {name}: {size} bytes after {answer.seconds:.1f} s",
            )
            if name == "progress":
                t.claim(
                    "LAST-LINE" in answer.all and (size < 30_000 or tool in ("process", "exec")),
                    f"{tool} {name}: the last line, in {size} bytes",
                )
    t.claim(t.daemon() == daemon, "the server is the same")
    t.claim(resident() < 600, f"its memory at most: {resident()} MiB")
    wide = next(one for one in t.jobs() if one["output"]["out"]["size"] == 100_000_000)
    part = c.call("process__logs", {"process_id": wide["id"], "stream": "stdout", "offset": 99_999_990}).data
    t.claim(part["stdout_size"] == 100_000_000 and len(part["stdout"]) == 10, "its last ten bytes can be read")


@check(263, seconds=90)
def host(t: Trial) -> None:
    """A shutdown leaves no orphan and no half-written file; kill -9 and a restart give correct states."""
    c = every(t)
    session(c)
    mark = f"402.5{os.getpid()}"
    for at in range(4):
        c.call("run", {"command": f"sleep {mark} & sleep {mark} # {at}", "background": True})
    for at in range(8):
        c.begin("exec", {"sessionId": "x", "code": f"export V{at}={'y' * 20000}", "language": "shell"})
    c.call("claude_request_async", {"prompt": "run [[sleep=300]]"})
    os.kill(t.daemon(), signal.SIGKILL)
    d = every(t)
    found = {one["id"]: one for one in t.jobs()}
    t.claim(
        all(one["phase"] == "running" for one in found.values() if f"sleep {mark}" in one["command"]),
        "after kill -9 what runs is running",
    )
    for path in t.home.rglob("*.json"):
        text = path.read_text()
        try:
            json.loads(text) if text.strip() else None
        except ValueError:
            t.claim(False, f"{path.name} is half-written")
    t.equal(d.call("listSessions").data["sessions"][0]["id"], "x", "the session is there")
    answer = d.call("exec", {"sessionId": "x", "code": "echo still", "language": "shell"})
    t.claim("still" in answer.all, "and works")
    t.equal(t.bide("daemon", "stop", "--kill", seconds=40).code, 0, "stop --kill: exit")
    t.until(lambda: not t.alive(f"sleep {mark}") and not t.alive("sleep=300"), "the end of everything", 15)
    t.claim(True, "no process is left")
    t.bide("ls")
    t.claim(
        all(one["phase"] == "ended" and one["status"] != 0 for one in t.jobs() if f"sleep {mark}" in one["command"]),
        "all are ended, none well",
    )


@check(264, seconds=100)
def quiet(t: Trial) -> None:
    """Waits are driven by events: with 100 running jobs and six waits the processor rests."""
    c = every(t)
    for _ in range(100):
        c.call("run", {"command": "sleep 75", "background": True})
    ids = [one["id"] for one in t.jobs()]
    t.equal(len([one for one in t.jobs() if one["phase"] == "running"]), 100, "running")
    for id_ in ids[:6]:
        c.begin("await", {"jobs": [id_]}, progress=False)
    t.rest(3)
    watched = [t.daemon(), *t.alive("bide-keeper")]
    mine = [pid for pid in watched if str(t.root).encode() in _environ(pid)]

    def ticks() -> int:
        total = 0
        for pid in mine:
            try:
                words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            total += int(words[11]) + int(words[12])
        return total

    before = ticks()
    t.rest(10)
    used = (ticks() - before) / os.sysconf("SC_CLK_TCK")
    t.claim(len(mine) > 1, f"{len(mine)} processes of the server are looked at")
    t.claim(used < 0.5, f"{used:.2f} s of processor in 10 s")


def _environ(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


WORDS = (
    "await (?!cmd)",
    "jobs lists",
    "waitJob",
    "getJobOutput",
    "listJobs",
    "killJob",
    "process__",
    "llm_job",
    "session_get",
)


@check(265)
def own_names(t: Trial) -> None:
    """Each toolset's texts name only its own tools, and say that results come by themselves."""
    for one in TOOLSETS:
        c = llm(t) if one == "llm" else t.client(one)
        tools = c.tools()
        names = set(tools)
        said = str(c.opening.get("instructions") or "")
        t.claim(said, f"{one}: has instructions")
        texts = {"instructions": said} | {name: str(tool.get("description")) for name, tool in tools.items()}
        for where, text in texts.items():
            wrong = [
                word
                for word in WORDS
                if re.search(rf"\b{word}", text) and not any(name.startswith(word.split()[0]) for name in names)
            ]
            if wrong:
                t.claim(False, f"{one}: {where} speaks of {wrong}: {brief(text, 200)}")
        t.claim("jobs lists" not in said or "jobs" in names, f"{one}: instructions name what is there")
    t.close()
    for one, tool, words, own in (
        ("core", "run", {"command": "sleep 30", "background": True}, ("await", "logs")),
        ("job", "bash", {"command": "sleep 30", "async": True}, ("job",)),
        ("process", "process__run", {"command": "sleep 30", "background": True}, ("process__monitor",)),
        ("handles", "shell", {"action": "spawn", "id": "s", "command": "sleep 30"}, ("await",)),
    ):
        c = t.client(one)
        names = set(c.tools())
        answer = c.call(tool, words)
        foreign = [
            word
            for word in ("await", "getJobOutput", "process__monitor", "llm_job_status", "logs(", "kill(")
            if word in answer.all and word.strip("(") not in names
        ]
        t.equal(foreign, [], f"{one}: a start names tools of others")
        opening = (
            str(c.opening.get("instructions") or "")
            + answer.all
            + " ".join(str(tool.get("description")) for tool in c.tools().values())
        )
        t.claim(
            re.search(
                r"by itself|by themselves|automatically|never poll|no need to poll|do not poll|without polling|told (of|when)|is delivered|news",
                opening,
                re.IGNORECASE,
            ),
            f"{one}: says that results come by themselves",
        )
        t.claim(own, f"{one}: {brief(answer.text, 90)}")


@check(266)
def reused_pid(t: Trial) -> None:
    """A stored pid is checked with its start time before any signal."""
    c = t.client("process")
    last = Path("/proc/sys/kernel/ns_last_pid")
    if not os.access(last, os.W_OK):
        raise Skip("needs the right to write /proc/sys/kernel/ns_last_pid, to have a pid given again")
    id_ = c.call("process__run", {"command": "exec sleep 403.5", "background": True}).data["process_id"]
    pid = t.until(lambda: next(one for one in t.jobs() if one["id"] == id_)["pid"], "its pid")
    t.until(lambda: pid in t.alive("sleep 403.5"), "its process")
    parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(t.daemon(), signal.SIGKILL)
    for one in (parent, pid):
        os.kill(one, signal.SIGKILL)
    t.until(lambda: not Path(f"/proc/{pid}").exists(), "the end of the pid")
    stranger = None
    for _ in range(200):
        last.write_text(str(pid - 1))
        made = subprocess.Popen(["sleep", "404.5"])
        if made.pid == pid:
            stranger = made
            break
        made.kill()
        made.wait()
    if stranger is None:
        raise Skip("the pid was not given again in 200 tries")
    try:
        d = t.client("process")
        state = d.call("process__monitor", {"process_id": id_}).data
        t.claim(state.get("state") != "running", f"with a stranger under its pid it is {state.get('state')}")
        for more in ({}, {"signal": "SIGKILL"}):
            d.call("process__kill", {"process_id": id_, **more})
        t.bide("kill", id_)
        t.bide("daemon", "stop", "--kill", seconds=40)
        t.rest(0.5)
        t.claim(stranger.poll() is None, "four attempts to kill it leave the stranger alone")
    finally:
        stranger.kill()
        stranger.wait()


CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long off(void) {
    char text[32] = {0};
    int fd = open(PLACE, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    if (read(fd, text, 31) < 0) text[0] = 0;
    close(fd);
    return atol(text);
}
int clock_gettime(clockid_t id, struct timespec *t) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int found = real(id, t);
    if (!found && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) t->tv_sec += off();
    return found;
}
int gettimeofday(struct timeval *t, void *z) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (t) { t->tv_sec = now.tv_sec; t->tv_usec = now.tv_nsec / 1000; }
    return 0;
}
time_t time(time_t *t) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (t) *t = now.tv_sec;
    return now.tv_sec;
}
"""


@check(267, seconds=90)
def clocks(t: Trial) -> None:
    """Times are measured by a clock that only goes on; steps of the wall clock change no limit and no duration."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise Skip("needs a C compiler, to step the clock of these processes alone")
    place, library = t.root / "offset", t.root / "clock.so"
    (t.root / "clock.c").write_text(CLOCK)
    done = t.run(
        [compiler, "-shared", "-fPIC", f'-DPLACE="{place}"', "-o", str(library), str(t.root / "clock.c"), "-ldl"]
    )
    t.equal(done.code, 0, f"the clock compiles {brief(done.err, 90)}: exit")
    t.env["LD_PRELOAD"] = str(library)
    place.write_text("0")
    c = t.client("process")
    for step in (86_400, -172_800):
        place.write_text("0")
        sleeper = c.call("process__run", {"command": "sleep 4", "background": True}).data["process_id"]
        number = c.begin("process__run", {"command": f"sleep 60 # {step}", "timeout": 6})
        t.rest(1.5)
        place.write_text(str(step))
        shown = float(t.run(["date", "+%s"]).out)
        t.claim(abs(shown - time.time() - step) < 5, f"the clock is stepped by {step} s")
        t.rest(0.5)
        now = c.call("process__monitor", {"process_id": sleeper}).data
        t.claim(
            now["state"] == "running" and 1500 < now["duration_ms"] < 9000,
            f"{step}: 2 s on it runs since {now['duration_ms']} ms",
        )
        answer = c.answer(number)
        t.claim(
            answer.data["state"] == "timed_out" and 5.5 < answer.seconds < 14,
            f"{step}: a timeout of 6 s after {answer.seconds:.1f} s",
        )
        t.claim(5900 < answer.data["duration_ms"] < 14000, f"{step}: duration {answer.data['duration_ms']} ms")
        last = c.call("process__monitor", {"process_id": sleeper}).data
        t.claim(
            last["state"] == "completed" and 3900 < last["duration_ms"] < 9000,
            f"{step}: a sleep of 4 s took {last['duration_ms']} ms",
        )
    t.claim(len(c.call("process__list").data["processes"]) == 4, "nothing was forgotten by the steps")


@check(268)
def apart(t: Trial) -> None:
    """Two agents on one server neither read nor cancel each other's jobs."""
    llm(t).close()
    everything = "core,job,sessions,process,handles,llm"
    a, b = t.client(everything, name="agent-a"), t.client(everything, name="agent-b")
    session(a)
    run = a.call("run", {"command": "echo SECRET; sleep 60", "background": True})
    a.call("bash", {"command": "echo SECRET; sleep 60", "async": True, "id": "mine"})
    a.call("exec", {"sessionId": "x", "code": "echo SECRET; sleep 60", "language": "shell", "background": True})
    a.call("shell", {"action": "spawn", "id": "handle", "command": "echo SECRET; sleep 60"})
    asked = job_of(
        a.call("claude_request_async", {"prompt": "q [[partial=SECRET sleep=60]]", "correlationId": "corr"}).data
    )
    t.until(lambda: sum(one["output"]["out"]["size"] > 0 for one in t.jobs()) >= 5, "five with output")
    ids = [one["id"] for one in t.jobs()]
    names = [*ids, "mine", "handle"]
    t.claim(run.texts, "five jobs of one agent")
    attempts: list[tuple[str, Json]] = []
    for one in names:
        attempts += [
            ("logs", {"job": one}),
            ("await", {"jobs": [one], "timeout": "1s"}),
            ("kill", {"job": one}),
            ("send", {"job": one, "text": "x"}),
            ("job", {"cancel": [one]}),
            ("process__monitor", {"process_id": one}),
            ("process__logs", {"process_id": one}),
            ("process__kill", {"process_id": one, "signal": "SIGKILL"}),
            ("shell", {"action": "fetch", "id": one}),
            ("shell", {"action": "abort", "id": one}),
            ("llm_job_result", {"jobId": one}),
            ("llm_job_cancel", {"jobId": one}),
            ("getJobOutput", {"sessionId": "x", "jobId": one}),
            ("killJob", {"sessionId": "x", "jobId": one}),
        ]
    attempts += [
        ("jobs", {}),
        ("job", {"list": True}),
        ("process__list", {}),
        ("listSessions", {}),
        ("session_list", {}),
    ]
    attempts += [
        ("llm_request_result", {"correlationId": "corr"}),
        ("endSession", {"sessionId": "x"}),
        ("exec", {"sessionId": "x", "code": "print(1)"}),
    ]
    attempts += [("llm_process_health", {}), ("approval_list", {})]
    leaks = 0
    for tool, words in attempts:
        answer = b.call(tool, words)
        if "SECRET" in answer.all + json.dumps(answer.data):
            leaks += 1
            t.claim(False, f"{tool} {words} shows it: {brief(answer.text, 90)}")
    t.equal(leaks, 0, f"of {len(attempts)} attempts: leaks")
    for one in ids:
        for uri in (f"job://{one}", f"job://{one}/stdout"):
            try:
                text = b.read(uri)
            except RpcError as error:
                text = error.message
            t.claim("SECRET" not in text, f"{uri} shows nothing")
    t.equal([one["phase"] for one in t.jobs() if one["id"] in ids], ["running"] * len(ids), "all of them")
    t.claim("SECRET" in str(result(a, asked)), "the first agent still reads its own")


@check(269)
def one_store(t: Trial) -> None:
    """What one toolset started, every other sees, in its own words."""
    c = every(t)
    id_ = c.call("process__run", {"command": "echo SHARED; sleep 30", "background": True}).data["process_id"]
    up(t, "SHARED")
    t.claim(id_ in c.call("jobs").all, "core: jobs lists it")
    t.claim("SHARED" in c.call("logs", {"job": id_}).all, "core: logs reads it")
    listed = c.call("job", {"list": True}).data["jobs"]
    row = next((one for one in listed if one["id"] == id_ or "SHARED" in one.get("label", "")), None)
    t.claim(row and row["status"] == "running", f"job: list has it: {brief(row)}")
    found = c.call("await", {"any": [id_], "timeout_secs": 1})
    t.claim(id_ in found.all and not found.error, f"handles: await takes it: {brief(found.text, 100)}")
    fetched = c.call("shell", {"action": "fetch", "id": id_})
    t.claim("SHARED" in fetched.all, f"handles: fetch reads it: {brief(fetched.text, 90)}")
    c.call("job", {"cancel": [row["id"] if row else id_]})
    t.equal(
        t.until(
            lambda: (m := c.call("process__monitor", {"process_id": id_}).data)["state"] != "running" and m["state"],
            "its end",
        ),
        "killed",
        "cancelled by job, process says",
    )
    t.claim(not c.call("await", {"any": [id_], "timeout_secs": 5}).data.get("timed_out"), "and await that it is over")
    asked = job_of(c.call("claude_request_async", {"prompt": "q [[say=ANSWER sleep=1]]"}).data)
    llm_over(t, c, asked)
    t.claim("ANSWER" in c.call("logs", {"job": asked}).all, "a request's output by logs")
    t.equal(c.call("process__monitor", {"process_id": asked}).data.get("state"), "completed", "by process__monitor")
    t.claim(asked in t.bide("ls", "--all").out + t.bide("ls").out or asked in str(t.jobs()), "and at the terminal")
    bash = c.call("bash", {"command": "echo FROM-BASH", "async": True, "id": "named"})
    t.claim(bash.texts, "by bash")
    t.ended("FROM-BASH")
    t.claim("FROM-BASH" in c.call("logs", {"job": "named"}).all, "a name of one toolset works in another")


__all__ = ["BIDE"]
