"""Seed 001: `exec` (75-83)."""

from __future__ import annotations

import sys

from seeds.checks.sessions_records import jobs, opened, over
from seeds.registry import check
from seeds.trial import Trial, brief


@check(75)
def takes(t: Trial) -> None:
    """`exec` takes sessionId, code, background, timeout and env."""
    schema = t.client("sessions").tools()["exec"]["inputSchema"]
    t.claim(
        {"sessionId", "code", "background", "timeout", "env"} <= set(schema["properties"]),
        f"{sorted(schema['properties'])}",
    )
    t.claim(schema.get("required") == ["code"], f"required {schema.get('required')}")
    c = opened(t)
    every = {
        "sessionId": "s1",
        "code": "import os; print(os.environ['Q'])",
        "background": False,
        "timeout": 20000,
        "env": {"Q": "7"},
    }
    t.equal(c.call("exec", every).data.get("stdout"), "7\n", "all together: stdout")
    t.claim("code" in c.call("exec", {"sessionId": "s1"}).text, "without code: refused by name")


@check(76)
def foreground(t: Trial) -> None:
    """In the foreground it waits and answers stdout, stderr, code, success and jobId."""
    c = opened(t)
    answer = c.call(
        "exec",
        {
            "sessionId": "s1",
            "code": "import sys, time; time.sleep(1); print('out'); print('err', file=sys.stderr); sys.exit(2)",
        },
    )
    t.equal(
        {k: answer.data.get(k) for k in ("stdout", "stderr", "code", "success", "jobId")},
        {"stdout": "out\n", "stderr": "err\n", "code": 2, "success": False, "jobId": "job-s1-1"},
        "answer",
    )
    t.claim(answer.seconds >= 1, "it waited")
    t.equal([one["id"] for one in jobs(c)], ["job-s1-1"], "recorded")
    shell = c.call("exec", {"sessionId": "s1", "code": "echo a; echo b >&2", "language": "shell"}).data
    t.equal([shell["stdout"], shell["stderr"], shell["code"], shell["success"]], ["a\n", "b\n", 0, True], "shell:")


@check(77)
def background(t: Trial) -> None:
    """In the background it answers jobId and pid at once; the record is updated at the end."""
    c = opened(t)
    answer = c.call(
        "exec", {"sessionId": "s1", "code": "import time; time.sleep(1.5); print('done')", "background": True}
    )
    t.claim(
        set(answer.data) == {"jobId", "pid"} and answer.seconds < 1.2, f"{answer.data} after {answer.seconds:.2f} s"
    )
    t.equal(jobs(c)[0]["status"], "running", "then")
    one = over(t, c, answer.data["jobId"])
    t.equal([one["status"], one["exitCode"], one["background"]], ["completed", 0, True], "later")
    long = c.call(
        "exec", {"sessionId": "s1", "code": "import time; time.sleep(300)", "background": True, "timeout": 1000}
    ).data
    one = over(t, c, long["jobId"])
    t.equal(one["status"], "failed", "with a timeout of 1 s:")


@check(78)
def always_recorded(t: Trial) -> None:
    """Every exec leaves a record."""
    c = opened(t)
    for code, back in (("pass", False), ("1/0", False), ("pass", True), ("1/0", True), ("def", False)):
        made = c.call("exec", {"sessionId": "s1", "code": code, "background": back}).data
        one = over(t, c, made["jobId"])
        t.claim(
            one["code"] == code
            and one["background"] is back
            and one["startedAt"]
            and one["completedAt"] >= one["startedAt"],
            f"{code}, background {back}: {one['status']}",
        )
    slow = c.call("exec", {"sessionId": "s1", "code": "import time; time.sleep(60)", "timeout": 500})
    t.claim(slow.data.get("jobId") in [one["id"] for one in jobs(c)], "one that timed out")
    t.equal(len(jobs(c)), 6, "records")


@check(79)
def state(t: Trial) -> None:
    """cwd, env and vars hold from exec to exec; env of one call is gone after it, what the code set stays."""
    shim = t.root / "bin" / "python3"
    real = sys.executable
    shim.write_text(
        f'#!/bin/sh\nexport PYENV_FAKE=shimmed PYENV_DIR="$PWD" PATH="/fake/shim/bin:$PATH"\nexec {real} "$@"\n'
    )
    shim.chmod(0o755)
    c = opened(t)

    def shell(code: str, **more: object) -> str:
        return str(c.call("exec", {"sessionId": "s1", "code": code, "language": "shell", **more}).data.get("stdout"))

    def python(code: str, **more: object) -> str:
        return str(c.call("exec", {"sessionId": "s1", "code": code, **more}).data.get("stdout"))

    python("print(1)")
    t.equal(shell("echo [$PYENV_FAKE]"), "[]\n", "after Python by a shim the session's environment has of it")
    t.claim("/fake/shim" not in shell("echo $PATH"), "nor does its PATH")
    (one,) = c.call("listSessions").data["sessions"]
    t.equal(one["env"], {}, "env of the session")
    (t.folder / "sub").mkdir()
    python(
        "import os; session.cwd = 'sub'; session.env['KEPT'] = 'k'; os.environ['ALSO'] = 'a'; session.vars['v'] = {'deep': [1, 2]}"
    )
    t.equal(
        python(
            "import os; print(os.getcwd().rpartition('/')[2], os.environ['KEPT'], os.environ['ALSO'], session.vars['v'])"
        ),
        "sub k a {'deep': [1, 2]}\n",
        "Python to Python",
    )
    t.equal(shell("echo ${PWD##*/} $KEPT $ALSO"), "sub k a\n", "Python to shell")
    shell("export FROM_SHELL=yes; cd ..; unset KEPT")
    t.equal(
        python("import os; print(os.environ.get('FROM_SHELL'), os.environ.get('KEPT'), os.path.basename(os.getcwd()))"),
        "yes None work\n",
        "shell to Python",
    )
    t.equal(
        python("import os; os.environ['SET'] = 's'; print(os.environ['ONCE'])", env={"ONCE": "1", "KEEP": "2"}),
        "1\n",
        "env of one call:",
    )
    t.equal(shell("echo [$ONCE][$SET]"), "[][s]\n", "after it")
    python("import os; os.environ['OVER'] = 'by-code'", env={"OVER": "by-call"})
    t.equal(shell("echo [$OVER]"), "[by-code]\n", "one that the code set itself")
    python("session.vars['n'] = 1; raise SystemExit(3)")
    t.equal(python("print(session.vars['n'])"), "1\n", "after a failure, vars")


@check(80)
def timeout(t: Trial) -> None:
    """The foreground has 120 s unless told; at the end the tree is killed, the job failed, partial output kept."""
    c = opened(t)
    code = "import subprocess, time; print('partial', flush=True); subprocess.Popen(['sleep', '83.5']); time.sleep(60)"
    answer = c.call("exec", {"sessionId": "s1", "code": code, "timeout": 1500})
    t.claim("Execution timed out after 1500ms" in answer.all, f"text {brief(answer.text, 150)}")
    t.equal([answer.data.get("stdout"), answer.data.get("success")], ["partial\n", False], "partial output")
    t.claim(1.4 < answer.seconds < 9, f"after {answer.seconds:.1f} s")
    t.claim(not t.alive("sleep 83.5"), "its tree is dead")
    t.equal(jobs(c)[0]["status"], "failed", "status")
    c.call("exec", {"sessionId": "s1", "code": "pass"})
    limit = next(one["limits"]["timeout_ms"] for one in t.jobs() if one["id"] == "job-s1-2")
    t.equal(limit, 120000, "default in ms")


@check(81)
def temporary(t: Trial) -> None:
    """Without sessionId nothing is listed; a background result is never lost; `create` opens a session and names it."""
    c = t.client("sessions")
    one = c.call("exec", {"code": "session.vars['x'] = 1; print('free')"}).data
    t.equal([one["stdout"], one["success"]], ["free\n", True], "runs")
    t.equal(c.call("listSessions").data["sessions"], [], "sessions")
    t.claim("KeyError" in c.call("exec", {"code": "print(session.vars['x'])"}).data["stderr"], "nothing is kept")
    back = c.call("exec", {"code": "print('later')", "background": True}).data
    t.equal(c.call("waitJob", {"jobId": back["jobId"]}).data.get("stdout"), "later\n", "a background result")
    t.claim(c.call("exec", {"sessionId": "unknown", "code": "1"}).error, "an unknown session is an error")
    made = c.call("exec", {"sessionId": "new", "create": True, "code": "session.vars['y'] = 2"}).data
    t.equal(made.get("sessionId"), "new", "create: named")
    t.equal(c.call("exec", {"sessionId": "new", "code": "print(session.vars['y'])"}).data["stdout"], "2\n", "and kept")
    fresh = c.call("exec", {"create": True, "code": "1"}).data
    t.claim(fresh.get("sessionId"), f"create without an id names one: {fresh.get('sessionId')}")


@check(82)
def commands(t: Trial) -> None:
    """`cmd(name, args)` runs a command as a job of its own."""
    c = opened(t)
    (t.folder / "file-x").write_text("")
    answer = c.call("exec", {"sessionId": "s1", "code": "await cmd('ls', ['-la']).exec()"})
    t.claim(answer.data["success"], f"the seed's example runs: {brief(answer.data, 100)}")
    ls = next(one for one in jobs(c) if one["code"] == "ls -la")
    t.claim(
        "file-x" in c.call("getJobOutput", {"sessionId": "s1", "jobId": ls["id"]}).data["stdout"],
        "its output is that of its job",
    )
    c.call(
        "exec",
        {
            "sessionId": "s1",
            "code": "r = await cmd('sh', ['-c', 'echo sub; echo err >&2; exit 4']).exec(); print(r.code, r.success, r.stdout)",
        },
    )
    one = next(one for one in jobs(c) if one["code"].startswith("sh -c"))
    t.claim(
        one["exitCode"] == 4
        and one["status"] == "failed"
        and one["background"] is False
        and one["pid"] > 0
        and one["duration"] >= 0
        and one["id"].startswith("job-s1-"),
        f"its job: {brief(one, 200)}",
    )
    read = c.call("getJobOutput", {"sessionId": "s1", "jobId": one["id"]}).data
    t.equal([read["stdout"], read["stderr"]], ["sub\n", "err\n"], "its output")
    back = c.call(
        "exec", {"sessionId": "s1", "code": "await cmd('sleep', ['1']).exec()\nprint('built')", "background": True}
    ).data
    t.equal(
        c.call("waitJob", {"sessionId": "s1", "jobId": back["jobId"]}).data.get("stdout"),
        "built\n",
        "in the background",
    )
    silent = c.call("exec", {"sessionId": "s1", "code": "await cmd('echo', ['heard']).exec()"})
    t.claim(
        "heard" in silent.all or "print" in silent.all,
        f"a caller learns how to see its output: {brief(silent.text, 150)}",
    )
    js = c.call("exec", {"sessionId": "s1", "code": "const x = await cmd('ls', []).exec();"})
    t.claim("Python" in js.all, f"JavaScript is told that exec is Python: {brief(js.data.get('stderr', js.text), 120)}")


@check(83)
def parents(t: Trial) -> None:
    """Jobs of commands carry their parent's id; no marker shows in output."""
    c = opened(t)
    made = c.call(
        "exec",
        {
            "sessionId": "s1",
            "code": "for n in range(3):\n    print((await cmd('echo', [str(n)]).exec()).stdout, end='')",
        },
    ).data
    t.equal([made["stdout"], made["stderr"]], ["0\n1\n2\n", ""], "output")
    children = [one for one in jobs(c) if one["code"].startswith("echo")]
    t.equal([one.get("parentId") for one in children], [made["jobId"]] * 3, "parentId")
    shell = c.call("exec", {"sessionId": "s1", "code": "cd /; export A=1; echo done", "language": "shell"}).data
    t.equal([shell["stdout"], shell["stderr"]], ["done\n", ""], "shell: output")
