"""Checks of limits for a real machine: one line each, `ok`, `FAIL` or `skip`; exits with 1 if something failed.

    python tests/vm/limits.py [enforced|sampled]

Run it with a Python that has bide: as root, as an ordinary user over ssh or after `su -`, with and without systemd
(`enforced`, the default), and where the cgroup tree is read-only (`sampled`). It needs no test framework.
After `su -` limits are enforced only if a service manager of that user runs: because of another login, or of lingering.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

MB = 1 << 20
BIDE = [sys.executable, "-P", "-m", "bide"]
CONTROLLERS = ("memory", "cpu", "pids")
TOUCH = "x = bytearray(300 << 20); import time; time.sleep(0.2)"
HOLD = "x = bytearray(300 << 20); import time; time.sleep(60)"
BURN = "import time\nend = time.monotonic() + 4\nwhile time.monotonic() < end: pass"
FORK = "import os\nn = 0\ntry:\n  while n < 50 and os.fork(): n += 1\nexcept OSError as error: print('refused', n, error.errno)"
LEAVE = """
import os
own = open("/proc/self/cgroup").read().split("0::")[1].split()[0]
scope = os.path.dirname("/sys/fs/cgroup" + own)
for target in ("/sys/fs/cgroup", "/sys/fs/cgroup/bide", scope + "/keepers"):
    try:
        with open(target + "/cgroup.procs", "wb", buffering=0) as file:
            file.write(str(os.getpid()).encode())
        break
    except OSError:
        continue
"""


class Machine:
    """A home of its own, and what the checks want of it."""

    def __init__(self, *, enforced: bool) -> None:
        self.enforced = enforced
        self.home = Path(tempfile.mkdtemp(prefix="bide-limits-"))

    def bide(self, *words: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "BIDE_HOME": str(self.home / "home")}
        return subprocess.run([*BIDE, *words], capture_output=True, text=True, check=False, env=env, timeout=300)

    def json(self, *words: str) -> Any:
        done = self.bide(*words, "--json")
        return json.loads(done.stdout)

    def python(self, program: str, *options: str) -> Any:
        """Run a program to its end; the job."""
        done = self.bide("run", "--bg", *options, "--json", "--", sys.executable, "-c", program)
        job = json.loads(done.stdout)
        job_id = job.get("job", job)["id"]
        self.bide("wait", job_id)
        return self.json("show", job_id)

    def limits(self) -> str:
        checks = self.json("doctor")["checks"]
        return next(check["text"] for check in checks if check["check"] == "limits")

    def settings(self, text: str) -> None:
        (self.home / "home" / "config.toml").write_text(text)
        self.bide("daemon", "restart")

    def close(self) -> None:
        self.bide("daemon", "stop", "--kill")
        shutil.rmtree(self.home)


def doctor_and_jobs_say_the_same(machine: Machine) -> None:
    before = machine.limits()
    job = machine.python("pass", "--memory", "100M", "--cpus", "1", "--pids", "50")
    want = dict.fromkeys(CONTROLLERS, "cgroup v2")
    if not machine.enforced:
        want = {"memory": "sampled", "cpu": "none", "pids": "sampled"}
    assert job["enforced"] == want, job["enforced"]
    shown = {"sampled": "sampling", "none": "nothing"}
    text = ", ".join(f"{name} by {shown.get(want[name], want[name])}" for name in CONTROLLERS)
    assert before.startswith(text), before
    assert machine.limits() == before, machine.limits()


def memory_of_a_moment_is_limited(machine: Machine) -> None:
    job = machine.python(TOUCH if machine.enforced else HOLD, "--memory", "100M")
    assert job["reason"] == "oom", job["reason"]
    if machine.enforced:
        assert job["usage"]["memory_peak_bytes"] <= 101 * MB, job["usage"]


def swap_counts_as_memory(machine: Machine) -> None:
    program = "own = open('/proc/self/cgroup').read().split('0::')[1].split()[0]; print(open(f'/sys/fs/cgroup{own}/memory.swap.max').read())"
    job = machine.python(program, "--memory", "100M")
    said = machine.bide("logs", job["id"]).stdout
    assert said.split() == ["0"], said


def cpu_is_throttled(machine: Machine) -> None:
    job = machine.python(BURN, "--cpus", "0.5")
    share = job["usage"]["cpu_ms"] / job["duration_ms"]
    assert job["reason"] == "exited", job["reason"]
    assert share < 0.65, share


def processes_are_limited(machine: Machine) -> None:
    job = machine.python(FORK, "--pids", "5")
    said = machine.bide("logs", job["id"]).stdout
    assert "refused 4 11" in said, said


def a_limit_holds_over_restarts_of_the_daemon(machine: Machine) -> None:
    flag = machine.home / "go"
    program = f"import os, time\nwhile not os.path.exists({str(flag)!r}): time.sleep(0.1)\n{HOLD}"
    done = machine.bide("run", "--bg", "--memory", "100M", "--", sys.executable, "-c", program)
    job = done.stdout.strip()
    machine.bide("daemon", "restart")
    assert machine.json("show", job)["phase"] == "running"
    flag.touch()
    machine.bide("wait", job)
    assert machine.json("show", job)["reason"] == "oom"


def a_queued_job_is_limited_when_its_turn_comes(machine: Machine) -> None:
    first = machine.bide("run", "--bg", "--", "sleep", "3").stdout.strip()
    program = TOUCH if machine.enforced else HOLD
    done = machine.bide("run", "--bg", "--after", first, "--memory", "100M", "--", sys.executable, "-c", program)
    job = done.stdout.strip()
    machine.bide("daemon", "restart")
    machine.bide("wait", job)
    assert machine.json("show", job)["reason"] == "oom"


def a_job_that_leaves_its_group_is_told_of_and_sampled(machine: Machine) -> None:
    job = machine.python(LEAVE + HOLD, "--memory", "100M")
    assert job["reason"] == "oom", (job["reason"], machine.bide("logs", job["id"]))
    assert "memory" in job["escaped"], job["escaped"]
    assert job["enforced"]["memory"] == "sampled", job["enforced"]


def nothing_is_left_of_a_group(machine: Machine) -> None:
    job = machine.python("pass", "--memory", "100M")["id"]
    deadline = time.monotonic() + 30
    while found := [path for path, _, _ in os.walk("/sys/fs/cgroup") if path.endswith(f"/{job}")]:
        assert time.monotonic() < deadline, found
        time.sleep(0.2)  # noqa: TID251 - a check on a real machine, without the tests' helpers


def required_limits_refuse_what_cannot_be_enforced(machine: Machine) -> None:
    machine.settings("limits.required = true\n")
    done = machine.bide("run", "--cpus", "0.5", "--", "true")
    if machine.enforced:
        assert done.returncode == 0, done.stderr
        return
    assert done.returncode == 98, done.returncode
    assert "--cpus cannot be enforced here" in done.stderr, done.stderr
    assert machine.bide("run", "--", "true").returncode == 0


EVERYWHERE: list[Callable[[Machine], None]] = [
    doctor_and_jobs_say_the_same,
    memory_of_a_moment_is_limited,
    a_limit_holds_over_restarts_of_the_daemon,
    a_queued_job_is_limited_when_its_turn_comes,
    required_limits_refuse_what_cannot_be_enforced,
]
ENFORCED: list[Callable[[Machine], None]] = [
    swap_counts_as_memory,
    cpu_is_throttled,
    processes_are_limited,
    a_job_that_leaves_its_group_is_told_of_and_sampled,
    nothing_is_left_of_a_group,
]


def main() -> int:
    enforced = sys.argv[1:] in ([], ["enforced"])
    machine, failed = Machine(enforced=enforced), 0
    try:
        for check in EVERYWHERE + ENFORCED:
            name = check.__name__.replace("_", " ")
            if check in ENFORCED and not enforced:
                print("skip", name, flush=True)
                continue
            try:
                check(machine)
                print("ok  ", name, flush=True)
            except Exception as error:  # noqa: BLE001 - each check gets its line
                failed = 1
                print("FAIL", f"{name}: {type(error).__name__}: {error}", flush=True)
    finally:
        machine.close()
    return failed


if __name__ == "__main__":
    sys.exit(main())
