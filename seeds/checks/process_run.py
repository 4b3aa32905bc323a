"""Seed 003: `process.run` (147-164)."""

from __future__ import annotations

from pathlib import Path

from seeds.registry import POLICY, check, skip
from seeds.trial import Answer, Client, Json, Trial, brief

skip([164], POLICY)

INPUTS = {
    "command",
    "args",
    "working_directory",
    "environment",
    "timeout",
    "background",
    "stdin",
    "cpu_limit",
    "memory_limit",
    "stdout_lines",
}
OUTPUTS = {"exit_code", "stdout_summary", "stderr_summary", "duration_ms", "process_id", "state", "resource_usage"}
USAGE = {"cpu_ms", "memory_peak_bytes", "io_read_bytes", "io_write_bytes"}


def run(c: Client, command: str, **more: object) -> Json:
    """Run a command and return the outputs."""
    return c.call("process__run", {"command": command, **more}).data


def call(c: Client, tool: str, process_id: str, **more: object) -> Json:
    """Call a tool about a process."""
    return c.call(f"process__{tool}", {"process_id": process_id, **more}).data


def mistake(answer: Answer | Json) -> Json:
    """Return the error of an answer, or an empty one."""
    data = answer if isinstance(answer, dict) else answer.data
    found = data.get("error")
    return found if isinstance(found, dict) else {}


def over(t: Trial, c: Client, process_id: str, seconds: float = 20) -> Json:
    """Wait for the end of a process."""

    def look() -> Json | None:
        found = call(c, "monitor", process_id)
        return None if found.get("state") == "running" else found

    return t.until(look, f"the end of {process_id}", seconds)


def refused(t: Trial, answer: Answer, kind: str, *actions: str) -> None:
    """Claim an error of a type with the recoveries that the document names."""
    found = mistake(answer)
    named = [one.get("action") for one in found.get("recovery", [])]
    t.claim(
        found.get("type") == kind and set(actions) <= set(named),
        f"{found.get('type') or brief(answer.data)} {named}, wanted {kind} {list(actions)}",
    )


@check(147)
def inputs(t: Trial) -> None:
    """`process.run` takes the ten inputs with their defaults; only command is required."""
    c = t.client("process")
    schema = c.tools()["process__run"]["inputSchema"]
    names = schema["properties"]
    t.claim(set(names) >= INPUTS, f"inputs {sorted(names)}")
    t.equal(schema.get("required"), ["command"], "required")
    for name, default in (("timeout", 300), ("background", False), ("stdout_lines", 100)):
        t.equal(names[name].get("default"), default, f"default of {name}")
    (t.folder / "sub").mkdir()
    every = {
        "args": ["-c", 'echo "$A $PWD"; cat; seq 5'],
        "working_directory": "sub",
        "environment": {"A": "a b"},
        "timeout": 30,
        "background": False,
        "stdin": "in\n",
        "cpu_limit": 0.4,
        "memory_limit": 100 << 20,
        "stdout_lines": 7,
    }
    t.equal(
        run(c, "sh", **every).get("stdout_summary"), f"a b {t.folder}/sub\nin\n1\n2\n3\n4\n5\n", "all together: stdout"
    )
    nothing = dict.fromkeys(INPUTS - {"command"})
    t.equal(run(c, "echo null", **nothing).get("stdout_summary"), "null\n", "null for each optional: stdout")
    for wrong in ({}, {"command": ""}, {"command": 5}, {"command": "true", "commnd": "x"}, {"command": ["ls"]}):
        said = c.call("process__run", wrong)
        t.claim(
            said.error and ("command" in said.text or "commnd" in said.text),
            f"{wrong}: refused, {brief(said.text, 60)}",
        )


@check(148)
def outputs(t: Trial) -> None:
    """`process.run` answers exit_code, both summaries, duration_ms, process_id, state and the four figures of use."""
    c = t.client("process")
    code = (
        "import os,subprocess,sys\n"
        "subprocess.run([sys.executable,'-c','x=bytearray(90<<20)\\nfor i in range(0,len(x),4096): x[i]=1'])\n"
        "open('out.bin','wb').write(os.urandom(3<<20)); f=open('out.bin','rb+'); os.fsync(f.fileno())\n"
        "print('o'); print('e', file=sys.stderr)\n"
        "n=0\nimport time\nwhile time.process_time()<0.3: n+=1\n"
    )
    found = run(c, "python3", args=["-c", code])
    t.claim(set(found) >= OUTPUTS, f"outputs {sorted(found)}")
    t.equal(
        [found["exit_code"], found["state"], found["stdout_summary"], found["stderr_summary"]],
        [0, "completed", "o\n", "e\n"],
        "of a run",
    )
    use = found["resource_usage"]
    t.equal(set(use), USAGE, "figures")
    t.claim(300 <= use["cpu_ms"] < 30000, f"cpu_ms {use['cpu_ms']} of 300 and more")
    t.claim(use["memory_peak_bytes"] > 85 << 20, f"memory of its child counts: {use['memory_peak_bytes']}")
    t.claim(
        isinstance(found["duration_ms"], int) and found["duration_ms"] >= 300, f"duration_ms {found['duration_ms']}"
    )
    for command in ("exit 3", "kill -9 $$", "no-such-program-x"):
        t.claim(run(c, command).get("process_id"), f"{command}: process_id is there")
    burn = "python3 -c 'import time\nx=bytearray(60<<20)\nfor i in range(0,len(x),4096): x[i]=1\nwhile 1: pass' & wait"
    ended = run(c, burn, timeout=3)
    use = ended["resource_usage"]
    t.claim(
        use["cpu_ms"] > 200 and use["memory_peak_bytes"] > 50 << 20, f"of a tree that was killed at its timeout: {use}"
    )
    back = run(c, burn, background=True)["process_id"]
    use = t.until(
        lambda: (u := call(c, "monitor", back)["resource_usage"]) and (u["cpu_ms"] or 0) > 300 and u,
        "300 ms of CPU",
        30,
    )
    t.claim(use["memory_peak_bytes"] > 50 << 20, f"of a tree that runs: {use}")
    before = use["cpu_ms"]
    call(c, "kill", back, signal="SIGKILL")
    use = over(t, c, back)["resource_usage"]
    t.claim(use["cpu_ms"] >= before, f"after its kill no less than before: {use['cpu_ms']} of {before}")


@check(149)
def states(t: Trial) -> None:
    """States are completed, running, killed, timed_out; a non-zero exit is completed."""
    c = t.client("process")
    for code in (0, 1, 3, 124, 137, 143, 255):
        found = run(c, f"exit {code}")
        t.equal([found["state"], found["exit_code"]], ["completed", code], f"exit {code}:")
    back = run(c, "sleep 60", background=True)
    t.equal(back["state"], "running", "in the background")
    call(c, "kill", back["process_id"])
    t.equal(over(t, c, back["process_id"])["state"], "killed", "after a kill")
    t.equal(run(c, "sleep 60", timeout=1)["state"], "timed_out", "past its timeout")
    tidy = run(c, "trap 'exit 0' TERM; while :; do sleep 0.05; done", timeout=1)
    t.equal(
        [tidy["state"], tidy["exit_code"]], ["timed_out", None], "past its timeout, though it leaves with 0 on TERM:"
    )
    polite = run(c, "trap 'exit 0' TERM; echo up; while :; do sleep 0.05; done", background=True)["process_id"]
    t.until(lambda: call(c, "logs", polite)["stdout"], "its first line")
    call(c, "kill", polite)
    seen = over(t, c, polite)
    t.equal([seen["state"], seen["exit_code"]], ["killed", None], "killed, though it leaves with 0 on TERM:")


@check(150)
def no_code(t: Trial) -> None:
    """exit_code is null when killed or timed out."""
    c = t.client("process")
    t.equal(run(c, "echo x; sleep 60", timeout=1)["exit_code"], None, "timed out: exit_code")
    own = run(c, "kill -KILL $$")
    t.claim(
        [own["state"], own["exit_code"]] in (["killed", None], ["completed", 137]),
        f"one that nobody killed but itself: {own['state']}, {own['exit_code']}, no success",
    )
    for signal in ("SIGTERM", "SIGKILL", "SIGINT"):
        pid = run(c, "exec sleep 60", background=True)["process_id"]
        call(c, "kill", pid, signal=signal)
        seen = over(t, c, pid)
        t.equal([seen["state"], seen["exit_code"]], ["killed", None], f"{signal}:")
    listed = c.call("process__list").data["processes"]
    t.claim(
        all(one["exit_code"] is None for one in listed if one["state"] != "completed"), "null in list for each of them"
    )


@check(151)
def timed_out(t: Trial) -> None:
    """A timeout is Ok with state `timed_out` and partial output, never an error."""
    c = t.client("process")
    answer = c.call("process__run", {"command": "echo part; echo err >&2; printf tail; sleep 60", "timeout": 1})
    t.claim(not answer.error and "error" not in answer.data, "no error")
    found = answer.data
    t.equal(
        [found["state"], found["exit_code"], found["stdout_summary"], found["stderr_summary"]],
        ["timed_out", None, "part\ntail", "err\n"],
        "answer",
    )
    t.claim(
        0.9 < answer.seconds < 8 and found["duration_ms"] >= 1000,
        f"after {answer.seconds:.1f} s, {found['duration_ms']} ms",
    )
    late = run(c, "trap 'echo LATE; exit 1' TERM; echo up; while :; do sleep 0.05; done", timeout=1)
    t.claim("LATE" in late["stdout_summary"], f"what it wrote on its TERM is there: {brief(late['stdout_summary'])}")


@check(152)
def tree(t: Trial) -> None:
    """On timeout the whole tree dies; the record stays in list, logs and monitor."""
    c = t.client("process")
    mark = "91.7531"
    command = (
        f"echo kept; setsid sleep {mark} & (trap '' TERM; sh -c 'trap \"\" TERM; sleep {mark}') & "
        f"(sleep {mark} &) ; nohup sleep {mark} & wait"
    )
    found = run(c, command, timeout=1)
    t.equal(found["state"], "timed_out", "state")
    t.until(lambda: not t.alive(f"sleep {mark}"), "the end of its tree", 15)
    t.claim(not t.alive(f"sleep {mark}"), "children with setsid, with nohup and deaf to TERM are dead")
    pid = found["process_id"]
    t.equal([one["process_id"] for one in c.call("process__list").data["processes"]], [pid], "list has")
    t.equal(call(c, "monitor", pid)["state"], "timed_out", "monitor says")
    t.equal(call(c, "logs", pid)["stdout"], "kept\n", "logs has")
    t.equal(c.call("process__list", {"state_filter": "timed_out"}).data["total"], 1, "total by the filter")


@check(153)
def bounds(t: Trial) -> None:
    """timeout is at most 3600; above it is clamped with a note; 0 and less are refused."""
    c = t.client("process")
    for asked, limit in ((3600, 3600), (3601, 3600), (999999999, 3600), (None, 300), ("45", 45)):
        found = run(c, f"true # of {asked}", timeout=asked)
        real = next(one["limits"]["timeout_ms"] for one in t.jobs() if one["id"] == found["process_id"])
        t.equal(real, limit * 1000, f"timeout {asked}: limit in ms")
        if asked and int(asked) > 3600:
            t.claim("3600" in str(found.get("notes")), f"a note says so: {found.get('notes')}")
        elif "notes" in found:
            t.claim("timeout" not in str(found["notes"]), "no note")
    for wrong in (0, -1, -0.5, "soon", True, [], float("1e300")):
        answer = c.call("process__run", {"command": "touch ran", "timeout": wrong})
        if wrong == float("1e300"):
            t.claim(
                mistake(answer).get("type") == "InvalidInput" or "3600" in str(answer.data.get("notes")),
                f"1e300: {brief(answer.data)}",
            )
            (t.folder / "ran").unlink(missing_ok=True)
            continue
        t.claim(
            mistake(answer).get("type") == "InvalidInput" and "timeout" in mistake(answer).get("message", ""),
            f"{wrong!r}: {brief(answer.data)}",
        )
    t.claim(not (t.folder / "ran").exists(), "nothing ran")


@check(154)
def background(t: Trial) -> None:
    """In the background it answers at once; the timeout does not apply; stdin is ignored."""
    c = t.client("process")
    answer = c.call("process__run", {"command": "echo begun; sleep 2.5; echo done", "background": True, "timeout": 1})
    t.equal([answer.data["state"], answer.data["exit_code"]], ["running", None], "answer")
    t.claim(answer.seconds < 1.5, f"after {answer.seconds:.2f} s")
    seen = over(t, c, answer.data["process_id"])
    t.equal([seen["state"], seen["exit_code"]], ["completed", 0], "past the timeout it went on:")
    t.claim(seen["duration_ms"] >= 2400, f"for {seen['duration_ms']} ms")
    cat = run(c, "cat; echo end", background=True, stdin="IGNORED\n")["process_id"]
    over(t, c, cat)
    t.equal(call(c, "logs", cat)["stdout"], "end\n", "stdin ignored: stdout")
    t.equal(run(c, "cat", stdin="heard")["stdout_summary"], "heard", "in the foreground it is heard:")
    t.equal(run(c, "cat | wc -c", stdin="ü" * 300000)["stdout_summary"].strip(), "600000", "also a large one:")


@check(155)
def summaries(t: Trial) -> None:
    """Summaries are the last N lines of each stream; logs has all."""
    c = t.client("process")
    found = run(c, "seq 250; seq 1000 1300 >&2")
    t.equal(found["stdout_summary"].split(), [str(n) for n in range(151, 251)], "the last 100 of stdout")
    t.claim(found["stderr_summary"].endswith("1300\n"), "the last of stderr")
    t.equal(len(found["stderr_summary"].splitlines()), 100, "lines of stderr")
    t.equal(run(c, "seq 10", stdout_lines=3)["stdout_summary"], "8\n9\n10\n", "3:")
    t.equal(run(c, "printf 'a\\nb\\nc'", stdout_lines=2)["stdout_summary"], "b\nc", "2 without a last newline:")
    t.equal(run(c, "printf 'a\\n\\n\\n'", stdout_lines=2)["stdout_summary"], "\n\n", "2, empty lines:")
    t.equal(run(c, "seq 3", stdout_lines=1000)["stdout_summary"], "1\n2\n3\n", "more than there are:")
    full = call(c, "logs", found["process_id"])
    t.equal(full["stdout"], "".join(f"{n}\n" for n in range(1, 251)), "logs")
    wide = run(c, "for i in $(seq 60); do printf \"$i:\"; head -c 3000 /dev/zero | tr '\\0' x; echo; done")
    lines = wide["stdout_summary"].splitlines()
    t.claim(
        all(len(one) >= 3002 for one in lines) and lines[-1].startswith("60:"),
        f"of 60 wide lines {len(lines)}, each whole",
    )
    t.claim(len(lines) == 60 or "notes" in wide, f"a note says that lines are left out: {brief(wide.get('notes'))}")
    for wrong in (-1, "many"):
        answer = c.call("process__run", {"command": "true", "stdout_lines": wrong})
        t.claim("stdout_lines" in str(mistake(answer)), f"{wrong!r}: refused by name")


@check(156)
def words(t: Trial) -> None:
    """Without args the command goes to the shell; with args each is one word."""
    c = t.client("process")
    t.equal(run(c, "echo a b | tr a-z A-Z && echo $((6*7))")["stdout_summary"], "A B\n42\n", "shell")
    nasty = ["a b", "$HOME", "*", "'", '"', "", "; echo no", "`id`", "-n", "\\", "ü\n2", "|"]
    seen = run(c, "python3", args=["-c", "import sys,json; print(json.dumps(sys.argv[1:]))", *nasty])
    t.equal(seen["stdout_summary"].strip(), __import__("json").dumps(nasty), "each argument as it is")
    t.equal(run(c, "echo", args=[])["stdout_summary"], "\n", "args [] is one program")
    answer = c.call("process__run", {"command": "echo a b", "args": []})
    t.equal(mistake(answer).get("type"), "CommandNotFound", "'echo a b' with args [] is a program's name:")
    for wrong in ("x", [1, {"a": 2}], {"a": 1}):
        answer = c.call("process__run", {"command": "echo", "args": wrong})
        t.claim("args" in str(mistake(answer)), f"{wrong!r}: {brief(answer.text, 90)}")


@check(157)
def folders(t: Trial) -> None:
    """working_directory is the workspace unless told; outside of it is PathOutOfScope, also by `..` or a link."""
    c = t.client("process")
    t.equal(run(c, "pwd -P")["stdout_summary"].strip(), str(t.folder.resolve()), "default")
    (t.folder / "in" / "deep").mkdir(parents=True)
    (t.folder / "away").symlink_to("/etc")
    (t.folder / "hop").symlink_to("away")
    (t.folder / "back").symlink_to("in/deep")
    (t.folder / "file").write_text("x")
    beside = t.root / "work-beside"
    beside.mkdir()
    for good in (".", "in/deep", str(t.folder / "in"), "in/../in", "back", f"../{t.folder.name}/in"):
        t.equal(run(c, "true", working_directory=good).get("state"), "completed", f"{good!r}:")
    outside = (
        "..",
        "/",
        "/etc",
        "away",
        "hop",
        "in/../..",
        "away/../..",
        str(beside),
        "/proc/1/root/etc",
        "/proc/self/cwd/..",
    )
    for bad in outside:
        answer = c.call("process__run", {"command": "touch ran", "working_directory": bad})
        found = mistake(answer)
        named = [one.get("action") for one in found.get("recovery", [])]
        t.claim(
            found.get("type") == "PathOutOfScope" and "check_scope" in named, f"{bad!r}: {found.get('type')} {named}"
        )
        t.claim("Traceback" not in answer.all, f"{bad!r}: no traceback")
    for bad in ("file", "nowhere", ""):
        answer = c.call("process__run", {"command": "touch ran", "working_directory": bad})
        if bad or answer.error:
            t.claim(
                "working_directory" in str(mistake(answer)) or bad in mistake(answer).get("message", " "),
                f"{bad!r}: {brief(answer.text, 80)}",
            )
    t.claim(not list(t.root.glob("**/ran")) or not (beside / "ran").exists(), "nothing ran there")


@check(158)
def environment(t: Trial) -> None:
    """environment is merged over the base; protected variables stay and the answer names them."""
    c = t.client("process")
    seen = run(c, 'echo "$NEW|$EMPTY|${PATH:+path}|$HOME"', environment={"NEW": "a b", "EMPTY": ""})
    t.equal(seen["stdout_summary"].strip(), f"a b||path|{t.root}/user", "merged")
    guarded = {
        "LD_PRELOAD": "/x.so",
        "LD_LIBRARY_PATH": "/x",
        "HOME": "/x",
        "USER": "mallory",
        "PATH": "/x",
        "SHELLOPTS": "xtrace",
        "BASH_ENV": "/x",
        "PYTHONSTARTUP": "/x",
        "NODE_OPTIONS": "--require /x",
        "BASH_FUNC_ls%%": "() { echo gotcha; }",
        "BIDE_HOME": "/x",
        "BIDE_OWNER": "mallory",
        "BIDE_JOB": "x",
    }
    answer = c.call("process__run", {"command": "env", "environment": {**guarded, "FINE": "yes"}, "stdout_lines": 1000})
    lines = answer.data["stdout_summary"].splitlines()
    t.claim("FINE=yes" in lines, "the others are set")
    for name, value in guarded.items():
        t.claim(f"{name}={value}" not in lines, f"{name} is not overridden")
        t.claim(name in str(answer.data.get("notes")), f"{name} is named in notes")
    for wrong in ({"A=B": "x"}, {"": "x"}, {"A": "x\0y"}, {"A": 5}, {"A": ["x"]}, "A=b"):
        answer = c.call("process__run", {"command": "env", "environment": wrong})
        taken = wrong == {"A": 5} and "A=5" in str(answer.data.get("stdout_summary"))
        t.claim(taken or "environment" in str(mistake(answer)), f"{wrong!r}: {brief(answer.text, 80)}")


@check(159)
def allocation(t: Trial) -> None:
    """cpu_limit and memory_limit cannot exceed the allocation, which is the default: 0.5 core, 512 MiB, 100 processes."""
    c = t.client("process")

    def limits(**more: object) -> tuple[Json, str]:
        found = run(c, f"true # {more}", **more)
        return next(one["limits"] for one in t.jobs() if one["id"] == found["process_id"]), str(found.get("notes"))

    plain, _ = limits()
    t.claim(
        plain.get("memory_bytes") == 512 << 20 and plain.get("cpus") == 0.5 and plain.get("pids") == 100,
        f"default {brief(plain, 200)}",
    )
    less, _ = limits(cpu_limit=0.25, memory_limit=64 << 20)
    t.equal([less.get("cpus"), less.get("memory_bytes")], [0.25, 64 << 20], "less")
    more, note = limits(cpu_limit=64, memory_limit=1 << 40)
    t.equal([more.get("cpus"), more.get("memory_bytes")], [0.5, 512 << 20], "more is cut to")
    t.claim("cpu" in note and "memory" in note, f"and said: {brief(note)}")
    for name in ("cpu_limit", "memory_limit"):
        for wrong in (0, -1, "much", True):
            answer = c.call("process__run", {"command": "true", name: wrong})
            t.claim(name in str(mistake(answer)), f"{name} {wrong!r}: {brief(answer.text, 70)}")
    session = c.call("agent__session").data
    t.claim("0.5" in str(session) and str(512 << 20) in str(session), f"agent.session tells it: {brief(session, 300)}")
    (t.home / "config.toml").write_text("[mcp.process]\ncpus = 1.5\nmemory_bytes = '100M'\n")
    t.bide("daemon", "restart")
    c = t.client("process")
    plain, _ = limits()
    t.equal([plain.get("cpus"), plain.get("memory_bytes")], [1.5, 100 << 20], "by settings")


@check(160, seconds=90)
def exceeded(t: Trial) -> None:
    """Past its memory a process is ended with ResourceLimitExceeded and what to do."""
    c = t.client("process")
    hog = "x=[]\nfor i in range(64): x.append(bytearray(b'1'*(16<<20)))\nprint('lived')"
    answer = c.call(
        "process__run",
        {"command": "python3", "args": ["-c", f"print('start',flush=True)\n{hog}"], "memory_limit": 80 << 20},
    )
    refused(t, answer, "ResourceLimitExceeded", "increase_limits", "optimize")
    t.claim("lived" not in answer.all, "it did not get the memory")
    t.claim(answer.data.get("process_id"), f"process_id beside the error: {answer.data.get('process_id')}")
    t.equal(answer.data.get("stdout_summary"), "start\n", "and its output")
    child = c.call(
        "process__run", {"command": f'python3 -c "{hog}" ; echo code $?; sleep 0.2', "memory_limit": 80 << 20}
    )
    refused(t, child, "ResourceLimitExceeded", "increase_limits", "optimize")
    ok = run(c, "python3", args=["-c", "x=bytearray(b'1'*(20<<20)); print('fine')"], memory_limit=80 << 20)
    t.equal([ok.get("state"), ok.get("stdout_summary")], ["completed", "fine\n"], "within its memory:")
    slow = run(c, "python3", args=["-c", "import time\nwhile time.process_time()<0.6: pass"], cpu_limit=0.2)
    t.claim(
        slow.get("state") == "completed" and "cpu" in str(slow.get("notes")).lower(),
        f"past its CPU it is slower, and told: {brief(slow.get('notes'))}",
    )


@check(161)
def declared(t: Trial) -> None:
    """CommandNotFound, SpawnFailed and PathOutOfScope come with the recoveries of the document."""
    c = t.client("process")
    (t.folder / "plain").write_text("echo hi\n")
    (t.folder / "orphan").write_text("#!/no/such/interpreter\n")
    (t.folder / "orphan").chmod(0o755)

    def tried(command: str, *args: str, shell: bool = False) -> Answer:
        return c.call("process__run", {"command": command} | ({} if shell else {"args": list(args)}))

    missing = ("no-such-program-x", "./nothing", "/usr/bin/nothing-here")
    for name in missing:
        refused(t, tried(name), "CommandNotFound", "check_path", "use_full_path")
        refused(t, tried(name, shell=True), "CommandNotFound", "check_path", "use_full_path")
    for name in ("./plain", "./orphan", "/etc"):
        refused(t, tried(name), "SpawnFailed", "check_permissions", "retry")
        refused(t, tried(name, shell=True), "SpawnFailed", "check_permissions", "retry")
    refused(t, c.call("process__run", {"command": "ls", "working_directory": "/etc"}), "PathOutOfScope", "check_scope")
    inner = run(c, "sh -c no-such-program-x; exit 5")
    t.equal(
        [inner.get("state"), inner.get("exit_code")], ["completed", 5], "one further inside is no error of the call:"
    )
    long = tried("no-such-program-x", "A" * 100_000)
    t.claim(len(long.all) < 6000, f"the error does not repeat 100 KB of arguments: {len(long.all)} characters")
    scope = mistake(c.call("process__run", {"command": "ls", "working_directory": "/etc"}))
    t.claim("agent" in str(scope.get("recovery")), "check_scope names agent.session")


@check(162)
def ends(t: Trial) -> None:
    """Background processes end when they finish, are killed, or the session ends."""
    t.settings("[retention]\nowner_grace = '1s'\n")
    c = t.client("process", name="first")
    other = t.client("process", name="second")
    done = run(c, "sleep 0.3", background=True)["process_id"]
    t.equal(over(t, c, done)["state"], "completed", "one that finishes")
    gone = run(c, "sleep 60", background=True)["process_id"]
    call(c, "kill", gone)
    t.equal(over(t, c, gone)["state"], "killed", "one that is killed")
    run(c, "setsid sleep 97.531 & exec sleep 97.531", background=True)
    stays = run(other, "exec sleep 96.531", background=True)["process_id"]
    t.until(lambda: len(t.alive("sleep 97.531")) >= 2)
    c.close()
    t.until(lambda: not t.alive("sleep 97.531"), "the end of it all with its session", 15)
    t.claim(not t.alive("sleep 97.531"), "with the session its tree is gone")
    t.equal(call(other, "monitor", stays)["state"], "running", "another session's goes on:")
    again = t.client("process", name="second")
    other.close()
    t.rest(2)
    t.equal(call(again, "monitor", stays)["state"], "running", "while a client of its own is there it goes on:")


@check(163)
def exact(t: Trial) -> None:
    """Captured output is exact: no noise of the sandbox, no byte more or less."""
    c = t.client("process")
    for command, args in (("echo hi", None), ("echo", ["hi"])):
        found = run(c, command, **({"args": args} if args else {}))
        seen = call(c, "logs", found["process_id"])
        t.equal(
            [seen["stdout"], seen["stderr"], seen["stdout_size"], seen["stderr_size"]],
            ["hi\n", "", 3, 0],
            f"{command}:",
        )
        t.equal([found["stdout_summary"], found["stderr_summary"]], ["hi\n", ""], "summaries")
    odd = "\x1b[31mred\x1b[0m\r50%\r100%\n\ttab  \n\n ü€𝄞 "
    (t.folder / "odd").write_text(odd, newline="")
    found = run(c, "cat odd; cat odd >&2")
    seen = call(c, "logs", found["process_id"])
    t.equal([seen["stdout"], seen["stderr"]], [odd, odd], "escapes, CR, blanks and no last newline:")
    t.equal(seen["stdout_size"], len(Path(t.folder / "odd").read_bytes()), "size in bytes")
    nothing = call(c, "logs", run(c, "true")["process_id"])
    t.equal([nothing["stdout"], nothing["stderr"]], ["", ""], "of nothing:")
