"""Seed 003: `process.monitor`, `kill`, `list` and `logs` (165-178)."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

from seeds.checks.process_run import USAGE, call, mistake, over, refused, run
from seeds.registry import Skip, check
from seeds.trial import BIDE, Client, Trial, brief

DEAF = "trap '' TERM; echo up; while :; do sleep 0.2; done"


def up(t: Trial, c: Client, command: str, word: str = "up") -> str:
    """Start a process in the background and wait for its word."""
    pid = run(c, command, background=True)["process_id"]
    t.until(lambda: word in call(c, "logs", pid)["stdout"], f"{word!r} of {command}")
    return pid


@check(165)
def monitor(t: Trial) -> None:
    """monitor answers process_id, command, state, exit_code, duration_ms, resource_usage and started_at."""
    c = t.client("process")
    before = datetime.now(UTC).timestamp()
    pid = run(c, "echo a; sleep 1; exit 4", background=True)["process_id"]
    first = call(c, "monitor", pid)
    wanted = {"process_id", "command", "state", "exit_code", "duration_ms", "resource_usage", "started_at"}
    t.claim(wanted <= set(first), f"fields {sorted(first)}")
    t.equal([first["process_id"], first["state"], first["exit_code"]], [pid, "running", None], "while it runs:")
    t.equal(first["command"], "echo a; sleep 1; exit 4", "command")
    began = datetime.fromisoformat(first["started_at"].replace("Z", "+00:00"))
    t.claim(
        began.tzinfo is not None and abs(began.timestamp() - before) < 20,
        f"started_at {first['started_at']} is ISO 8601",
    )
    t.equal(set(first["resource_usage"]), USAGE, "figures")
    t.rest(0.3)
    second = call(c, "monitor", pid)
    t.claim(second["duration_ms"] > first["duration_ms"], f"{first['duration_ms']} ms, then {second['duration_ms']}")
    last = over(t, c, pid)
    t.equal([last["state"], last["exit_code"]], ["completed", 4], "over:")
    t.rest(0.6)
    again = call(c, "monitor", pid)
    t.equal(
        [again["duration_ms"], again["started_at"], again["resource_usage"]],
        [last["duration_ms"], first["started_at"], last["resource_usage"]],
        "frozen after the end:",
    )
    t.claim(900 < last["duration_ms"] < 10000, f"duration {last['duration_ms']} ms")
    words = run(c, "sleep", args=["0", "0"])["process_id"]
    t.claim("sleep" in call(c, "monitor", words)["command"], "with args: the command has the program")
    killed = up(t, c, "echo up; exec sleep 60")
    call(c, "kill", killed)
    seen = over(t, c, killed)
    t.rest(0.4)
    t.equal(call(c, "monitor", killed)["duration_ms"], seen["duration_ms"], "of a killed one frozen too:")


@check(166)
def unknown(t: Trial) -> None:
    """An unknown id is ProcessNotFound with list_processes in monitor, kill and logs."""
    c = t.client("process")
    for odd in ("nothing", "", "../../etc", "j0", "-1", "ü", "a" * 3000):
        for tool in ("monitor", "kill", "logs"):
            answer = c.call(f"process__{tool}", {"process_id": odd})
            found = mistake(answer)
            named = [one.get("action") for one in found.get("recovery", [])]
            t.claim(
                (found.get("type") == "ProcessNotFound" and "list_processes" in named)
                or (odd == "" and found.get("type") == "InvalidInput"),
                f"{tool} {odd[:12]!r}: {found.get('type')} {named}",
            )
            t.claim(len(answer.all) < 5000, f"{tool} {odd[:12]!r}: a short answer")


@check(167, seconds=90)
def kill_inputs(t: Trial) -> None:
    """kill takes signal (SIGTERM) and force_after (10 s; 0: never); only SIGTERM is followed by SIGKILL."""
    c = t.client("process")
    names = c.tools()["process__kill"]["inputSchema"]["properties"]
    t.equal([names["signal"].get("default"), names["force_after"].get("default")], ["SIGTERM", 10], "defaults")
    never = up(t, c, DEAF)
    answer = c.call("process__kill", {"process_id": never, "force_after": 0})
    t.rest(2)
    t.equal(call(c, "monitor", never)["state"], "running", "force_after 0: it still runs;")
    t.equal(answer.data["killed"], False, "killed")
    interrupted = up(t, c, "trap 'echo INT' INT; echo up; while :; do sleep 0.1; done")
    answer = c.call("process__kill", {"process_id": interrupted, "signal": "SIGINT", "force_after": 1})
    t.rest(3)
    t.equal(call(c, "monitor", interrupted)["state"], "running", "SIGINT with force_after 1 is not followed by KILL:")
    t.claim("INT" in call(c, "logs", interrupted)["stdout"], "but it came")
    both = up(t, c, DEAF)
    answer = c.call("process__kill", {"process_id": both, "force_after": 1})
    t.claim(answer.data["killed"] and 0.8 < answer.seconds < 6, f"force_after 1: dead after {answer.seconds:.1f} s")
    plain = up(t, c, DEAF)
    answer = c.call("process__kill", {"process_id": plain})
    t.claim(answer.data["killed"] and 9 < answer.seconds < 16, f"without it: dead after {answer.seconds:.1f} s")
    short = up(t, c, "trap 'echo got HUP' HUP; echo up; while :; do sleep 0.1; done")
    answer = c.call("process__kill", {"process_id": short, "signal": "SIGHUP"})
    t.claim(not answer.error and answer.data["signal_sent"] == "SIGHUP", f"SIGHUP: {brief(answer.data)}")
    t.until(lambda: "got HUP" in call(c, "logs", short)["stdout"])
    for name, wrong in (("signal", "SIGNONSENSE"), ("signal", 0), ("force_after", -1), ("force_after", "soon")):
        answer = c.call("process__kill", {"process_id": short, name: wrong})
        t.claim(name in str(mistake(answer)), f"{name} {wrong!r}: {brief(answer.text, 80)}")
    t.equal(call(c, "monitor", short)["state"], "running", "after the refusals it")
    for one in (never, interrupted, short):
        c.call("process__kill", {"process_id": one, "signal": "SIGKILL"})


@check(168)
def kill_outputs(t: Trial) -> None:
    """kill answers killed, signal_sent, process_id and state; SIGKILL if it came to that."""
    c = t.client("process")
    for command, more, sent in (
        ("echo up; exec sleep 60", {}, "SIGTERM"),
        ("echo up; exec sleep 60", {"signal": "SIGKILL"}, "SIGKILL"),
        (DEAF, {"force_after": 1}, "SIGKILL"),
        ("trap 'exit 0' TERM; echo up; while :; do sleep 0.05; done", {}, "SIGTERM"),
    ):
        pid = up(t, c, command)
        found = call(c, "kill", pid, **more)
        t.equal(
            {k: found.get(k) for k in ("killed", "signal_sent", "process_id", "state")},
            {"killed": True, "signal_sent": sent, "process_id": pid, "state": "killed"},
            f"{command[:12]} {more}:",
        )
        t.equal(call(c, "monitor", pid)["state"], "killed", "monitor says")


@check(169)
def kill_late(t: Trial) -> None:
    """kill of what is over is ProcessAlreadyExited; one that ended before the signal came is killed=false, completed."""
    c = t.client("process")
    for command in ("true", "exit 3"):
        pid = run(c, command)["process_id"]
        refused(t, c.call("process__kill", {"process_id": pid}), "ProcessAlreadyExited", "check_status")
    gone = up(t, c, "echo up; exec sleep 60")
    call(c, "kill", gone)
    refused(t, c.call("process__kill", {"process_id": gone}), "ProcessAlreadyExited", "check_status")
    seen: set[str] = set()
    for turn in range(40):
        pid = run(c, f"sleep 0.0{turn % 10}", background=True)["process_id"]
        answer = c.call("process__kill", {"process_id": pid})
        kind = mistake(answer).get("type")
        state = call(c, "monitor", pid)
        if kind:
            seen.add(kind)
            t.claim(kind == "ProcessAlreadyExited" and state["state"] == "completed", f"{kind}, {state['state']}") if (
                kind != "ProcessAlreadyExited"
            ) else None
        else:
            agree = (answer.data["killed"], answer.data["state"]) in ((True, "killed"), (False, "completed"))
            seen.add(f"killed={answer.data['killed']}")
            if not agree or answer.data["state"] != state["state"]:
                t.claim(False, f"killed={answer.data['killed']} state={answer.data['state']}, then {state['state']}")
    t.claim(seen, f"40 races, each answer agrees with the state: {sorted(seen)}")


@check(170, seconds=90)
def kill_failed(t: Trial) -> None:
    """KillFailed with force_kill when the OS refuses the signal."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("needs root, to have a server without the right to signal others' processes")
    mark = f"47.31{os.getpid()}"
    c = Client(
        ["setpriv", "--bounding-set", "-kill", "--inh-caps", "-kill", BIDE, "mcp", "--tools", "process"],
        t.env,
        str(t.folder),
    )
    t.clients.append(c)
    other = f"exec setpriv --reuid 65534 --clear-groups sleep {mark}"
    try:
        pid = run(c, other, background=True)["process_id"]
        real = t.until(
            lambda: [one for one in t.alive(f"sleep {mark}") if Path(f"/proc/{one}").stat().st_uid == 65534],
            "a process of another user",
        )
        answer = c.call("process__kill", {"process_id": pid, "force_after": 0})
        t.claim(t.alive(f"sleep {mark}"), f"process {real[0]} of another user outlives SIGTERM")
        refused(t, answer, "KillFailed", "force_kill")
        t.equal(call(c, "monitor", pid)["state"], "running", "it")
        answer = c.call("process__kill", {"process_id": pid, "signal": "SIGKILL"})
        if t.alive(f"sleep {mark}"):
            refused(t, answer, "KillFailed", "force_kill")
            t.claim(not answer.data.get("killed"), f"SIGKILL: {brief(answer.data)}")
        else:
            t.claim(answer.data.get("killed"), "SIGKILL reaches it by its control group, and says so")
    finally:
        for one in t.alive(f"sleep {mark}"):
            os.kill(one, 9)


@check(171)
def kill_tree(t: Trial) -> None:
    """kill reaches grandchildren; one that traps SIGTERM dies at force_after."""
    c = t.client("process")
    mark = "93.4177"
    command = (
        f"trap '' TERM; (sh -c 'trap \"\" TERM; sleep {mark}; sleep {mark}' &) ; setsid sh -c 'trap \"\" TERM; sleep {mark}; sleep {mark}' & "
        f"echo up; sleep {mark}; while :; do sleep {mark}; done"
    )
    pid = up(t, c, command)
    t.until(lambda: len(t.alive(f"sleep {mark}")) >= 3)
    answer = c.call("process__kill", {"process_id": pid, "force_after": 1})
    t.equal([answer.data["killed"], answer.data["signal_sent"]], [True, "SIGKILL"], "answer")
    t.claim(not t.alive(f"sleep {mark}"), "when it answers, grandchildren, one with a session of its own too, are dead")
    pid = up(
        t,
        c,
        f'python3 -c \'import subprocess; subprocess.Popen(["sleep","{mark}"]); print("up",flush=True); subprocess.run(["sleep","{mark}"])\'',
    )
    t.claim(call(c, "kill", pid)["killed"], "killed")
    t.until(lambda: not t.alive(f"sleep {mark}"), "the end of its children", 8)
    left = run(c, f"sleep {mark} >/dev/null 2>&1 & echo left", background=True)["process_id"]
    t.rest(1)
    if t.alive(f"sleep {mark}"):
        answer = c.call("process__kill", {"process_id": left})
        t.until(lambda: not t.alive(f"sleep {mark}"), "the end of what an ended process left", 14)
        t.claim(True, f"what an ended process left is ended: {brief(answer.data, 90)}")
    else:
        t.claim(True, "an ended process leaves nothing")


@check(172)
def listing(t: Trial) -> None:
    """list takes state_filter and limit, newest first; total counts all that match."""
    c = t.client("process")
    made = [run(c, f"exit {n % 2}  # {n}")["process_id"] for n in range(6)]
    late = run(c, "sleep 60", timeout=1)["process_id"]
    killed = up(t, c, "echo up; exec sleep 60")
    call(c, "kill", killed)
    running = up(t, c, "echo up; exec sleep 60")
    found = c.call("process__list").data
    newest = [running, killed, late, *reversed(made)]
    t.equal([one["process_id"] for one in found["processes"]], newest, "newest first")
    t.equal(found["total"], 9, "total")
    wanted = {"process_id", "command", "state", "exit_code", "started_at", "duration_ms", "resource_usage"}
    t.claim(all(wanted <= set(one) for one in found["processes"]), f"fields {sorted(found['processes'][0])}")
    t.claim(all(set(one["resource_usage"]) == USAGE for one in found["processes"]), "figures of each")
    for state, which in (
        ("running", [running]),
        ("killed", [killed]),
        ("timed_out", [late]),
        ("completed", list(reversed(made))),
        ("all", newest),
    ):
        seen = c.call("process__list", {"state_filter": state}).data
        t.equal(([one["process_id"] for one in seen["processes"]], seen["total"]), (which, len(which)), f"{state}:")
    seen = c.call("process__list", {"state_filter": "completed", "limit": 2}).data
    t.equal(([one["process_id"] for one in seen["processes"]], seen["total"]), ([made[5], made[4]], 6), "limit 2:")
    schema = c.tools()["process__list"]["inputSchema"]["properties"]
    t.equal([schema["state_filter"].get("default"), schema["limit"].get("default")], ["all", 50], "defaults")
    for wrong in (-1, "few"):
        t.claim("limit" in str(mistake(c.call("process__list", {"limit": wrong}))), f"limit {wrong!r}: refused by name")
    for n in range(3):
        run(c, "true", args=["B" * 70_000 + str(n)])
    answer = c.call("process__list", {"limit": 3})
    t.claim(len(answer.all) < 12_000, f"three with 70 KB of arguments each: {len(answer.all)} characters")


@check(173)
def bad_filter(t: Trial) -> None:
    """A wrong state_filter is InvalidFilter with use_valid_filter."""
    c = t.client("process")
    run(c, "true")
    for wrong in ("done", "", "Running", "ALL", "failed", "*", "completed,killed"):
        answer = c.call("process__list", {"state_filter": wrong})
        found = mistake(answer)
        named = {one.get("action"): one.get("description", "") for one in found.get("recovery", [])}
        t.claim(
            found.get("type") == "InvalidFilter"
            and all(
                one in named.get("use_valid_filter", "")
                for one in ("running", "completed", "killed", "timed_out", "all")
            ),
            f"{wrong!r}: {found.get('type')} {brief(named)}",
        )


@check(174)
def own(t: Trial) -> None:
    """Only the agent's own processes are seen and touched."""
    (t.root / "elsewhere").mkdir()
    a = t.client("process", name="agent-a")
    b = t.client("process", name="agent-b")
    far = t.client("process", name="agent-a", cwd=t.root / "elsewhere")
    other = t.client("process", "--owner", "third")
    pid = up(t, a, "echo up secret; exec sleep 60")
    done = run(a, "echo secret")["process_id"]
    t.bide("run", "--bg", "--", "sleep", "60")
    t.equal(a.call("process__list").data["total"], 2, "its own, not the person's:")
    for who, name in ((b, "another name"), (far, "another folder"), (other, "another owner")):
        found = who.call("process__list").data
        t.equal([found["processes"], found["total"]], [[], 0], f"{name}: list")
        for tool in ("monitor", "logs", "kill"):
            for one in (pid, done):
                answer = who.call(f"process__{tool}", {"process_id": one})
                t.claim(
                    mistake(answer).get("type") == "ProcessNotFound" and "secret" not in answer.all,
                    f"{name}: {tool}: {mistake(answer).get('type')}",
                )
    t.equal(call(a, "monitor", pid)["state"], "running", "its process")
    again = t.client("process", name="agent-a")
    t.equal(again.call("process__list").data["total"], 2, "after it connects again:")


@check(175)
def logs(t: Trial) -> None:
    """logs takes stream, offset and limit and answers both streams, their sizes, truncated, process_id and state."""
    c = t.client("process")
    pid = run(c, "printf abcdef; printf UVWX >&2")["process_id"]
    found = call(c, "logs", pid)
    wanted = {
        "stdout": "abcdef",
        "stderr": "UVWX",
        "stdout_size": 6,
        "stderr_size": 4,
        "truncated": False,
        "process_id": pid,
        "state": "completed",
    }
    t.equal({k: found.get(k) for k in wanted}, wanted, "both")
    for more, out, err, cut in (
        ({"stream": "stdout"}, "abcdef", "", False),
        ({"stream": "stderr"}, "", "UVWX", False),
        ({"stream": "both", "offset": 2}, "cdef", "WX", False),
        ({"stream": "stdout", "offset": 1, "limit": 3}, "bcd", "", True),
        ({"stream": "stdout", "limit": 6}, "abcdef", "", False),
        ({"limit": 2}, "ab", "UV", True),
        ({"stream": None, "offset": None, "limit": None}, "abcdef", "UVWX", False),
    ):
        seen = call(c, "logs", pid, **more)
        t.equal([seen["stdout"], seen["stderr"], seen["truncated"]], [out, err, cut], f"{more}:")
        t.equal([seen["stdout_size"], seen["stderr_size"]], [6, 4], "sizes are of all:")
    for wrong in ("out", "", "STDOUT", "stdin"):
        answer = c.call("process__logs", {"process_id": pid, "stream": wrong})
        refused(t, answer, "InvalidStream", "use_valid_stream")
    running = up(t, c, "echo up; exec sleep 60")
    t.equal(call(c, "logs", running)["state"], "running", "state of one that runs:")


@check(176, seconds=90)
def paging(t: Trial) -> None:
    """Reads joined by the next offset give the output byte for byte while it runs."""
    c = t.client("process")
    code = (
        "import sys,time\nfor i in range(240):\n sys.stdout.write(f'{i}:ü€𝄞 zeile\\n'); sys.stdout.flush()\n"
        " sys.stderr.write('é'*(i%5)); sys.stderr.flush()\n time.sleep(0.01)\n"
    )
    wanted = "".join(f"{i}:ü€𝄞 zeile\n" for i in range(240))
    pid = run(c, "python3", args=["-u", "-c", code], background=True)["process_id"]
    text, at, reads = "", 0, 0
    while reads < 3000:
        part = call(c, "logs", pid, stream="stdout", offset=at, limit=37)
        reads += 1
        text += part["stdout"]
        at = part["next_offset"]
        if part["state"] != "running" and at >= part["stdout_size"]:
            break
    t.claim(text == wanted, f"{reads} reads of 37 bytes each: {len(text)} of {len(wanted)} characters, the same")
    both: Json = {"stdout_offset": 0, "stderr_offset": 0}
    out = err = ""
    for _ in range(2000):
        part = call(c, "logs", pid, limit=101, **both)
        out, err = out + part["stdout"], err + part["stderr"]
        both = {"stdout_offset": part["stdout_next_offset"], "stderr_offset": part["stderr_next_offset"]}
        if not part["stdout"] and not part["stderr"]:
            break
    t.claim(out == wanted and err == "é" * sum(i % 5 for i in range(240)), "both streams at once, the same")
    part = call(c, "logs", pid, stream="stdout", offset=0, limit=4096)
    rest = call(c, "logs", pid, stream="stdout", offset=part["stdout_size"])
    t.claim(
        part["next_offset"] != part["stdout_size"] and rest["stdout"] == "",
        f"a read cut by limit says to go on from {part['next_offset']} of {part['stdout_size']}",
    )
    wide = run(c, "head -c 3000000 /dev/zero | tr '\\0' y; echo END")["process_id"]
    got, at = 0, 0
    for _ in range(10):
        part = call(c, "logs", wide, stream="stdout", offset=at)
        got += len(part["stdout"])
        at = part["next_offset"]
        if at >= part["stdout_size"]:
            break
    t.equal(got, 3000004, "characters of 3 MB without a limit:")


Json = dict[str, object]


@check(177)
def truncated(t: Trial) -> None:
    """truncated only tells of limit."""
    c = t.client("process")
    pid = run(c, "seq 5000; echo e >&2")["process_id"]
    size = call(c, "logs", pid)["stdout_size"]
    for more, cut in (
        ({}, False),
        ({"offset": 10}, False),
        ({"offset": size}, False),
        ({"offset": size + 5}, False),
        ({"limit": 10}, True),
        ({"limit": size}, False),
        ({"limit": size - 1}, True),
        ({"offset": 5, "limit": size - 5}, False),
        ({"stream": "stderr", "limit": 2}, False),
        ({"stream": "stderr", "limit": 1}, True),
    ):
        t.equal(call(c, "logs", pid, **more)["truncated"], cut, f"{more}: truncated")
    running = up(t, c, "echo up; exec sleep 60")
    t.equal(call(c, "logs", running)["truncated"], False, "of one that may write more:")
    run_cut = run(c, "seq 5000", stdout_lines=2)["process_id"]
    t.equal(call(c, "logs", run_cut)["truncated"], False, "a short summary in run changes nothing:")


@check(178)
def offsets(t: Trial) -> None:
    """An offset beyond the end gives nothing; a negative one is refused; characters are never split."""
    c = t.client("process")
    text = "a€𝄞üz"
    pid = run(c, f"printf '{text}'")["process_id"]
    for beyond in (11, 12, 10**6, 2**40):
        seen = call(c, "logs", pid, offset=beyond)
        t.claim(
            "error" not in seen and seen["stdout"] == "" and seen["stdout_size"] == 11,
            f"offset {beyond}: {brief(seen)}",
        )
    for name, wrong in (("offset", -1), ("offset", "x"), ("limit", -1), ("limit", "x"), ("offset", 1.5)):
        answer = c.call("process__logs", {"process_id": pid, name: wrong})
        t.claim(
            mistake(answer).get("type") == "InvalidInput" and name in str(mistake(answer)),
            f"{name} {wrong!r}: {brief(answer.text, 80)}",
        )
    for limit in (1, 2, 3, 4, 5):
        joined, at = "", 0
        for _ in range(30):
            part = call(c, "logs", pid, stream="stdout", offset=at, limit=limit)
            joined += part["stdout"]
            at = part["next_offset"]
            if at >= 11:
                break
        t.equal(joined, text, f"pieces of {limit}:")
    broken = run(c, "printf 'ok\\377\\376end'")["process_id"]
    seen = call(c, "logs", broken)
    t.claim(
        seen["stdout"].startswith("ok") and seen["stdout"].endswith("end") and seen["stdout_size"] == 7,
        f"bytes that are no UTF-8: {seen['stdout']!r}, {seen['stdout_size']} bytes",
    )
